// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/packed_panels.hpp>

#include <algorithm>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/int8/balanced_i8.hpp>
#include <tulle/kernel/int8/bitmask_i8.hpp>
#include <tulle/kernel/int8/dense_i8.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("a panel is read in any order, padded with zeros", "[kernel][packed_panels]") {
  const auto matrix = testing::random_matrix(DType::i8, 33, 40, 5);
  detail::I8PanelReader reader(matrix.rows, RowQuantizer::Codes::of_file);
  REQUIRE(reader.codes().size() == 64 * panel_rows);
  REQUIRE(reader.scales().size() == panel_rows);
  for (const std::size_t panel : {1, 2, 0}) {
    reader.read(panel);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const std::size_t at = panel * panel_rows + row;
      REQUIRE(reader.scales()[row] == (at < 33 ? matrix.rows[at].scale : 0.0f));
      for (std::size_t column = 0; column < 64; ++column) {
        const int code = reader.codes()[(column / 4 * panel_rows + row) * 4 + column % 4];
        const bool real = at < 33 && column < 40;
        REQUIRE(code == (real ? static_cast<std::int8_t>(matrix.rows[at].data[column]) : 0));
      }
    }
  }
}

TEMPLATE_TEST_CASE("what is packed is read back, one panel's end is the next one's begin", "[kernel][packed_panels]",
                   detail::DensePanels, detail::BitmaskPanels) {
  const auto matrix = testing::random_matrix(DType::i8, 40, 72, 5);
  const detail::I8Format format = detail::I8Format::of<TestType>();
  const detail::PackedPanels panels(matrix.rows, format, nullptr);
  REQUIRE(panels.rows() == 40);
  REQUIRE(panels.columns() == 72);
  REQUIRE(panels.padded_columns() == 96);
  for (std::size_t row = 0; row < 40; ++row) {
    std::vector<float> values(72);
    panels.unpack_row(row, format, values.data());
    for (std::size_t column = 0; column < 72; ++column) {
      const auto code = static_cast<std::int8_t>(matrix.rows[row].data[column]);
      REQUIRE(values[column] == matrix.rows[row].scale * static_cast<float>(code));
    }
  }
  const std::size_t blocks = panels.padded_columns() / detail::block_columns;
  for (std::size_t panel = 0; panel < 3; ++panel) {
    const std::uint8_t* at = panels.bytes() + panels.panel_begin(panel);
    for (std::size_t block = 0; block < blocks; ++block) {
      std::int8_t codes[detail::block_codes];
      at = format.read(at, codes);
    }
    const auto end = static_cast<std::size_t>(at - panels.bytes());
    CHECK(panels.panel_begin(panel + 1) == round_up(end, std::size_t{64}));
  }
}

TEST_CASE("a matrix without the zeros a layout wants is refused, with its rows", "[kernel][packed_panels]") {
  auto matrix = testing::pruned(testing::random_matrix(DType::i8, 40, 64, 8), {2, 4}, 9);
  matrix.bytes[1 + 20 * 64 + 4] = matrix.bytes[1 + 20 * 64 + 5] = matrix.bytes[1 + 20 * 64 + 6] = std::byte{1};
  std::fill_n(&matrix.bytes[1 + 35 * 64], 64, std::byte{1});  // a later panel is no better
  ThreadPool threads(3);
  for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), &threads}) {
    try {
      (void)TwoOfFourI8::pack(matrix.rows, {.pool = pool});
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::unsupported);
      CHECK_THAT(error.what(),
                 Catch::Matchers::ContainsSubstring("rows 16 to 31") && Catch::Matchers::ContainsSubstring("2:4_i8"));
    }
  }
}
