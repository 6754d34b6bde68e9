// SPDX-License-Identifier: Apache-2.0
/// \file What a layout made of dense int8 blocks must give: exact products of 16 rows with 16 activations.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <catch2/catch_all.hpp>

#include <tulle/kernel/int8/i8_blocks.hpp>

#include "unit/kernel/encoded_matrix.hpp"

namespace tulle::testing {

/// `products(block, x)` gives the sums of the rows of a block that `Panels::write` made.
template <class Panels, class Products>
void check_block_products(Products&& products) {
  std::array<std::int8_t, detail::block_codes> codes;
  std::array<std::int8_t, 16> x;
  const auto check = [&] {
    alignas(64) std::uint8_t block[Panels::block_bytes];
    Panels::write(codes.data(), block);
    const auto sums = products(block, x.data());
    for (std::size_t row = 0; row < panel_rows; ++row) {
      std::int32_t expected = 0;
      for (std::size_t k = 0; k < 16; ++k) expected += int{codes[(k / 4 * panel_rows + row) * 4 + k % 4]} * x[k];
      REQUIRE(sums[row] == expected);
    }
  };
  Numbers numbers(4);
  for (int round = 0; round < 100; ++round) {
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(numbers.bits());
    for (std::int8_t& value : x) value = static_cast<std::int8_t>(static_cast<int>(numbers.below(255)) - 127);
    check();
  }
  for (const int w : {-128, -127, -1, 0, 1, 127}) {
    for (const int value : {-127, -1, 0, 1, 127}) {
      codes.fill(static_cast<std::int8_t>(w));
      x.fill(static_cast<std::int8_t>(value));
      check();
    }
  }
}

}  // namespace tulle::testing
