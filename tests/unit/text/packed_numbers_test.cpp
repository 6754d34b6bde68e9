// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/packed_numbers.hpp>

#include <array>
#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("numbers take a byte for every 7 bits", "[text][packed_numbers]") {
  constexpr std::array<std::uint8_t, 9> bytes{0, 127, 0x80, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F};
  detail::PackedNumbers numbers(bytes);
  CHECK(numbers.take() == 0);
  CHECK(numbers.take() == 127);
  CHECK(numbers.take() == 128);
  CHECK_FALSE(numbers.empty());
  CHECK(numbers.take() == 0xFFFFFFFFu);
  CHECK(numbers.empty());
}

TEST_CASE("steps begin where the distances add up to", "[text][packed_numbers]") {
  constexpr std::array<std::uint8_t, 7> bytes{0, 5, 0x80, 1, 6, 2, 7};
  const auto steps = detail::unpack_steps(bytes);
  REQUIRE(steps.size() == 3);
  CHECK((steps[0].begin == 0 && steps[0].value == 5));
  CHECK((steps[1].begin == 128 && steps[1].value == 6));
  CHECK((steps[2].begin == 130 && steps[2].value == 7));
}
