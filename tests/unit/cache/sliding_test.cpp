// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/sliding.hpp>

#include <array>
#include <utility>

#include <tulle/cache/contiguous.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

const CacheShape shape(1, {1, 1});

/// Each row is its own position.
template <class Cache>
void append_until(Cache& cache, SequenceId sequence, Position end, Position chunk) {
  while (cache.length(sequence) < end) {
    const Position begin = cache.length(sequence);
    REQUIRE(cache.extend(sequence, std::min(end, begin + chunk)));
    for (Position position = begin; position < cache.length(sequence); ++position) {
      const float row = static_cast<float>(position);
      cache.append(0, sequence, position, &row, &row);
    }
  }
}

using Spans = std::vector<std::pair<Position, std::size_t>>;

/// Where the spans begin and how long they are; their rows must be their positions.
template <class Cache>
Spans spans_at(const Cache& cache, Position position) {
  Spans spans;
  bool right = true;
  cache.for_each_span(0, 0, {0, position + 1}, [&](const KeyValueSpan<float>& span) {
    spans.emplace_back(span.begin, span.count);
    for (std::size_t i = 0; i < span.count; ++i) right = right && span.keys[i] == static_cast<float>(span.begin + i);
  });
  REQUIRE(right);
  return spans;
}

}  // namespace

TEST_CASE("a window and its sinks are one span until a position leaves them", "[cache][sliding]") {
  SlidingCache<float> cache(shape, 1, 100, 4, 20);  // a ring of 128
  append_until(cache, 0, 104, 20);
  CHECK(spans_at(cache, 103) == Spans{{0, 104}});
  append_until(cache, 0, 105, 1);
  CHECK(spans_at(cache, 104) == Spans{{0, 4}, {5, 100}});
  append_until(cache, 0, 129, 20);
  CHECK(spans_at(cache, 128) == Spans{{0, 4}, {29, 99}, {128, 1}});
}

TEST_CASE("a chunk is stored whole before its first row is attended to", "[cache][sliding]") {
  const Position chunk = 20;
  for (Position begin = 0; begin < 300; begin += 7) {
    SlidingCache<float> cache(shape, 1, 100, 4, chunk);
    append_until(cache, 0, begin, chunk);
    append_until(cache, 0, begin + chunk, chunk);
    for (Position position = begin; position < begin + chunk; ++position) {
      std::size_t visible = 0;
      for (const auto& [first, count] : spans_at(cache, position)) visible += count;
      REQUIRE(visible == std::min<std::size_t>(position + 1, 104));
    }
  }
}

TEST_CASE("a sliding cache refuses more than a chunk at once", "[cache][sliding]") {
  SlidingCache<float> cache(shape, 1, 100, 4, 20);
  CHECK_FALSE(cache.extend(0, 21));
  CHECK(cache.length(0) == 0);
  CHECK(cache.room(0) == 20);
  CHECK(cache.extend(0, 20));
  CHECK(cache.room(0) == 20);
  CHECK_FALSE(cache.extend(0, 41));
  CHECK(cache.extend(0, 40));
}

TEST_CASE("a sliding cache takes memory for its ring and no more, however long the text", "[cache][sliding]") {
  SlidingCache<float> cache(shape, 3, 100, 4, 20);
  CHECK(cache.size_bytes() == 0);
  append_until(cache, 0, 1000, 20);
  CHECK(cache.size_bytes() == 2 * (128 + 4) * sizeof(float));
  CHECK(cache.capacity() == 0xFFFFFFFF);
  cache.release(0);
  CHECK(cache.size_bytes() == 0);
}

TEST_CASE("truncation goes back as far as nothing visible was overwritten", "[cache][sliding]") {
  SlidingCache<float> cache(shape, 1, 100, 4, 20);  // 128 - 100: 28 rows of room, one more as the next row comes anyway
  append_until(cache, 0, 500, 20);
  CHECK_FALSE(cache.truncate(0, 470));
  CHECK(cache.length(0) == 500);
  CHECK(spans_at(cache, 499) == Spans{{0, 4}, {400, 100}});
  CHECK(cache.truncate(0, 471));
  append_until(cache, 0, 472, 20);
  CHECK(spans_at(cache, 471).front() == std::pair<Position, std::size_t>{0, 4});
  CHECK_FALSE(cache.truncate(0, 470));  // no nearer than before
  CHECK(cache.truncate(0, 0));
  append_until(cache, 0, 10, 20);
  CHECK(spans_at(cache, 9) == Spans{{0, 10}});
}

