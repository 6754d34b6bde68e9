// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/balanced_panels.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

template <class Pattern, std::size_t CodeBits>
struct Layout {
  using Of = Pattern;
  using Panels = detail::BalancedPanels<Pattern, CodeBits>;
};

TEMPLATE_TEST_CASE("a balanced block reads back", "[kernel][balanced_panels]", (Layout<detail::TwoOfFour, 8>),
                   (Layout<detail::FourOfSixteen, 8>), (Layout<detail::EightOfSixteenGap4, 8>),
                   (Layout<detail::EightOfSixteen, 8>), (Layout<detail::TwoOfFour, 4>),
                   (Layout<detail::FourOfSixteen, 4>), (Layout<detail::EightOfSixteenGap4, 4>)) {
  using Pattern = typename TestType::Of;
  using Panels = typename TestType::Panels;
  testing::Numbers numbers(2);
  for (int round = 0; round < 50; ++round) {
    std::array<std::int8_t, detail::block_codes> codes{}, read{};
    for (std::size_t row = 0; row < panel_rows; ++row) {
      typename Pattern::Columns columns{};
      std::array<std::int8_t, 16> mask;
      do {
        const unsigned bits = numbers.bits() & numbers.bits();
        for (std::size_t k = 0; k < 16; ++k) mask[k] = static_cast<std::int8_t>(bits >> k & 1);
      } while (!Pattern::choose(mask, columns));
      for (std::size_t k = 0; k < 16; ++k) {
        const auto code = static_cast<std::int8_t>(numbers.bits() | 1);
        if (mask[k] == 0) continue;
        codes[(k / 4 * panel_rows + row) * 4 + k % 4] =
            static_cast<std::int8_t>(Panels::code_bits == 8 ? code : code % 8);
      }
    }
    REQUIRE(Panels::fits(codes.data()));
    std::array<std::uint8_t, Panels::block_bytes> bytes{};
    REQUIRE(Panels::write(codes.data(), bytes.data()) == bytes.data() + bytes.size());
    const typename Panels::Cursor cursor{bytes.data()};
    cursor.read(read.data());
    REQUIRE(read == codes);
  }
}

TEST_CASE("a layout of 4-bit codes takes -8 to 7 and nothing else", "[kernel][balanced_panels]") {
  using Panels = detail::BalancedPanels<detail::FourOfSixteen, 4>;
  std::array<std::int8_t, detail::block_codes> codes{};
  for (const int code : {-9, -8, 7, 8}) {
    codes[77] = static_cast<std::int8_t>(code);
    CHECK(Panels::fits(codes.data()) == (code >= -8 && code <= 7));
  }
}
