// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/encoding/nibbles.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("low nibbles are the first 16 columns, high ones the others", "[format][encoding]") {
  std::byte bytes[16];
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>(i | (15 - i) << 4);
  std::int8_t codes[32];
  detail::unpack_nibbles(bytes, 8, codes);
  for (int i = 0; i < 16; ++i) {
    CHECK(codes[i] == i - 8);
    CHECK(codes[16 + i] == 7 - i);
  }
}
