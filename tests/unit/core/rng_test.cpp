// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/rng.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("philox gives the published known answers", "[core][rng]") {
  // Random123's kat_vectors for philox4x32-10.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("uniform stays below 1 and depends on every argument", "[core][rng]") {
  double sum = 0;
  for (std::uint32_t position = 0; position < 10000; ++position) {
    const double value = uniform(1, 2, position);
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
  }
  CHECK(sum / 10000 == Catch::Approx(0.5).margin(0.015));
  CHECK(uniform(1, 2, 3) == uniform(1, 2, 3));
  CHECK(uniform(1, 2, 3) != uniform(2, 2, 3));
  CHECK(uniform(1, 2, 3) != uniform(1, 3, 3));
  CHECK(uniform(1, 2, 3) != uniform(1, 2, 4));
  CHECK(uniform(1, 2, 3) != uniform(1, 2, 3, 1));
}
