// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/checked.hpp>

#include <catch2/catch_all.hpp>
#include <limits>

using namespace tulle;

TEST_CASE("sizes multiply and add, or are malformed", "[core][checked]") {
  constexpr std::size_t largest = std::numeric_limits<std::size_t>::max();
  CHECK(checked_multiply(6, 7, "x") == 42);
  CHECK(checked_multiply(largest, 1, "x") == largest);
  CHECK(checked_multiply(largest, 0, "x") == 0);
  CHECK_THROWS_AS(checked_multiply(largest, 2, "x"), Error);
  CHECK_THROWS_AS(checked_multiply(largest / 2 + 1, 2, "x"), Error);
  CHECK(checked_add(largest - 1, 1, "x") == largest);
  CHECK_THROWS_AS(checked_add(largest, 1, "x"), Error);
  CHECK_THROWS_WITH(checked_add(largest, 1, "the header"), "the header is too large");
}

TEST_CASE("round_up gives the next multiple", "[core][checked]") {
  CHECK(round_up(0, 64) == 0);
  CHECK(round_up(1, 64) == 64);
  CHECK(round_up(64, 64) == 64);
  CHECK(round_up(65, 64) == 128);
  CHECK(round_up(7, 3) == 9);
}
