// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/contiguous.hpp>

#include <array>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

const CacheShape shape(2, {1, 4});

}  // namespace

TEST_CASE("a contiguous cache takes memory for the sequences in use only", "[cache][contiguous]") {
  ContiguousCache<float> cache(shape, 1000, 50);
  constexpr std::size_t sequence_bytes = 2 * 2 * 4 * 50 * sizeof(float);
  CHECK(cache.size_bytes() == 0);
  REQUIRE(cache.extend(7, 1));
  REQUIRE(cache.extend(9, 50));
  CHECK(cache.size_bytes() == 2 * sequence_bytes);
  REQUIRE(cache.truncate(9, 0));
  CHECK(cache.size_bytes() == 2 * sequence_bytes);  // kept for what comes next
  cache.release(9);
  CHECK(cache.size_bytes() == sequence_bytes);
  REQUIRE(cache.fork(0, 1));
  CHECK(cache.size_bytes() == sequence_bytes);
}

TEST_CASE("a contiguous cache is full at its capacity", "[cache][contiguous]") {
  ContiguousCache<float> cache(shape, 1, 50);
  CHECK(cache.capacity() == 50);
  CHECK_FALSE(cache.extend(0, 51));
  CHECK(cache.length(0) == 0);
  CHECK(cache.size_bytes() == 0);
  CHECK(cache.room(0) == 50);
  CHECK(cache.extend(0, 50));
  CHECK(cache.room(0) == 0);
  CHECK_FALSE(cache.extend(0, 51));
}

TEST_CASE("a contiguous cache shows one span from the beginning", "[cache][contiguous]") {
  ContiguousCache<Half> cache(shape, 1, 200);
  REQUIRE(cache.extend(0, 200));
  int spans = 0;
  cache.for_each_span(1, 0, {0, 150}, [&](const KeyValueSpan<Half>& span) {
    ++spans;
    CHECK(span.begin == 0);
    CHECK(span.count == 150);
  });
  CHECK(spans == 1);
}

TEST_CASE("a state longer than a contiguous cache is refused", "[cache][contiguous]") {
  ContiguousCache<float> large(shape, 1, 50);
  ContiguousCache<float> small(shape, 1, 40);
  const std::array<float, 4> row = {1, 2, 3, 4};
  REQUIRE(large.extend(0, 41));
  for (std::size_t layer = 0; layer < 2; ++layer) {
    for (Position position = 0; position < 41; ++position) large.append(layer, 0, position, row.data(), row.data());
  }
  std::vector<std::byte> saved;
  large.save(0, saved);
  CHECK_FALSE(small.restore(0, saved));
  CHECK(small.length(0) == 0);
  CHECK(small.size_bytes() == 0);
  REQUIRE(large.truncate(0, 40));
  saved.clear();
  large.save(0, saved);
  CHECK(small.restore(0, saved));
  CHECK(small.length(0) == 40);
}

TEST_CASE("a contiguous cache of impossible size is refused", "[cache][contiguous]") {
  CHECK_THROWS_AS(ContiguousCache<float>(shape, 0, 50), Error);
  CHECK_THROWS_AS(ContiguousCache<float>(shape, 1, 0), Error);
  CHECK_THROWS_AS(ContiguousCache<float>(shape, ~std::size_t{0} / 2, 50), Error);
  CHECK_THROWS_AS(ContiguousCache<float>(CacheShape(0, {1, 1}), 1, 50), Error);
  CHECK_THROWS_WITH(ContiguousCache<float>(CacheShape(64, {1u << 31, 1u << 31}), 1, 50),
                    Catch::Matchers::ContainsSubstring("too large"));
}
