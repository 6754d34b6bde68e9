// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/row_quantizer.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

namespace {

/// Row `row` as the floats that its codes, scales and minimums stand for.
std::vector<float> values_of(RowQuantizer& rows, std::size_t row) {
  const CodeFormat& format = rows.format();
  std::vector<std::int8_t> codes(rows.columns());
  std::vector<float> scales(rows.scales_per_row()), minimums(rows.scales_per_row());
  rows.read(PanelRows(row, row + 1), {codes.data(), 1, rows.columns()}, scales.data(), minimums.data());
  format.multiply_out(scales.data(), rows.columns());
  format.multiply_out(minimums.data(), rows.columns());
  std::vector<float> values(rows.columns());
  for (std::size_t column = 0; column < values.size(); ++column) {
    const std::size_t at = format.group == 0 ? 0 : column / format.group;
    values[column] = scales[at] * static_cast<float>(codes[column]);
    if (format.has_minimums) values[column] += minimums[at];
  }
  return values;
}

}  // namespace

TEST_CASE("files of codes keep every value", "[kernel][i8_rows]") {
  const std::pair<DType, std::size_t> groups[] = {{DType::i8, 0},     {DType::q8_0, 32}, {DType::q4_0, 32},
                                                  {DType::q4_1, 32},  {DType::q5_1, 32}, {DType::q2_k, 16},
                                                  {DType::q5_k, 32},  {DType::q6_k, 16}, {DType::iq4_xs, 32},
                                                  {DType::mxfp4, 32}, {DType::q8_k, 32}, {DType::tq1_0, 32}};
  for (const auto& [dtype, group] : groups) {
    CAPTURE(dtype_name(dtype));
    const auto matrix = testing::random_matrix(dtype, 5, 512, 3);
    RowQuantizer rows(matrix.rows);
    CHECK(rows.rows() == 5);
    CHECK(rows.format() == matrix.rows.code_format());
    CHECK(rows.format().group == group);
    CHECK(rows.scales_per_row() == (group == 0 ? 1 : 512 / group) + (rows.format().block == 0 ? 0 : 2));
    std::vector<float> decoded(512);
    for (std::size_t row = 0; row < 5; ++row) {
      matrix.rows.decode_row(row, decoded.data());
      const std::vector<float> values = values_of(rows, row);
      REQUIRE(std::equal(values.begin(), values.end(), decoded.begin(), testing::same_value));
    }
  }
}

TEST_CASE("rows of floats are quantized within half a step", "[kernel][i8_rows]") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto matrix = testing::random_matrix(dtype, 3, 256, 9);
    RowQuantizer rows(matrix.rows);
    CHECK(rows.format() == CodeFormat{.bits = 8});
    std::vector<float> decoded(256);
    for (std::size_t row = 0; row < 3; ++row) {
      matrix.rows.decode_row(row, decoded.data());
      const std::vector<float> values = values_of(rows, row);
      float largest = 0;
      for (const float value : decoded) largest = std::max(largest, std::fabs(value));
      const float bound = largest / 127 * (0.5f + 127 * 0x1p-11f) + 127 * 0x1p-25f;
      for (std::size_t at = 0; at < 256; ++at) REQUIRE(std::fabs(values[at] - decoded[at]) <= bound);
    }
  }
}

TEST_CASE("what fits the kernels of codes", "[kernel][i8_rows]") {
  const CodeFormat q5_k = q5_k_rows.format, q2_k = q2_k_rows.format;
  CHECK(fits_i8(q5_k));
  CHECK_FALSE(fits_i4(q5_k));
  CHECK(fits_i4(q2_k));
  CHECK_FALSE(fits_sparse_i4(q2_k));
  CHECK(fits_sparse_i4(tq2_0_rows.format));
  CHECK_FALSE(fits_sparse_i4(q3_k_rows.format));
  CHECK_FALSE(fits_i8({.bits = 8, .group = 128}));
  CHECK_FALSE(fits_i8({.bits = 8, .group = 32, .has_minimums = true}));
  CHECK_FALSE(fits_i8({.bits = 4, .has_minimums = true}));
  CHECK(fits_i4({.bits = 4, .group = 128}));
  CHECK_FALSE(fits_i4({.bits = 4, .group = 48}));
  CHECK_FALSE(fits_i4({.bits = 4}));
}

TEST_CASE("rows of several types are quantized one by one", "[kernel][i8_rows]") {
  const auto floats = testing::float_matrix(1, 2, {1.0f, -0.5f});
  const auto codes = testing::random_matrix(DType::i8, 1, 2, 4);
  testing::RowList mixed(2);
  mixed.append(floats.rows[0].data, DType::f32);
  mixed.append(codes.rows[0].data, DType::i8, 0.25f);
  RowQuantizer rows(mixed);
  CHECK(rows.format().group == 0);
  CHECK(values_of(rows, 0)[0] == 1.0f);
  std::vector<float> decoded(2);
  mixed.decode_row(1, decoded.data());
  const float largest = std::max(std::fabs(decoded[0]), std::fabs(decoded[1]));
  for (std::size_t i = 0; i < 2; ++i) CHECK(std::fabs(values_of(rows, 1)[i] - decoded[i]) <= largest / 127 * 0.501f);
}
