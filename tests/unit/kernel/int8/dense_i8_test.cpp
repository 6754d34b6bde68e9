// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/dense_i8.hpp>

#include <array>
#include <cmath>
#include <limits>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/any_kernel.hpp>
#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;

namespace {

std::vector<float> unpacked(const DenseI8::Weights& weights, std::size_t row) {
  std::vector<float> values(weights.columns());
  weights.unpack_row(row, values.data());
  return values;
}

}  // namespace

TEST_CASE("quantized rows are within half a step of max|w| / 127", "[kernel][dense_i8]") {
  for (const float size : {1e-20f, 1.0f, 1e20f}) {
    const auto values = testing::random_floats(17 * 100, 5, -size, size);
    const auto matrix = testing::float_matrix(17, 100, values);
    const auto weights = DenseI8::pack(matrix.rows);
    REQUIRE(weights.group() == 0);
    for (std::size_t row = 0; row < 17; ++row) {
      const auto quantized = unpacked(weights, row);
      float largest = 0;
      for (std::size_t at = 0; at < 100; ++at) largest = std::max(largest, std::fabs(values[row * 100 + at]));
      const double step = double{largest} / 127;
      for (std::size_t at = 0; at < 100; ++at) {
        REQUIRE(std::fabs(double{quantized[at]} - double{values[row * 100 + at]}) <= step * (0.5 + 127 * 0x1p-22));
      }
    }
  }
}

TEST_CASE("codes round to even and reach -127 and 127", "[kernel][dense_i8]") {
  const auto weights = DenseI8::pack(testing::float_matrix(1, 6, {-127, 127, 0.5f, 1.5f, 2.5f, -0.5f}).rows);
  CHECK(unpacked(weights, 0) == std::vector<float>{-127, 127, 0, 2, 2, 0});
}

TEST_CASE("a row of zeros or of the tiniest numbers is harmless", "[kernel][dense_i8]") {
  const auto weights = DenseI8::pack(testing::float_matrix(2, 3, {0, -0.0f, 0, 1e-45f, 3e-44f, -2e-43f}).rows);
  CHECK(unpacked(weights, 0) == std::vector<float>{0, 0, 0});
  for (const float value : unpacked(weights, 1)) CHECK(std::fabs(value) <= 3e-43f);
}

TEST_CASE("a row that is not finite poisons its outputs and no other's", "[kernel][dense_i8]") {
  constexpr float inf = std::numeric_limits<float>::infinity(), not_a_number = std::numeric_limits<float>::quiet_NaN();
  const auto weights =
      DenseI8::pack(testing::float_matrix(4, 3, {1, not_a_number, 2, not_a_number, 1, 1, 1, 1, -inf, 1, 2, 3}).rows);
  ActivationsI8 input(1, 3);
  const testing::InputRows x(1, 3, {1, 1, 1});
  DenseI8::start(weights, 1, input);
  DenseI8::prepare(weights, x.first(1), input, {0, 1});
  float y[4] = {};
  DenseI8::multiply(weights, input, {y, 1, 4}, {0, 4});
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK_FALSE(std::isfinite(y[row]));
    for (const float value : unpacked(weights, row)) CHECK_FALSE(std::isfinite(value));
  }
  CHECK(y[3] == Catch::Approx(6).epsilon(0.01));
}

TEST_CASE("file blocks keep their groups; rows of several types share none", "[kernel][dense_i8]") {
  const auto q8_0 = testing::random_matrix(DType::q8_0, 2, 256, 1);
  const auto q6_k = testing::random_matrix(DType::q6_k, 2, 256, 2);
  CHECK(DenseI8::pack(q8_0.rows).group() == 32);
  CHECK(DenseI8::pack(q6_k.rows).group() == 16);
  CHECK(DenseI8::pack(q8_0.rows).size_bytes() == 16 * 256 + 16 * 8 * 2);
  testing::RowList mixed(256);
  mixed.append(q8_0.rows[0].data, DType::q8_0);
  mixed.append(q6_k.rows[0].data, DType::q6_k);
  const auto weights = DenseI8::pack(mixed);
  CHECK(weights.group() == 0);
  std::vector<float> decoded(256);
  for (std::size_t row = 0; row < 2; ++row) {
    mixed.decode_row(row, decoded.data());
    float largest = 0;
    for (const float value : decoded) largest = std::max(largest, std::fabs(value));
    for (std::size_t at = 0; at < 256; ++at) {
      REQUIRE(std::fabs(unpacked(weights, row)[at] - decoded[at]) <= largest / 127 * 0.501f);
    }
  }
}

