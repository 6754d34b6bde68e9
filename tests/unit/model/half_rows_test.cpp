// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/half_rows.hpp>

#include <limits>
#include <memory>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/thread_pool.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

constexpr std::size_t rows = 37, columns = 64;  // more than two panels

std::vector<float> row_of(const WeightSource& source, std::size_t row) {
  std::vector<float> values(columns);
  source.decode_row(row, values.data());
  return values;
}

std::shared_ptr<const HalfRows> rounded(std::vector<float> values, ThreadPool* pool = nullptr) {
  return HalfRows::of(testing::float_matrix(rows, columns, values).rows, pool);
}

}  // namespace

TEST_CASE("floats are rounded to F16, on one thread or several", "[model][half_rows]") {
  std::vector<float> values = testing::random_floats(rows * columns, 4);
  values[0] = 65504;
  values[1] = -65504;
  values[2] = 1e-9f;
  const auto floats = testing::float_matrix(rows, columns, values);
  ThreadPool three(3);
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &three}) {
    const auto halves = rounded(values, pool);
    REQUIRE(halves != nullptr);
    CHECK(halves->rows() == rows);
    CHECK(halves->columns() == columns);
    CHECK(halves->code_format() == CodeFormat{.floats = DType::f16});
    CHECK(halves->size_bytes() == rows * columns * 2);
    const auto copy = halves->copied();
    CHECK(copy->size_bytes() == halves->size_bytes());
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> wanted = row_of(floats.rows, row);
      for (float& value : wanted) value = to_float(to_half(value));
      CHECK(row_of(*halves, row) == wanted);
      CHECK(row_of(*copy, row) == wanted);
    }
  }
}

TEST_CASE("rounded rows are read again from their bytes", "[model][half_rows]") {
  const auto floats = testing::random_matrix(DType::f32, rows, columns, 6);
  const auto halves = HalfRows::of(floats.rows);
  const auto bytes = halves->bytes();
  const auto over = HalfRows::over(floats.rows, bytes);
  REQUIRE(over != nullptr);
  CHECK(over->bytes().data() == bytes.data());
  for (std::size_t row = 0; row < rows; ++row) CHECK(row_of(*over, row) == row_of(*halves, row));
  CHECK(HalfRows::over(floats.rows, bytes.first(bytes.size() - 1)) == nullptr);
  CHECK(HalfRows::over(floats.rows, bytes.first(bytes.size() / 2)) == nullptr);
  CHECK(HalfRows::over(testing::random_matrix(DType::bf16, rows, columns, 6).rows, bytes) == nullptr);
}

TEST_CASE("rows of other encodings, and values beyond the range of F16, are not rounded", "[model][half_rows]") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::q4_1}) {
    CAPTURE(dtype_name(dtype));
    CHECK(HalfRows::of(testing::random_matrix(dtype, rows, columns, 3).rows) == nullptr);
  }
  using Limits = std::numeric_limits<float>;
  for (const float value : {65505.0f, -1e30f, Limits::infinity(), Limits::quiet_NaN()}) {
    CAPTURE(value);
    std::vector<float> values = testing::random_floats(rows * columns, 5);
    values.back() = value;
    CHECK(rounded(values) == nullptr);
  }
}
