// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/dense/dense_i4.hpp>

#include <cmath>
#include <limits>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

std::vector<float> unpacked(const DenseI4Weights& weights, std::size_t row) {
  std::vector<float> values(weights.columns());
  weights.unpack_row(row, values.data());
  return values;
}

}  // namespace

TEST_CASE("quantized groups are within half a step, or one where code 15 is the end", "[kernel][dense_i4]") {
  for (const std::size_t group : {32, 64, 128}) {
    for (const std::size_t columns : {1, 33, 128, 200}) {
      const auto values = testing::random_floats(17 * columns, static_cast<std::uint32_t>(columns), -3, 3);
      const auto weights = DenseI4::pack(testing::float_matrix(17, columns, values).rows, {.int4_group = group});
      REQUIRE(weights.group() == group);
      for (std::size_t row = 0; row < 17; ++row) {
        const auto quantized = unpacked(weights, row);
        for (std::size_t begin = 0; begin < columns; begin += group) {
          double extreme = 0;
          for (std::size_t at = begin; at < std::min(begin + group, columns); ++at) {
            const double value = double{values[row * columns + at]};
            if (std::fabs(value) > std::fabs(extreme)) extreme = value;
          }
          const double step = extreme / -8;
          for (std::size_t at = begin; at < std::min(begin + group, columns); ++at) {
            const double value = double{values[row * columns + at]};
            const double most = value / step > 7.5 ? 1.0 : 0.5;
            // The f16 scale is off by at most 2^-11 of itself, at codes up to 8.
            REQUIRE(std::fabs(double{quantized[at]} - value) <= std::fabs(step) * (most + 8 * 0x1p-11 + 1e-6));
          }
        }
      }
    }
  }
}

TEST_CASE("the value of largest magnitude becomes code -8", "[kernel][dense_i4]") {
  CHECK(unpacked(DenseI4::pack(testing::float_matrix(1, 4, {-8, 7, 2.5f, 8}).rows), 0) ==
        std::vector<float>{-8, 7, 2, 7});
  CHECK(unpacked(DenseI4::pack(testing::float_matrix(1, 4, {8, 7, 2.5f, -8}).rows), 0) ==
        std::vector<float>{8, 7, 2, -7});
}

TEST_CASE("groups of zeros and of numbers below an f16 scale are zeros", "[kernel][dense_i4]") {
  const auto weights = DenseI4::pack(testing::float_matrix(3, 3, {0, 0, 0, 1e-45f, 0, -1e-45f, 1e-8f, 0, 1e-9f}).rows);
  for (std::size_t row = 0; row < 3; ++row) CHECK(unpacked(weights, row) == std::vector<float>{0, 0, 0});
}

TEST_CASE("a group that is not finite poisons its rows' outputs and no other's", "[kernel][dense_i4]") {
  constexpr float inf = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
  const auto weights =
      DenseI4::pack(testing::float_matrix(5, 2, {1, not_a_number, not_a_number, 1, 1, inf, 1e9f, 1, 1, 2}).rows);
  ActivationsI8 input(1, 2);
  const testing::InputRows x(1, 2, {1, 1});
  DenseI4::start(weights, 1, input);
  DenseI4::prepare(weights, x.first(1), input, {0, 1});
  float y[5] = {};
  DenseI4::multiply(weights, input, {y, 1, 5}, {0, 5});
  for (std::size_t row = 0; row < 4; ++row) CHECK_FALSE(std::isfinite(y[row]));
  CHECK(y[4] == Catch::Approx(3).epsilon(0.1));
}

TEST_CASE("file blocks keep their groups of 32 whatever group is asked for", "[kernel][dense_i4]") {
  const auto q4_0 = testing::random_matrix(DType::q4_0, 2, 64, 1);
  const auto q4_1 = testing::random_matrix(DType::q4_1, 2, 64, 1);
  CHECK(DenseI4::pack(q4_0.rows, {.int4_group = 128}).group() == 32);
  CHECK(DenseI4::pack(q4_0.rows).size_bytes() == 16 * 32 + 16 * 2 * 2);
  CHECK(DenseI4::pack(q4_1.rows).size_bytes() == 16 * 32 + 16 * 2 * 4);
}

TEST_CASE("an int4 group is 32, 64 or 128 columns", "[kernel][dense_i4]") {
  const auto matrix = testing::float_matrix(1, 2, {1, 2});
  for (const std::size_t group : {0, 1, 16, 48, 256}) {
    try {
      (void)DenseI4::pack(matrix.rows, {.int4_group = group});
      FAIL("no error for group " << group);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      CHECK_THAT(error.what(), Catch::Matchers::EndsWith("not " + std::to_string(group)));
    }
  }
}

TEST_CASE("int4 matrices share an input when their columns agree", "[kernel][dense_i4]") {
  const auto a = DenseI4::pack(testing::random_matrix(DType::q4_0, 2, 64, 1).rows);
  CHECK(DenseI4::shares_input(a, DenseI4::pack(testing::random_matrix(DType::q4_1, 7, 64, 1).rows)));
  CHECK_FALSE(DenseI4::shares_input(a, DenseI4::pack(testing::random_matrix(DType::q4_0, 2, 96, 1).rows)));
}
