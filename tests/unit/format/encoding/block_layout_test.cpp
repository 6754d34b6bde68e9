// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/block_layout.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

using namespace tulle;

TEST_CASE("a plane holds the bits of columns that are its lanes apart", "[format][encoding]") {
  std::vector<std::byte> block(33);
  for (std::size_t i = 0; i < 32; ++i) block[1 + i] = static_cast<std::byte>(i | (15 - i % 16) << 4);
  const BlockLayout nibbles{.low = {1, 4, 16}, .zero = 8};
  std::vector<std::int8_t> codes(64);
  detail::unpack_block(nibbles, block.data(), 64, codes.data());
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t byte = i / 32 * 16 + i % 16;
    const int wanted = static_cast<int>(i % 32 < 16 ? std::to_integer<int>(block[1 + byte]) & 15
                                                    : std::to_integer<int>(block[1 + byte]) >> 4);
    REQUIRE(codes[i] == wanted - 8);
  }
  // One bit each of 8 columns, above two bits each of 16 that follow each other.
  const BlockLayout both{.low = {1, 2, 16}, .high = {0, 1, 1}};
  block[0] = std::byte{0b10100110};
  codes.assign(8, 0);
  std::vector<std::int8_t> wide(64);
  block.resize(40, std::byte{0xFF});
  detail::add_plane(both.high, block.data(), 8, 2, codes.data());
  CHECK(codes == std::vector<std::int8_t>{0, 4, 4, 0, 0, 4, 0, 4});
  detail::add_plane(both.low, block.data(), 64, 0, wide.data());
  for (std::size_t i = 0; i < 64; ++i) REQUIRE(wide[i] == (std::to_integer<int>(block[1 + i % 16]) >> i / 16 * 2 & 3));
}
