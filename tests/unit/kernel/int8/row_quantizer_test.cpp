// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/row_quantizer.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

/// Row `row` as the floats that its codes and scales stand for.
std::vector<float> values_of(RowQuantizer& rows, std::size_t row) {
  std::vector<std::int8_t> codes(rows.columns());
  std::vector<float> scales(rows.scales_per_row());
  rows.read(PanelRows(row, row + 1), {codes.data(), 1, rows.columns()}, scales.data());
  std::vector<float> values(rows.columns());
  for (std::size_t column = 0; column < values.size(); ++column) {
    const float scale = scales[rows.group() == 0 ? 0 : column / rows.group()];
    values[column] = scale * static_cast<float>(codes[column]);
  }
  return values;
}

}  // namespace

TEST_CASE("int8, Q4_0 and Q6_K files keep every value", "[kernel][i8_rows]") {
  const std::pair<DType, std::size_t> groups[] = {
      {DType::i8, 0}, {DType::q8_0, 32}, {DType::q4_0, 32}, {DType::q6_k, 16}};
  for (const auto& [dtype, group] : groups) {
    const auto matrix = testing::random_matrix(dtype, 5, 512, 3);
    RowQuantizer rows(matrix.rows);
    CHECK(rows.rows() == 5);
    CHECK(rows.group() == group);
    CHECK(rows.scales_per_row() == (group == 0 ? 1 : 512 / group));
    std::vector<float> decoded(512);
    for (std::size_t row = 0; row < 5; ++row) {
      matrix.rows.decode_row(row, decoded.data());
      const std::vector<float> values = values_of(rows, row);
      REQUIRE(std::equal(values.begin(), values.end(), decoded.begin(), testing::same_value));
    }
  }
}

TEST_CASE("other rows are quantized within a step, per row or in their file's groups", "[kernel][i8_rows]") {
  const std::pair<DType, std::size_t> groups[] = {
      {DType::f32, 0}, {DType::bf16, 0}, {DType::q4_1, 32}, {DType::q5_k, 32}};
  for (const auto& [dtype, group] : groups) {
    const auto matrix = testing::random_matrix(dtype, 3, 256, 9);
    RowQuantizer rows(matrix.rows);
    CHECK(rows.group() == group);
    std::vector<float> decoded(256);
    for (std::size_t row = 0; row < 3; ++row) {
      matrix.rows.decode_row(row, decoded.data());
      const std::vector<float> values = values_of(rows, row);
      for (std::size_t begin = 0; begin < 256; begin += group == 0 ? 256 : group) {
        float largest = 0;
        const std::size_t end = begin + (group == 0 ? 256 : group);
        for (std::size_t at = begin; at < end; ++at) largest = std::max(largest, std::fabs(decoded[at]));
        const float bound = largest / 127 * ((group == 0 ? 0.5f : 1.0f) + 127 * 0x1p-11f) + 127 * 0x1p-25f;
        for (std::size_t at = begin; at < end; ++at) REQUIRE(std::fabs(values[at] - decoded[at]) <= bound);
      }
    }
  }
}

TEST_CASE("a Q4_1 block becomes multiples of its levels, with hardly an error", "[kernel][i8_rows]") {
  const auto block_of = [](float scale, float minimum) {
    std::array<std::byte, 20> block{};
    const Half halves[] = {to_half(scale), to_half(minimum)};
    std::memcpy(block.data(), halves, 4);
    for (std::size_t i = 0; i < 16; ++i) block[4 + i] = static_cast<std::byte>(i | (15 - i) << 4);
    return block;
  };
  const auto worst = [&](float scale, float minimum) {
    const auto block = block_of(scale, minimum);
    testing::RowList one(32);
    one.append(block.data(), DType::q4_1);
    RowQuantizer rows(one);
    std::vector<float> decoded(32);
    one.decode_row(0, decoded.data());
    const auto values = values_of(rows, 0);
    float error = 0;
    for (std::size_t i = 0; i < 32; ++i) error = std::max(error, std::fabs(values[i] - decoded[i]));
    return error;
  };
  CHECK(worst(0.25f, -1.875f) == 0);  // -7.5 levels: 2 codes a level
  CHECK(worst(0.25f, 0) == 0);
  CHECK(worst(-0.25f, 2.5f) == 0);
  testing::Numbers numbers(8);
  double sum = 0;
  for (int i = 0; i < 500; ++i) {
    const float minimum = numbers.between(-0.16f, 0);
    const float error = worst(0.01f, minimum);
    REQUIRE(error <= 0.16f / 127 * 0.6f);
    sum += double{error};
  }
  CHECK(sum / 500 < 0.25 * 0.08 / 127);
  // Out of proportion, and not finite: as any row of floats.
  CHECK(worst(0.001f, 3) <= 3.02f / 127 * 0.51f);
  CHECK(worst(0, 3) <= 0.003f);
  const auto broken = block_of(std::numeric_limits<float>::infinity(), 1);
  testing::RowList one(32);
  one.append(broken.data(), DType::q4_1);
  RowQuantizer rows(one);
  for (const float value : values_of(rows, 0)) CHECK_FALSE(std::isfinite(value));
}

TEST_CASE("rows of several types are quantized one by one", "[kernel][i8_rows]") {
  const auto floats = testing::float_matrix(1, 2, {1.0f, -0.5f});
  const auto codes = testing::random_matrix(DType::i8, 1, 2, 4);
  testing::RowList mixed(2);
  mixed.append(floats.rows[0].data, DType::f32);
  mixed.append(codes.rows[0].data, DType::i8, 0.25f);
  RowQuantizer rows(mixed);
  CHECK(rows.group() == 0);
  CHECK(values_of(rows, 0)[0] == 1.0f);
  std::vector<float> decoded(2);
  mixed.decode_row(1, decoded.data());
  const float largest = std::max(std::fabs(decoded[0]), std::fabs(decoded[1]));
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::fabs(values_of(rows, 1)[i] - decoded[i]) <= largest / 127 * 0.501f);
}
