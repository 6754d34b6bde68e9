// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/group_scales.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("a scale is found by row and column, for rows and for groups", "[kernel][i8_scales]") {
  for (const std::size_t group : {0, 16, 32}) {
    constexpr std::size_t rows = 35, columns = 96;
    GroupScales scales(rows, columns, group);
    CHECK(scales.group() == group);
    CHECK(scales.groups() == (group == 0 ? 0 : columns / group));
    const std::size_t per_row = group == 0 ? 1 : columns / group;
    CHECK(scales.size_bytes() == 48 * per_row * (group == 32 ? 2 : 4));
    const auto wanted = [](std::size_t row, std::size_t index) { return static_cast<float>(row * 8 + index) * 0.5f; };
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t index = 0; index < per_row; ++index) scales.set(row, index, wanted(row, index));
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        REQUIRE(scales.at(row, column) == wanted(row, group == 0 ? 0 : column / group));
      }
    }
    // In a panel the 16 rows of a group lie side by side; padding rows have scale 0.
    if (group == 16) {
      CHECK(scales.floats()[(2 * 6 + 1) * 16 + 2] == wanted(34, 1));
      CHECK(scales.floats()[(2 * 6 + 1) * 16 + 3] == 0);
    }
    if (group == 32) CHECK(to_float(scales.halves()[(1 * 3 + 2) * 16 + 5]) == wanted(21, 2));
  }
}
