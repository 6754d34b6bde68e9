// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/nonzero_mask.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("masks of codes say which are not zero, whatever they are", "[kernel][nonzero_mask]") {
  for (const int code : {-128, -127, -1, 1, 64, 127}) {
    for (unsigned mask = 0; mask < 65536; ++mask) {
      std::array<std::int8_t, 16> codes{};
      for (unsigned k = 0; k < 16; ++k) codes[k] = static_cast<std::int8_t>(mask >> k & 1 ? code : 0);
      if (detail::nonzero_mask_16(codes.data()) != mask || detail::nonzero_mask_8(codes.data()) != (mask & 255)) {
        FAIL("mask " << mask << " of code " << code);
      }
    }
  }
}

TEST_CASE("set bits are counted, and their places come in order", "[kernel][nonzero_mask]") {
  for (unsigned mask = 0; mask < 65536; ++mask) {
    std::array<std::uint8_t, 16> places;
    const std::size_t count = detail::put_set_bits(mask, places.data());
    unsigned seen = 0;
    for (std::size_t i = 0; i < count; ++i) seen |= 1u << places[i];
    const bool in_order = std::is_sorted(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count));
    if (count != static_cast<std::size_t>(std::popcount(mask)) || detail::count_set_bits(mask) != count ||
        seen != mask || !in_order) {
      FAIL("mask " << mask);
    }
  }
}

TEST_CASE("nonzeros of long runs are counted", "[kernel][nonzero_mask]") {
  std::vector<std::int8_t> codes(512, -1);
  CHECK(detail::count_nonzeros(codes.data(), 512) == 512);
  CHECK(detail::count_nonzeros(codes.data(), 0) == 0);
  for (std::size_t i = 0; i < codes.size(); i += 3) codes[i] = 0;
  CHECK(detail::count_nonzeros(codes.data(), 512) == 512 - 171);
}