TEST_CASE("blocks of fewer bits become int8 with their own scales and minimums", "[kernel][dense_i8]") {
  for (const DType dtype : {DType::q4_0, DType::q4_1, DType::q5_1, DType::q2_k, DType::q5_k}) {
    const auto matrix = testing::random_matrix(dtype, 17, 256, 4);
    const auto weights = DenseI8::pack(matrix.rows);
    REQUIRE(weights.group() == matrix.rows.code_format().group);
    std::vector<float> decoded(256);
    for (std::size_t row = 0; row < 17; ++row) {
      matrix.rows.decode_row(row, decoded.data());
      REQUIRE(unpacked(weights, row) == decoded);
    }
  }
}

TEST_CASE("matrices share activations when columns and scales agree", "[kernel][dense_i8]") {
  const auto matrix = testing::random_matrix(DType::i8, 2, 64, 1);
  const auto other = testing::random_matrix(DType::i8, 2, 65, 1);
  const auto per_group = DenseI8::pack(matrix.rows), per_row = DenseI8::pack(matrix.rows, {.scale_per_input = true});
  CHECK(DenseI8::shares_input(per_group, DenseI8::pack(matrix.rows)));
  CHECK_FALSE(DenseI8::shares_input(per_group, per_row));
  CHECK_FALSE(DenseI8::shares_input(per_group, DenseI8::pack(other.rows)));
}

TEMPLATE_LIST_TEST_CASE("the row's scale comes last and is one multiplication", "[kernel][dense_i8]",
                        testing::InstructionSets) {
  testing::require_machine<TestType>();
  using Kernel = BasicDenseI8<TestType>;
  const std::byte codes[] = {std::byte{3}, std::byte{0xFB}};  // 3, -5
  testing::RowList rows(2);
  rows.append(codes, DType::i8, 0.1f);
  const auto weights = Kernel::pack(rows);
  ActivationsI8 input(1, 2);
  const testing::InputRows x(1, 2, {1.27f, -0.02f});
  Kernel::start(weights, 1, input);
  Kernel::prepare(weights, x.first(1), input, {0, 1});
  float y = 0;
  Kernel::multiply(weights, input, {&y, 1, 1}, {0, 1});
  CHECK(y == static_cast<float>(3 * 127 + 5 * 2) * (1.27f / 127) * 0.1f);
}

TEST_CASE("a dense block is its codes, one behind the other", "[kernel][dense_i8]") {
  testing::Numbers numbers(1);
  std::array<std::array<std::int8_t, detail::block_codes>, 3> blocks{};
  for (auto& block : blocks) {
    for (std::int8_t& code : block) code = static_cast<std::int8_t>(numbers.bits());
  }
  alignas(64) std::array<std::uint8_t, 3 * detail::DenseBlocks::block_bytes> bytes{};
  std::uint8_t* out = bytes.data();
  for (const auto& block : blocks) {
    REQUIRE(detail::DenseBlocks::fits(block.data()));
    out = detail::DenseBlocks::write(block.data(), out);
  }
  CHECK(out == bytes.data() + bytes.size());
  detail::DenseBlocks::Cursor cursor{bytes.data()};
  for (const auto& block : blocks) {
    std::array<std::int8_t, detail::block_codes> read{};
    cursor.read(read.data());
    CHECK(read == block);
    cursor.next();
  }
}

TEST_CASE("bytes a weight: 1 dense, 1/8 and the nonzeros as a bitmask", "[kernel][dense_i8]") {
  constexpr std::size_t rows = 64, columns = 512, scales = rows * sizeof(float);
  const auto size_of = [&](auto kernel, testing::Zeros zeros) {
    return kernel.pack(testing::pruned(testing::random_matrix(DType::i8, rows, columns, 6), zeros, 7).rows)
        .size_bytes();
  };
  CHECK(size_of(DenseI8(), {}) == rows * columns + scales);
  // A random byte may be zero too; every panel begins at a cache line.
  const std::size_t half = size_of(BitmaskI8(), {8, 16}) - scales - 4 * sizeof(std::size_t);
  CHECK(half <= rows * columns * 5 / 8 + 4 * 64);
  CHECK(half >= rows * columns * 5 / 8 * 98 / 100);
}
