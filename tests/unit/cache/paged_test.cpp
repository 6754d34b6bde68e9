// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/paged.hpp>

#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

const CacheShape shape(1, {1, 1});

void append_until(PagedCache<float>& cache, SequenceId sequence, Position end, float mark) {
  const Position begin = cache.length(sequence);
  REQUIRE(cache.extend(sequence, end));
  for (Position position = begin; position < end; ++position) cache.append(0, sequence, position, &mark, &mark);
}

std::vector<const float*> blocks_of(const PagedCache<float>& cache, SequenceId sequence) {
  std::vector<const float*> blocks;
  cache.for_each_span(0, sequence, {0, cache.length(sequence)},
                      [&](const KeyValueSpan<float>& span) { blocks.push_back(span.keys); });
  return blocks;
}

}  // namespace

TEST_CASE("blocks are taken as positions need them and come back", "[cache][paged]") {
  PagedCache<float> cache(shape, 3, 10);
  CHECK(cache.block_size() == 64);
  CHECK(cache.capacity() == 640);
  CHECK(cache.size_bytes() == 2 * 640 * sizeof(float));
  REQUIRE(cache.extend(0, 64));
  CHECK(cache.free_blocks() == 9);
  REQUIRE(cache.extend(0, 65));
  CHECK(cache.free_blocks() == 8);
  REQUIRE(cache.extend(1, 300));
  CHECK(cache.free_blocks() == 3);
  REQUIRE(cache.truncate(1, 128));
  CHECK(cache.free_blocks() == 6);
  REQUIRE(cache.truncate(0, 65));
  REQUIRE(cache.truncate(0, 64));
  CHECK(cache.free_blocks() == 7);
  cache.release(0);
  cache.release(1);
  CHECK(cache.free_blocks() == 10);
  CHECK(cache.extend(2, 640));
}

TEST_CASE("the room of a paged sequence is its last block and the free ones", "[cache][paged]") {
  PagedCache<float> cache(shape, 3, 4, 64, 200);
  CHECK(cache.room(0) == 200);  // the longest sequence, though there are blocks for 256
  append_until(cache, 0, 100, 1);
  CHECK(cache.room(0) == 100);
  CHECK(cache.room(1) == 128);
  REQUIRE(cache.fork(0, 1));
  CHECK(cache.room(0) == 28 + 64);  // one free block takes the copy of the shared one
  append_until(cache, 2, 128, 2);
  CHECK(cache.room(0) == 0);
  CHECK_FALSE(cache.extend(0, 101));
  cache.release(1);
  CHECK(cache.room(0) == 28);
}

TEST_CASE("a sequence that finds too few blocks stays as it was", "[cache][paged]") {
  PagedCache<float> cache(shape, 2, 4);
  REQUIRE(cache.extend(0, 130));
  REQUIRE(cache.extend(1, 10));
  CHECK(cache.free_blocks() == 0);
  CHECK_FALSE(cache.extend(1, 65));
  CHECK_FALSE(cache.extend(1, 0xFFFFFFFF));
  CHECK(cache.length(1) == 10);
  CHECK(cache.extend(1, 64));
  REQUIRE(cache.truncate(0, 128));
  CHECK(cache.extend(1, 65));
}

TEST_CASE("a fork shares every block until it writes into the last", "[cache][paged]") {
  PagedCache<float> cache(shape, 3, 10);
  append_until(cache, 0, 100, 1);
  REQUIRE(cache.fork(0, 1));
  REQUIRE(cache.fork(0, 2));
  CHECK(cache.free_blocks() == 8);
  CHECK(blocks_of(cache, 0) == blocks_of(cache, 1));

  append_until(cache, 1, 101, 2);
  CHECK(cache.free_blocks() == 7);
  CHECK(blocks_of(cache, 0)[0] == blocks_of(cache, 1)[0]);
  CHECK(blocks_of(cache, 0)[1] != blocks_of(cache, 1)[1]);
  CHECK(blocks_of(cache, 0) == blocks_of(cache, 2));
  CHECK(blocks_of(cache, 1)[1][35] == 1);
  CHECK(blocks_of(cache, 1)[1][36] == 2);

  append_until(cache, 0, 101, 3);
  append_until(cache, 2, 101, 4);  // the only one left in the old block: nothing to copy
  CHECK(cache.free_blocks() == 6);
  for (const SequenceId sequence : {0u, 1u, 2u}) cache.release(sequence);
  CHECK(cache.free_blocks() == 10);
}

