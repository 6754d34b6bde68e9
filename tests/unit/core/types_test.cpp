// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/types.hpp>

#include <limits>
#include <type_traits>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("a row of work computes logits by default", "[core][types]") {
  const Row row{.sequence = 3, .position = 4, .token = 5};
  CHECK(row.sequence == 3);
  CHECK(row.position == 4);
  CHECK(row.token == 5);
  CHECK(row.wants_logits);
}

TEST_CASE("a token can be marked as none, a position cannot be negative", "[core][types]") {
  CHECK(std::is_signed_v<Token>);
  CHECK(std::is_unsigned_v<Position>);
  CHECK(std::numeric_limits<Token>::max() >= 1'000'000);
}

TEST_CASE("a range of rows counts its half-open rows", "[core][types]") {
  CHECK(RowRange{}.count() == 0);
  CHECK(RowRange{16, 16}.count() == 0);
  CHECK(RowRange{16, 33}.count() == 17);
}
