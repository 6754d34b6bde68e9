// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/packed_panels.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/int8/balanced.hpp>
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
                   detail::DenseBlocks, detail::BitmaskBlocks) {
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

TEST_CASE("a matrix without the zeros of a layout is refused, with its rows", "[kernel][packed_panels]") {
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

TEST_CASE("a scale is found by row and column, for rows and for groups", "[kernel][packed_panels]") {
  const CodeFormat formats[] = {{.bits = 8},
                                {.bits = 8, .group = 16},
                                {.bits = 8, .group = 32},
                                {.bits = 8, .group = 32, .half_scales = true},
                                {.bits = 4, .group = 64, .half_scales = true}};
  for (const CodeFormat& format : formats) {
    constexpr std::size_t rows = 35, columns = 96;
    const std::size_t per_row = format.scales_per_row(columns), group = format.group;
    GroupScales scales(rows, columns, format);
    CHECK(scales.group() == group);
    CHECK(scales.groups() == (group == 0 ? 0 : per_row));
    CHECK(scales.size_bytes() == 48 * per_row * (format.half_scales ? 2 : 4));
    const auto wanted = [](std::size_t row, std::size_t index) { return static_cast<float>(row * 8 + index) * 0.5f; };
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> of_row;
      for (std::size_t index = 0; index < per_row; ++index) of_row.push_back(wanted(row, index));
      scales.set_row(row, of_row);
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
    if (scales.type() == ScaleType::f16) {
      CHECK(to_float(scales.halves()[scales.place(1, 1, group).group + 5]) == wanted(21, 1));
    }
  }
}

TEST_CASE("factors of groups are multiplied by the number of their block", "[kernel][packed_panels]") {
  for (const std::size_t group : {16, 32}) {
    constexpr std::size_t rows = 20, columns = 768;
    const CodeFormat format{.bits = 4, .group = group, .block = 256};
    GroupScales scales(rows, columns, format);
    const std::size_t groups = columns / group;
    CHECK(format.scales_per_row(columns) == groups + 3);
    CHECK(scales.size_bytes() == 32 * (groups + 2 * 3));
    const auto factor = [](std::size_t row, std::size_t index) {
      return static_cast<float>((row * 37 + index) % 256) - 128;
    };
    const auto of_block = [](std::size_t row, std::size_t block) {
      return 0.25f + static_cast<float>(row * 3 + block);
    };
    std::vector<std::vector<float>> products;
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<float> numbers;
      for (std::size_t index = 0; index < groups; ++index) numbers.push_back(factor(row, index));
      for (std::size_t block = 0; block < 3; ++block) numbers.push_back(of_block(row, block));
      scales.set_row(row, numbers);
      format.multiply_out(numbers.data(), columns);
      products.push_back(numbers);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        REQUIRE(scales.at(row, column) == factor(row, column / group) * of_block(row, column / 256));
        REQUIRE(products[row][column / group] == scales.at(row, column));
      }
    }
    CHECK(scales.at(25, 0) == 0);
  }
}

namespace {

template <std::size_t BlockBytes>
struct Layout {
  static constexpr std::size_t block_bytes = BlockBytes;
  struct Cursor {
    const std::uint8_t* at;
  };
};

}  // namespace

TEST_CASE("a panel lies behind those before it, or where its offset says", "[kernel][packed_panels]") {
  const std::array<std::uint8_t, 100> bytes{};
  const detail::PanelCursors<Layout<10>> equal{bytes.data(), nullptr, 30};
  CHECK(equal[0].at == bytes.data());
  CHECK(equal[2].at == bytes.data() + 60);
  const detail::PanelCursors<Layout<10>> later{bytes.data(), nullptr, 30, 4};
  CHECK(later[4].at == bytes.data());
  CHECK(later[5].at == bytes.data() + 30);
  const std::array<std::size_t, 3> offsets{0, 7, 64};
  const detail::PanelCursors<Layout<0>> uneven{bytes.data(), offsets.data(), 0};
  CHECK(uneven[1].at == bytes.data() + 7);
  CHECK(uneven[2].at == bytes.data() + 64);
}
