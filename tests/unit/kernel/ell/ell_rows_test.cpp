// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_rows.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include <catch2/catch_all.hpp>
#include <tulle/compress/compressed_matrix.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::EllRows;

TEST_CASE("a panel of 16 rows holds those of the matrix, and zeros behind the last", "[kernel][ell_rows]") {
  constexpr std::size_t rows = 19, columns = 70;
  const auto matrix = testing::random_matrix(DType::i8, rows, columns, 21);
  EllRows panel(matrix.rows, false);
  std::vector<float> expected(columns);
  for (const std::size_t index : {0, 1, 0}) {
    panel.read(index);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      std::fill(expected.begin(), expected.end(), 0.0f);
      if (index * panel_rows + row < rows) matrix.rows.decode_row(index * panel_rows + row, expected.data());
      for (std::size_t column = 0; column < columns; ++column) {
        REQUIRE(panel.scale(row) * static_cast<float>(panel.codes(row)[column]) == expected[column]);
      }
    }
  }
}

TEST_CASE("codes of 4 bits reach 7, and are the nearest of their scale", "[kernel][ell_rows]") {
  for (const std::uint8_t code : std::initializer_list<std::uint8_t>{1, 100, 128, 255}) {  // 128 is -128
    CAPTURE(int{code});
    const auto matrix = testing::MatrixEncoder(DType::i8, 22, code).encode(3, 40);
    EllRows panel(matrix.rows, true);
    panel.read(0);
    for (std::size_t row = 0; row < 3; ++row) {
      CHECK(panel.codes(row)[39] == (code < 128 ? 7 : -7));
      CHECK(panel.scale(row) * 7 ==
            Catch::Approx(matrix.rows[row].scale * std::abs(int{static_cast<std::int8_t>(code)})));
    }
  }
  const auto matrix = testing::random_matrix(DType::i8, 16, 200, 23);
  EllRows whole(matrix.rows, false), narrow(matrix.rows, true);
  whole.read(0);
  narrow.read(0);
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 200; ++column) {
      const float exact = whole.scale(row) * static_cast<float>(whole.codes(row)[column]);
      REQUIRE(std::abs(int{narrow.codes(row)[column]}) <= 7);
      REQUIRE(std::fabs(narrow.scale(row) * static_cast<float>(narrow.codes(row)[column]) - exact) <=
              narrow.scale(row) * 0.50001f);
    }
  }
}

TEST_CASE("codes of 4 bits with a scale per row are kept, -8 too", "[kernel][ell_rows]") {
  constexpr std::size_t columns = 48;
  OwnedCodes codes;
  for (std::size_t i = 0; i < 2 * columns; ++i) codes.codes.push_back(static_cast<std::int8_t>(i * 5 % 16) - 8);
  codes.scales = {0.5f, -3};
  const auto matrix = matrix_of_codes(2, columns, {.bits = 4}, codes);
  EllRows panel(*matrix, true);
  panel.read(0);
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(panel.scale(row) == codes.scales[row]);
    CHECK(std::equal(panel.codes(row), panel.codes(row) + columns, &codes.codes[row * columns]));
  }
}

TEST_CASE("a row of zeros stays one with codes of 4 bits", "[kernel][ell_rows]") {
  const auto matrix = testing::MatrixEncoder(DType::i8, 24, 0).encode(1, 33);
  EllRows panel(matrix.rows, true);
  panel.read(0);
  CHECK(std::all_of(panel.codes(0), panel.codes(0) + 33, [](std::int8_t code) { return code == 0; }));
}

TEST_CASE("the share of nonzeros is estimated from the first rows, padding left out", "[kernel][ell_rows]") {
  CHECK(EllRows::nonzero_share(testing::float_matrix(3, 4, {1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 3}).rows) == 0.25);
  const auto matrix = testing::pruned(testing::MatrixEncoder(DType::i8, 25, 5).encode(300, 80), {1, 4}, 8);
  CHECK(EllRows::nonzero_share(matrix.rows) == 0.25);
}
