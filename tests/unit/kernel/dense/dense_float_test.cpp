// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/dense/dense_float.hpp>

#include <cmath>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("f16 weights are bf16 when all rows are, else f16", "[kernel][dense_float]") {
  const auto bf16 = testing::random_matrix(DType::bf16, 3, 8, 1);
  const auto f16 = testing::random_matrix(DType::f16, 3, 8, 2);
  CHECK(DenseF16::pack(bf16.rows).is_bf16());
  CHECK_FALSE(DenseF16::pack(f16.rows).is_bf16());
  testing::RowList mixed(8);
  mixed.append(bf16.rows[0].data, DType::bf16);
  mixed.append(f16.rows[0].data, DType::f16);
  CHECK_FALSE(DenseF16::pack(mixed).is_bf16());
}

TEST_CASE("f16 weights are the nearest halves of what the rows hold", "[kernel][dense_float]") {
  const std::vector<float> values{1.0f, 1.0f + 0x1p-11f, -0.1f, 0x1p-24f, 65504.0f, 70000.0f, 0.0f, -0.0f};
  const auto weights = DenseF16::pack(testing::float_matrix(1, values.size(), values).rows);
  std::vector<float> unpacked(values.size());
  DenseF16::unpack_row(weights, 0, unpacked.data());
  for (std::size_t at = 0; at < values.size(); ++at)
    CHECK(testing::same_value(unpacked[at], to_float(to_half(values[at]))));
  CHECK(unpacked[1] == 1.0f);
  CHECK(std::isinf(unpacked[5]));
}

TEST_CASE("a row scale multiplies the decoded values", "[kernel][dense_float]") {
  const auto matrix = testing::random_matrix(DType::i8, 2, 5, 3);
  const auto weights = DenseF32::pack(matrix.rows);
  std::vector<float> unpacked(5);
  DenseF32::unpack_row(weights, 1, unpacked.data());
  for (std::size_t at = 0; at < 5; ++at) {
    CHECK(unpacked[at] == static_cast<float>(static_cast<std::int8_t>(matrix.rows[1].data[at])) * matrix.rows[1].scale);
  }
}

TEST_CASE("sizes are those of padded panels", "[kernel][dense_float]") {
  const auto matrix = testing::random_matrix(DType::f16, 17, 10, 4);
  CHECK(DenseF32::pack(matrix.rows).size_bytes() == 32 * 10 * 4);
  CHECK(DenseF16::pack(matrix.rows).size_bytes() == 32 * 10 * 2);
  CHECK(DenseF32::shares_input(DenseF32::pack(matrix.rows), DenseF32::pack(matrix.rows)));
  CHECK_FALSE(DenseF32::shares_input(DenseF32::pack(matrix.rows),
                                     DenseF32::pack(testing::random_matrix(DType::f16, 17, 11, 4).rows)));
}
