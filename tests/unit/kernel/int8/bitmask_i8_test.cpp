// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/bitmask_i8.hpp>

#include <array>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::BitmaskPanels;

TEST_CASE("a block is its mask and its nonzeros, and reads back", "[kernel][bitmask_i8]") {
  testing::Numbers numbers(1);
  for (const std::size_t kept : {0, 1, 50, 128, 255, 256}) {
    std::array<std::int8_t, detail::block_codes> codes{}, read{};
    for (std::size_t placed = 0; placed < kept;) {
      std::int8_t& code = codes[numbers.below(codes.size())];
      if (code != 0) continue;
      code = placed % 2 == 0 ? std::int8_t{-128} : static_cast<std::int8_t>(numbers.below(127) + 1);
      ++placed;
    }
    REQUIRE(BitmaskPanels::bytes_of(codes.data()) == 32 + kept);
    std::array<std::uint8_t, 32 + detail::block_codes> bytes{};
    CHECK(BitmaskPanels::write(codes.data(), bytes.data()) == bytes.data() + 32 + kept);
    BitmaskPanels::Cursor cursor(bytes.data());
    cursor.read(read.data());
    CHECK(read == codes);
    cursor.next();
    CHECK(cursor.at == bytes.data() + 32 + kept);
  }
}

#if defined(TULLE_X86)
TEST_CASE("the expand table finds the bytes of every mask", "[kernel][bitmask_i8]") {
  for (unsigned mask = 0; mask < 256; ++mask) {
    const auto count = static_cast<unsigned>(std::popcount(mask));
    for (unsigned position = 0; position < 8; ++position) {
      const unsigned before = static_cast<unsigned>(std::popcount(mask & ((1u << position) - 1)));
      const unsigned expected = mask >> position & 1 ? before : 0x80;
      REQUIRE(detail::expand_table.first[mask][position] == expected);
      REQUIRE(detail::expand_table.second[mask][8 + position] == expected);
      REQUIRE(detail::expand_table.first[mask][8 + position] == count);
      REQUIRE(detail::expand_table.second[mask][position] == 0);
    }
  }
}
#endif