TEST_CASE("a fork at the end of a block copies nothing", "[cache][paged]") {
  PagedCache<float> cache(shape, 2, 3);
  append_until(cache, 0, 64, 1);
  REQUIRE(cache.fork(0, 1));
  append_until(cache, 0, 65, 2);
  append_until(cache, 1, 65, 3);
  CHECK(cache.free_blocks() == 0);
}

TEST_CASE("the copy of a shared block counts when blocks run out", "[cache][paged]") {
  PagedCache<float> cache(shape, 2, 2);
  append_until(cache, 0, 100, 1);
  REQUIRE(cache.fork(0, 1));
  CHECK_FALSE(cache.extend(1, 101));
  CHECK(cache.length(1) == 100);
  CHECK(blocks_of(cache, 0) == blocks_of(cache, 1));
  cache.release(0);
  CHECK(cache.extend(1, 101));
}

TEST_CASE("rolling back into shared blocks does not write into them", "[cache][paged]") {
  PagedCache<float> cache(shape, 2, 10);
  append_until(cache, 0, 200, 1);
  REQUIRE(cache.fork(0, 1));
  REQUIRE(cache.truncate(1, 70));
  append_until(cache, 1, 80, 2);
  bool untouched = true;
  cache.for_each_span(0, 0, {0, 200}, [&](const KeyValueSpan<float>& span) {
    for (std::size_t i = 0; i < span.count; ++i) untouched = untouched && span.keys[i] == 1;
  });
  CHECK(untouched);
  CHECK(cache.length(0) == 200);
}

TEST_CASE("a fork into a sequence in use gives back what that held", "[cache][paged]") {
  PagedCache<float> cache(shape, 2, 4);
  append_until(cache, 0, 64, 1);
  append_until(cache, 1, 192, 2);
  REQUIRE(cache.fork(0, 1));
  CHECK(cache.free_blocks() == 3);
  CHECK(cache.length(1) == 64);
  REQUIRE(cache.fork(0, 1));  // again, sharing already
  REQUIRE(cache.fork(1, 1));
  CHECK(cache.free_blocks() == 3);
  cache.release(0);
  CHECK(blocks_of(cache, 1)[0][0] == 1);
}

TEST_CASE("a state that finds too few blocks is refused", "[cache][paged]") {
  PagedCache<float> cache(shape, 2, 3);
  append_until(cache, 0, 65, 1);
  std::vector<std::byte> saved;
  cache.save(0, saved);
  CHECK_FALSE(cache.restore(1, saved));
  CHECK(cache.length(1) == 0);
  CHECK(cache.free_blocks() == 1);
  cache.release(0);
  CHECK(cache.restore(1, saved));
  CHECK(cache.free_blocks() == 1);
}

TEST_CASE("a paged cache of impossible size is refused", "[cache][paged]") {
  CHECK_THROWS_WITH(PagedCache<float>(shape, 1, 4, 0), Catch::Matchers::ContainsSubstring("multiple of 64"));
  CHECK_THROWS_WITH(PagedCache<float>(shape, 1, 4, 100), Catch::Matchers::ContainsSubstring("multiple of 64"));
  CHECK_THROWS_WITH(PagedCache<float>(shape, 1, 0), Catch::Matchers::ContainsSubstring("blocks"));
  if constexpr (sizeof(std::size_t) == 8) {
    CHECK_THROWS_WITH(PagedCache<float>(shape, 1, std::size_t{1} << 40), Catch::Matchers::ContainsSubstring("blocks"));
  }
  CHECK_THROWS_AS(PagedCache<float>(shape, 0, 4), Error);
  CHECK_THROWS_AS(PagedCache<float>(CacheShape(1000, {1000, 1u << 31}), 1, 1u << 25), Error);
}

TEST_CASE("no sequence grows beyond the longest, even where there are blocks", "[cache][paged]") {
  PagedCache<float> cache(shape, 3, 10, 64, 100);
  CHECK(cache.capacity() == 100);
  CHECK(cache.extend(0, 100));
  CHECK_FALSE(cache.extend(0, 101));
  CHECK(cache.length(0) == 100);
  CHECK(cache.free_blocks() == 8);
}
