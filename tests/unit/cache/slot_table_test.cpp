// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/slot_table.hpp>

#include <catch2/catch_all.hpp>

#include <tulle/cache/contiguous.hpp>

using namespace tulle;

namespace {

/// Rows that are their positions.
void append_until(ContiguousCache<float>& cache, Position end) {
  for (Position position = cache.length(0); position < end; ++position) {
    REQUIRE(cache.extend(0, position + 1));
    const float row = static_cast<float>(position);
    for (std::size_t layer = 0; layer < 2; ++layer) cache.append(layer, 0, position, &row, &row);
  }
}

}  // namespace

TEST_CASE("a cache holds 1 to 65536 sequences", "[cache][slot_table]") {
  const CacheShape shape(1, {1, 1});
  CHECK_THROWS_WITH(ContiguousCache<float>(shape, 0, 8), Catch::Matchers::ContainsSubstring("1 to 65536"));
  CHECK_THROWS_WITH(ContiguousCache<float>(shape, 65537, 8), Catch::Matchers::ContainsSubstring("65537"));
  CHECK(ContiguousCache<float>(shape, 65536, 8).sequences() == 65536);
}

TEST_CASE("a restored state goes back no further than its windows saw", "[cache][slot_table]") {
  const CacheShape shape({{1, 1}, {1, 1, {10}}});
  ContiguousCache<float> cache(shape, 1, 64), other(shape, 1, 64);
  append_until(cache, 40);
  std::vector<std::byte> saved;
  cache.save(0, saved);
  CHECK(saved.size() == sizeof(SavedStateHeader) + 4 + 2 * (40 + 10) * sizeof(float));
  REQUIRE(other.restore(0, saved));
  CHECK_FALSE(other.truncate(0, 38));
  CHECK(other.length(0) == 40);
  REQUIRE(other.truncate(0, 39));
  saved.clear();
  other.save(0, saved);  // what position 39 will see, and nothing that was not there
  CHECK(saved.size() == sizeof(SavedStateHeader) + 4 + 2 * (39 + 9) * sizeof(float));
  other.release(0);
  REQUIRE(other.restore(0, saved));
  CHECK_FALSE(other.truncate(0, 38));
  append_until(other, 40);
  std::vector<float> seen;
  other.for_each_span(1, 0, {30, 40}, [&](const KeyValueSpan<float>& span) {
    seen.insert(seen.end(), span.keys, span.keys + span.count);
  });
  CHECK(seen == std::vector<float>{30, 31, 32, 33, 34, 35, 36, 37, 38, 39});
  REQUIRE(other.truncate(0, 0));
}
