// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/int8/dense_panels.hpp>

#include <array>

#include <catch2/catch_all.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;
using detail::DensePanels;

TEST_CASE("a dense block is its codes, one behind the other", "[kernel][dense_panels]") {
  testing::Numbers numbers(1);
  std::array<std::array<std::int8_t, detail::block_codes>, 3> blocks{};
  for (auto& block : blocks) {
    for (std::int8_t& code : block) code = static_cast<std::int8_t>(numbers.bits());
  }
  alignas(64) std::array<std::uint8_t, 3 * DensePanels::block_bytes> bytes{};
  std::uint8_t* out = bytes.data();
  for (const auto& block : blocks) {
    REQUIRE(DensePanels::fits(block.data()));
    out = DensePanels::write(block.data(), out);
  }
  CHECK(out == bytes.data() + bytes.size());
  DensePanels::Cursor cursor{bytes.data()};
  for (const auto& block : blocks) {
    std::array<std::int8_t, detail::block_codes> read{};
    cursor.read(read.data());
    CHECK(read == block);
    cursor.next();
  }
}
