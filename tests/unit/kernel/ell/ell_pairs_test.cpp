// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/ell/ell_pairs.hpp>

#include <algorithm>
#include <cstring>
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

/// The products, in registers of 8 rows or of 16, as [inputs][rows].
template <class Isa>
struct Products {
  static constexpr std::size_t inputs = EllPairs<Isa>::inputs;
  std::int32_t values[inputs][panel_rows];

  TULLE_TARGET_AVX2 void load(isa::Avx2, const EllPairs<Isa>& pairs, std::size_t row) {
    for (std::size_t input = 0; input < inputs; input += 4) {
      for (std::size_t at = 0; at < panel_rows; at += 8) {
        __m256i sums[4];
        pairs.load_sums(row + at, input, sums);
        for (std::size_t i = 0; i < 4; ++i) std::memcpy(values[input + i] + at, &sums[i], sizeof sums[i]);
      }
    }
  }
  TULLE_TARGET_AVX512 void load(isa::Avx512, const EllPairs<Isa>& pairs, std::size_t row) {
    for (std::size_t input = 0; input < inputs; input += 4) {
      __m512i sums[4];
      pairs.load_sums(row, input, sums);
      for (std::size_t i = 0; i < 4; ++i) std::memcpy(values[input + i], &sums[i], sizeof sums[i]);
    }
  }
};

/// Panels of one span, as many as fit at once, and a tile of random or of the largest codes.
template <class Isa, class Form>
void check_products(std::size_t columns, std::size_t zeros_of_100, bool extreme) {
  constexpr std::size_t inputs = EllPairs<Isa>::inputs;
  constexpr std::size_t max_panels = EllPairs<Isa>::max_rows / panel_rows;
  testing::Numbers numbers(static_cast<std::uint32_t>(columns + zeros_of_100));
  std::vector<std::int8_t> codes(max_panels * panel_rows * columns);
  const int least = Form::nibbles ? -7 : -128, range = Form::nibbles ? 15 : 256;
  for (std::int8_t& code : codes) {
    if (numbers.below(100) < zeros_of_100) continue;
    code = static_cast<std::int8_t>(extreme ? least
                                            : least + static_cast<int>(numbers.below(static_cast<std::size_t>(range))));
  }
  std::fill_n(codes.data() + 5 * columns, columns, std::int8_t{0});  // a row of another length
  AlignedBuffer<std::int16_t> x(columns * inputs);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<std::int16_t>(extreme ? -8127 : static_cast<int>(numbers.below(16255)) - 8127);
  }
  std::vector<EllPanel> panels;
  std::size_t max_bundles = 0;
  for (std::size_t panel = 0; panel < max_panels; ++panel) {
    panels.push_back(
        EllEncoder().encode<Form>(codes.data() + panel * panel_rows * columns, columns, columns, Form::window));
    max_bundles = std::max(max_bundles, panels[panel].bytes.size() / Form::bundle_bytes);
  }
  const auto pairs = std::make_unique<EllPairs<Isa>>(max_bundles * Form::steps);
  const std::size_t rows = pairs->rows_at_once();
  REQUIRE((rows >= 8 && rows % 8 == 0 && rows <= max_panels * panel_rows));
  for (std::size_t row = 0; row < rows; row += 8) {
    const EllPanel& panel = panels[row / panel_rows];
    const EllPiece piece{panel.bytes.data(), panel.advances.data(), panel.bytes.size() / Form::bundle_bytes};
    pairs->template read<Form>(piece, row % panel_rows, row);
  }
  pairs->end_lists(rows);
  pairs->multiply(rows, x.data());
  for (std::size_t first = 0; first < rows; first += panel_rows) {
    Products<Isa> products;
    products.load(Isa{}, *pairs, first);
    for (std::size_t row = first; row < std::min(first + panel_rows, rows); ++row) {
      for (std::size_t i = 0; i < inputs; ++i) {
        std::int64_t expected = 0;
        for (std::size_t column = 0; column < columns; ++column) {
          const int code = codes[row * columns + column] * (Form::nibbles ? 16 : 1);
          expected += std::int64_t{code} * x[column * inputs + i];
        }
        REQUIRE(products.values[i][row - first] == expected);
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("lists of weights give the exact products with a tile", "[kernel][ell_pairs]", isa::Avx2,
                   isa::Avx512) {
  testing::require_machine<TestType>();
  for (const std::size_t columns : {1, 31, 200, 2048}) {
    for (const std::size_t zeros_of_100 : {0, 50, 90, 100}) {
      for (const bool extreme : {false, true}) {
        check_products<TestType, EllNarrow>(columns, zeros_of_100, extreme);
        check_products<TestType, EllWide>(columns, zeros_of_100, extreme);
        check_products<TestType, EllNibbles>(columns, zeros_of_100, extreme);
      }
    }
  }
}

#endif
