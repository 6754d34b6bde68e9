// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/well_pairs.hpp>

#include <memory>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/aligned_buffer.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"

using namespace tulle;
using namespace tulle::detail;

#if defined(TULLE_X86)

namespace {

/// A panel of one span, and a tile of random or of the largest codes.
template <class Form>
void check_dots(std::size_t columns, std::size_t zeros_of_100, bool extreme) {
  testing::Numbers numbers(static_cast<std::uint32_t>(columns + zeros_of_100));
  std::vector<std::int8_t> codes(panel_rows * columns);
  const int least = Form::nibbles ? -7 : -128, range = Form::nibbles ? 15 : 256;
  for (std::int8_t& code : codes) {
    if (numbers.below(100) < zeros_of_100) continue;
    code = static_cast<std::int8_t>(extreme ? least : least + static_cast<int>(numbers.below(static_cast<std::size_t>(range))));
  }
  AlignedBuffer<std::int16_t> x(columns * WellPairs::inputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int16_t>(extreme ? -8127 : static_cast<int>(numbers.below(16255)) - 8127);
  }
  const WellPanel panel = WellEncoder().encode<Form>(codes.data(), columns, columns, Form::window);
  const std::size_t bundles = panel.bytes.size() / Form::bundle_bytes;
  const auto pairs = std::make_unique<WellPairs>();
  const std::size_t at_once = WellPairs::rows_at_once(bundles * Form::steps);
  for (std::size_t begin = 0; begin < panel_rows; begin += at_once) {
    pairs->read<Form>(panel.bytes.data(), bundles, begin, at_once);
    alignas(32) WellPairs::Dots dots;
    pairs->multiply(at_once, x.data(), dots);
    for (std::size_t row = 0; row < at_once; ++row) {
      for (std::size_t i = 0; i < WellPairs::inputs; ++i) {
        std::int64_t expected = 0;
        for (std::size_t column = 0; column < columns; ++column) {
          const int code = codes[(begin + row) * columns + column] * (Form::nibbles ? 16 : 1);
          expected += std::int64_t{code} * x[column * WellPairs::inputs + i];
        }
        REQUIRE(dots[i][row] == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("lists of weights give the exact products with a tile", "[kernel][well_pairs]") {
  testing::require_machine<isa::Avx2>();
  for (const std::size_t columns : {1, 31, 200, 2048}) {
    for (const std::size_t zeros_of_100 : {0, 50, 90, 100}) {
      for (const bool extreme : {false, true}) {
        check_dots<WellNarrow>(columns, zeros_of_100, extreme);
        check_dots<WellWide>(columns, zeros_of_100, extreme);
        check_dots<WellNibbles>(columns, zeros_of_100, extreme);
      }
    }
  }
}

#endif
