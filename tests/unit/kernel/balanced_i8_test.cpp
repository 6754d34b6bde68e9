// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/balanced_i8.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEMPLATE_TEST_CASE("a balanced block reads back", "[kernel][balanced_i8]", detail::TwoOfFour, detail::FourOfSixteen,
                   detail::EightOfSixteen, detail::AnyEightOfSixteen) {
  using Panels = detail::BalancedPanels<TestType>;
  testing::Numbers numbers(2);
  for (int round = 0; round < 50; ++round) {
    std::array<std::int8_t, detail::block_codes> codes{}, read{};
    for (std::size_t row = 0; row < panel_rows; ++row) {
      typename TestType::Columns columns{};
      std::array<std::int8_t, 16> mask;
      do {
        const unsigned bits = numbers.bits() & numbers.bits();
        for (std::size_t k = 0; k < 16; ++k) mask[k] = static_cast<std::int8_t>(bits >> k & 1);
      } while (!TestType::choose(mask, columns));
      for (std::size_t k = 0; k < 16; ++k) {
        if (mask[k] != 0) codes[(k / 4 * panel_rows + row) * 4 + k % 4] = static_cast<std::int8_t>(numbers.bits() | 1);
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
