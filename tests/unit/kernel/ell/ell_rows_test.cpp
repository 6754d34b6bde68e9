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
    panel.read(PanelRows(index * panel_rows, rows));
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
    panel.read(PanelRows(0, 3));
    for (std::size_t row = 0; row < 3; ++row) {
      CHECK(panel.codes(row)[39] == (code < 128 ? 7 : -7));
      CHECK(panel.scale(row) * 7 ==
            Catch::Approx(matrix.rows[row].scale * std::abs(int{static_cast<std::int8_t>(code)})));
    }
  }
  const auto matrix = testing::random_matrix(DType::i8, 16, 200, 23);
  EllRows whole(matrix.rows, false), narrow(matrix.rows, true);
  whole.read(PanelRows(0, 16));
  narrow.read(PanelRows(0, 16));
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
  panel.read(PanelRows(0, 2));
  for (std::size_t row = 0; row < 2; ++row) {
    CHECK(panel.scale(row) == codes.scales[row]);
    CHECK(std::equal(panel.codes(row), panel.codes(row) + columns, &codes.codes[row * columns]));
  }
}

TEST_CASE("a row of zeros stays one with codes of 4 bits", "[kernel][ell_rows]") {
  const auto matrix = testing::MatrixEncoder(DType::i8, 24, 0).encode(1, 33);
  EllRows panel(matrix.rows, true);
  panel.read(PanelRows(0, 1));
  CHECK(std::all_of(panel.codes(0), panel.codes(0) + 33, [](std::int8_t code) { return code == 0; }));
}

TEST_CASE("a panel holds any rows, in any order", "[kernel][ell_rows]") {
  const auto matrix = testing::float_matrix(3, 2, {1, 0, 0, 127, 3, 0});
  EllRows panel(matrix.rows, false);
  const std::vector<std::uint32_t> rows{2, 1};
  panel.read(rows);
  CHECK(panel.scale(0) * static_cast<float>(panel.codes(0)[0]) == 3);
  CHECK(panel.codes(1)[1] == 127);
  CHECK(panel.codes(2)[0] == 0);
}

TEST_CASE("nonzeros are counted row by row, and those that 4 bits round to zero are none", "[kernel][ell_rows]") {
  const auto matrix = testing::float_matrix(3, 4, {1, 0, 0, 0, 0, 2, 0.1f, 0, 0, 0, 0, 0});
  for (const bool nibbles : {false, true}) {
    EllRows panel(matrix.rows, nibbles);
    panel.read(PanelRows(0, 3));
    CHECK(panel.nonzeros(0) == 1);
    CHECK(panel.nonzeros(1) == (nibbles ? 1 : 2));
    CHECK(panel.nonzeros(2) == 0);
    CHECK(panel.nonzeros(3) == 0);  // behind the last
  }
}
