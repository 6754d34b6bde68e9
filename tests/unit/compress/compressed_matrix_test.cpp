// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/compressed_matrix.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <vector>

using namespace tulle;

TEST_CASE("Floats are rounded to the type in which they are stored") {
  const std::vector<float> values{1, 0.1f, -3.14159f, 65504};
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const auto matrix = matrix_of_floats(2, 2, type, values);
    CHECK(matrix->code_format() == CodeFormat{.floats = type});
    CHECK(matrix->size_bytes() == (type == DType::f32 ? 16u : 8u));
    std::vector<float> row(2);
    matrix->decode_row(0, row.data());
    CHECK(row[0] == 1);
    const float expected = type == DType::f16    ? to_float(to_half(0.1f))
                           : type == DType::bf16 ? to_float(to_bfloat16(0.1f))
                                                 : 0.1f;
    CHECK(row[1] == expected);
  }
}

TEST_CASE("Codes with scales per group, and minimums") {
  struct Owner {
    std::vector<std::int8_t> codes{1, -2, 3, 4, 5, 6, 7, -8};
    std::vector<float> scales{0.5f, 0.25f, 1, 2}, minimums{0, 1, 2, 3};
  };
  const auto owner = std::make_shared<Owner>();
  const MatrixOfCodes plain(2, 4, {.bits = 4, .group = 2}, {owner->codes, owner->scales, {}}, owner);
  CHECK(plain.code_format() == CodeFormat{.bits = 4, .group = 2, .half_scales = true});
  std::vector<float> row(4);
  plain.decode_row(0, row.data());
  CHECK(row == std::vector<float>{0.5f, -1, 0.75f, 1});

  for (std::int8_t& code : owner->codes) code = static_cast<std::int8_t>(code & 15);
  const MatrixOfCodes shifted(2, 4, {.bits = 4, .group = 2}, {owner->codes, owner->scales, owner->minimums}, owner);
  CHECK(shifted.code_format().has_minimums);
  shifted.decode_row(1, row.data());
  CHECK(row == std::vector<float>{7, 8, 17, 19});
  const auto copy = shifted.copied();
  copy->decode_row(1, row.data());
  CHECK(row == std::vector<float>{7, 8, 17, 19});
}
