// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/copied_rows.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include <tulle/cache/any_cache.hpp>

using namespace tulle;

namespace {

const CacheShape shape({LayerShape{2, 16}, LayerShape{1, 32}});
constexpr Position length = 300;

/// Of a layer and position: integers, of which 127 is the largest, so every element has them exactly.
std::vector<float> row_of(std::size_t layer, Position position, bool is_key) {
  std::vector<float> row(32);
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto number = static_cast<int>((layer * 50 + position * 7 + i * i + (is_key ? 0 : 9)) % 255) - 127;
    row[i] = i % 16 == 3 ? 127 : static_cast<float>(number);
  }
  return row;
}

void fill(AnyCache& cache, SequenceId sequence, Position end) {
  for (Position begin = cache.length(sequence); begin < end; begin = cache.length(sequence)) {
    REQUIRE(cache.extend(sequence, std::min<Position>(end, begin + 40)));
    for (std::size_t layer = 0; layer < 2; ++layer) {
      for (Position at = begin; at < cache.length(sequence); ++at) {
        cache.append(layer, sequence, at, row_of(layer, at, true).data(), row_of(layer, at, false).data());
      }
    }
  }
}

/// How many rows the cache has, all of them as they should be.
Position right_rows(const AnyCache& cache, SequenceId sequence) {
  Position rows = 0;
  for (std::size_t layer = 0; layer < 2; ++layer) {
    cache.for_each_span(layer, sequence, {0, cache.length(sequence)}, [&](const auto& span) {
      for (std::size_t row = 0; row < span.count; ++row) {
        std::vector<float> key(32), value(32);
        detail::decode_rows(shape.layers[layer], span, span.keys, span.key_scales, row, key.data());
        detail::decode_rows(shape.layers[layer], span, span.values, span.value_scales, row, value.data());
        const Position at = span.begin + static_cast<Position>(row);
        rows += key == row_of(layer, at, true) && value == row_of(layer, at, false) ? 1 : 0;
      }
    });
  }
  return rows;
}

std::vector<AnyCache> caches() {
  std::vector<AnyCache> all;
  all.emplace_back(ContiguousCache<float>(shape, 2, length));
  all.emplace_back(ContiguousCache<Half>(shape, 2, length));
  all.emplace_back(ContiguousCache<std::int8_t>(shape, 2, length));
  all.emplace_back(PagedCache<float>(shape, 2, 20, 64));
  all.emplace_back(PagedCache<Half>(shape, 2, 20, 128));
  all.emplace_back(PagedCache<std::int8_t>(shape, 2, 20, 64));
  return all;
}

}  // namespace

TEST_CASE("rows are copied between layouts and elements, all of them and those that are new") {
  for (AnyCache& from : caches()) {
    fill(from, 1, 150);
    for (AnyCache& to : caches()) {
      REQUIRE(copy_rows(from, 1, to, 0, 97));
      CHECK(to.length(0) == 97);
      CHECK(right_rows(to, 0) == 2 * 97);
      REQUIRE(to.truncate(0, 90));
      REQUIRE(copy_rows(from, 1, to, 0, 150));
      CHECK(right_rows(to, 0) == 2 * 150);
      REQUIRE(copy_rows(from, 1, to, 0, 20));  // nothing to do
      CHECK(to.length(0) == 150);
    }
  }
}

TEST_CASE("rows that cannot be copied leave everything as it was") {
  AnyCache from(ContiguousCache<float>(shape, 2, length)), to(ContiguousCache<Half>(shape, 2, length));
  fill(from, 0, 100);
  CHECK(!copy_rows(from, 0, to, 0, 101));  // not there yet
  AnyCache small(ContiguousCache<float>(shape, 2, 64)), other(ContiguousCache<float>(CacheShape(2, {2, 16}), 2, 200));
  CHECK(!copy_rows(from, 0, small, 0, 100));
  CHECK(!copy_rows(from, 0, other, 0, 100));
  AnyCache sliding(SlidingCache<float>(shape, 2, 64, 4, 40));
  fill(sliding, 0, 100);
  CHECK(!copy_rows(sliding, 0, to, 0, 100));  // gone
  for (const AnyCache* each : {&to, &small, &other}) CHECK(each->length(0) == 0);

  AnyCache young(SlidingCache<float>(shape, 2, 64, 4, 40));
  fill(young, 0, 50);
  REQUIRE(copy_rows(young, 0, to, 0, 50));
  CHECK(right_rows(to, 0) == 2 * 50);
}