TEST_CASE("positions of a sliding cache go on to the largest that there is", "[cache][sliding]") {
  // A state whose window lies near the end stands for having gone there.
  constexpr Position end = 0xFFFFFFF0;
  SavedStateHeader header = SavedStateHeader::of<float>(shape);
  header.prefix = 2;
  header.begin = end - 10;
  header.length = end;
  std::vector<std::byte> bytes(sizeof(header) + 12 * 2 * sizeof(float));
  std::memcpy(bytes.data(), &header, sizeof(header));
  SlidingCache<float> cache(shape, 1, 10, 2, 100);
  REQUIRE(cache.restore(0, bytes));
  CHECK(cache.length(0) == end);
  REQUIRE(cache.extend(0, 0xFFFFFFFF));
  const float row = 1;
  for (Position position = end; position < 0xFFFFFFFF; ++position) cache.append(0, 0, position, &row, &row);
  std::size_t visible = 0;
  cache.for_each_span(0, 0, {0, 0xFFFFFFFF}, [&](const KeyValueSpan<float>& span) { visible += span.count; });
  CHECK(visible == 12);
  CHECK(cache.room(0) == 0);
  CHECK(cache.extend(0, 0xFFFFFFFF));
}

TEST_CASE("a state restores where it holds all that the next position sees", "[cache][sliding]") {
  SlidingCache<float> source(shape, 1, 100, 4, 20);
  append_until(source, 0, 300, 20);
  std::vector<std::byte> saved;
  source.save(0, saved);
  CHECK(saved.size() == sizeof(SavedStateHeader) + 2 * 104 * sizeof(float));

  SlidingCache<float> same(shape, 1, 100, 4, 50);
  REQUIRE(same.restore(0, saved));
  CHECK(spans_at(same, 299) == Spans{{0, 4}, {200, 100}});
  CHECK_FALSE(same.truncate(0, 298));  // would see a position that was not saved
  CHECK(same.truncate(0, 299));

  SlidingCache<float> narrower(shape, 1, 64, 2, 20);
  REQUIRE(narrower.restore(0, saved));
  CHECK(spans_at(narrower, 299).front() == std::pair<Position, std::size_t>{0, 2});

  CHECK_FALSE(SlidingCache<float>(shape, 1, 102, 4, 20).restore(0, saved));
  CHECK_FALSE(SlidingCache<float>(shape, 1, 100, 5, 20).restore(0, saved));
  CHECK_FALSE(ContiguousCache<float>(shape, 1, 1000).restore(0, saved));
}

TEST_CASE("a state after a truncation restores where layers see less than the window", "[cache][sliding]") {
  const CacheShape windowed(1, {1, 1, Window{24}});
  SlidingCache<float> source(windowed, 1, 40, 4, 3), copy(windowed, 1, 40, 4, 3);
  append_until(source, 0, 93, 3);
  REQUIRE(source.truncate(0, 70));
  std::vector<std::byte> saved;
  source.save(0, saved);
  REQUIRE(copy.restore(0, saved));
  append_until(source, 0, 71, 1);
  append_until(copy, 0, 71, 1);
  const auto seen = [](const SlidingCache<float>& cache) {
    std::vector<float> rows;
    cache.for_each_span(0, 0, {47, 71}, [&](const KeyValueSpan<float>& span) {
      rows.insert(rows.end(), span.keys, span.keys + span.count);
    });
    return rows;
  };
  CHECK(seen(copy) == seen(source));
  CHECK(seen(copy).size() == 24);
}

TEST_CASE("complete states go from a contiguous cache to a sliding one and back", "[cache][sliding]") {
  ContiguousCache<float> contiguous(shape, 1, 400);
  append_until(contiguous, 0, 333, 333);
  std::vector<std::byte> saved;
  contiguous.save(0, saved);
  SlidingCache<float> sliding(shape, 1, 100, 4, 20);
  REQUIRE(sliding.restore(0, saved));
  CHECK(spans_at(sliding, 332) == Spans{{0, 4}, {233, 23}, {256, 77}});
  CHECK(sliding.truncate(0, 320));  // the ring was filled to its end
  append_until(sliding, 0, 325, 20);
  CHECK(spans_at(sliding, 324) == Spans{{0, 4}, {225, 31}, {256, 69}});

  REQUIRE(sliding.truncate(0, 0));
  append_until(sliding, 0, 90, 20);
  saved.clear();
  sliding.save(0, saved);
  contiguous.release(0);
  REQUIRE(contiguous.restore(0, saved));
  CHECK(spans_at(contiguous, 89) == Spans{{0, 90}});
}

TEST_CASE("a sliding cache of impossible size is refused", "[cache][sliding]") {
  constexpr Position largest = 0xFFFFFFFF;
  CHECK_THROWS_WITH(SlidingCache<float>(shape, 1, 0, 4, 20), Catch::Matchers::ContainsSubstring("window"));
  CHECK_THROWS_WITH(SlidingCache<float>(shape, 1, 100, 4, 0), Catch::Matchers::ContainsSubstring("chunks"));
  CHECK_THROWS_AS(SlidingCache<float>(shape, 0, 100, 4, 20), Error);
  for (const auto& [window, sinks, chunk] :
       {std::array{largest, Position{0}, Position{1}}, {1, largest, 1}, {1, 0, largest}, {largest, largest, largest}}) {
    CHECK_THROWS_WITH(SlidingCache<float>(shape, 1, window, sinks, chunk),
                      Catch::Matchers::ContainsSubstring("too large"));
  }
}
