// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/bitmask_i8.hpp>

#include <array>
#include <bit>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::BitmaskBlocks;

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
    REQUIRE(BitmaskBlocks::bytes_of(codes.data()) == 32 + kept);
    std::array<std::uint8_t, 32 + detail::block_codes> bytes{};
    CHECK(BitmaskBlocks::write(codes.data(), bytes.data()) == bytes.data() + 32 + kept);
    BitmaskBlocks::Cursor cursor(bytes.data());
    cursor.read(read.data());
    CHECK(read == codes);
    cursor.next();
    CHECK(cursor.at == bytes.data() + 32 + kept);
  }
}

#if defined(TULLE_SIMD128)
TEST_CASE("the order of a mask finds the byte of every bit that is set", "[kernel][bitmask_i8]") {
  for (unsigned mask = 0; mask < 256; ++mask) {
    for (unsigned position = 0; position < 8; ++position) {
      const unsigned before = static_cast<unsigned>(std::popcount(mask & ((1u << position) - 1)));
      const unsigned order = detail::expand_orders[mask] >> 8 * position & 255;
      REQUIRE((mask >> position & 1 ? order == before : order >= 0x80));
    }
  }
}
#endif
