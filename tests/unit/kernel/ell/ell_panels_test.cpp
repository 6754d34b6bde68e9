// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_panels.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using namespace tulle::detail;

namespace {

/// What the slots of a panel say: codes [16][columns]. Fails where a column is named twice, or lies outside its window.
template <class Form>
std::vector<std::int8_t> decoded(const EllPanel& panel, std::size_t columns,
                                 std::size_t window_columns = Form::window) {
  std::vector<std::int8_t> codes(panel_rows * columns);
  std::vector<std::size_t> window(panel.advances.size());
  for (std::size_t step = 0, begin = 0; step < window.size(); ++step) {
    begin += window_step * panel.advances[step];
    window[step] = begin;
  }
  std::size_t slot = 0;
  REQUIRE(panel.bytes.size() % Form::bundle_bytes == 0);
  REQUIRE(panel.advances.size() == panel.bytes.size() / Form::bundle_bytes * Form::steps);
  std::vector<std::size_t> position(panel_rows);
  for (std::size_t bundle = 0; bundle < panel.bytes.size() / Form::bundle_bytes; ++bundle) {
    const std::uint8_t* bytes = &panel.bytes[bundle * Form::bundle_bytes];
    for (std::size_t step = 0; step < Form::steps; ++step) {
      for (slot = 0; slot < 64; ++slot) {
        std::size_t& column = position[slot / row_slots];
        column += bytes[slot] >> step * Form::gap_bits & Form::max_gap;
        const int value = Form::nibbles ? static_cast<std::int8_t>(bytes[slot]) >> 4
                                        : static_cast<std::int8_t>(bytes[64 * (1 + step) + slot]);
        if (value == 0) continue;
        const std::size_t begin = window[bundle * Form::steps + step];
        REQUIRE((column >= begin && column < begin + window_columns && column < columns));
        std::int8_t& code = codes[slot / row_slots * columns + column];
        REQUIRE(code == 0);
        code = static_cast<std::int8_t>(value);
      }
    }
  }
  return codes;
}

}  // namespace

TEMPLATE_TEST_CASE("a panel reads back, each slot inside its window", "[kernel][ell_panels]", EllNarrow, EllWide,
                   EllNibbles) {
  testing::Numbers numbers(3);
  for (const std::size_t columns : {1, 15, 16, 64, 300, 2048}) {
    for (const std::size_t zeros_of_100 : {0, 30, 50, 90, 99, 100}) {
      std::vector<std::int8_t> codes(panel_rows * columns);
      for (std::int8_t& code : codes) {
        if (numbers.below(100) < zeros_of_100) continue;
        code = static_cast<std::int8_t>(TestType::nibbles ? static_cast<int>(numbers.below(15)) - 7
                                                          : static_cast<int>(numbers.below(256)) - 128);
      }
      CAPTURE(columns, zeros_of_100);
      for (const std::size_t window : {short_window, middle_window, TestType::window}) {
        const EllPanel panel = EllEncoder().encode<TestType>(codes.data(), columns, columns, window);
        REQUIRE(decoded<TestType>(panel, columns, window) == codes);
        std::vector<std::int8_t> visited(codes.size());
        for_each_ell_value<TestType>(panel.bytes.data(), panel.bytes.size() / TestType::bundle_bytes,
                                     [&](std::size_t row, std::size_t column, std::int8_t value) {
                                       visited[row * columns + column] =
                                           static_cast<std::int8_t>(TestType::nibbles ? value / 16 : value);
                                     });
        REQUIRE(visited == codes);
      }
    }
  }
}

TEST_CASE("a row with one far nonzero among empty ones is reached", "[kernel][ell_panels]") {
  constexpr std::size_t columns = 2048;
  std::vector<std::int8_t> codes(panel_rows * columns);
  codes[5 * columns + 2047] = -128;
  codes[9 * columns] = 127;
  CHECK(decoded<EllNarrow>(EllEncoder().encode<EllNarrow>(codes.data(), columns, columns, 32), columns) == codes);
  CHECK(decoded<EllWide>(EllEncoder().encode<EllWide>(codes.data(), columns, columns, 64), columns) == codes);
}

TEST_CASE("codes that lie in longer rows are encoded as a span", "[kernel][ell_panels]") {
  constexpr std::size_t stride = 100, columns = 40;
  std::vector<std::int8_t> codes(panel_rows * stride, 3), span(panel_rows * columns, 3);
  CHECK(decoded<EllWide>(EllEncoder().encode<EllWide>(&codes[60], stride, columns, 64), columns) == span);
}
