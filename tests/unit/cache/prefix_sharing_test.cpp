// SPDX-License-Identifier: Apache-2.0
/// \file Sequences of a paged cache that take rows from each other without being forks.
#include <algorithm>
#include <catch2/catch_all.hpp>
#include <limits>
#include <set>
#include <vector>

#include <tulle/cache/any_cache.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/core/rng.hpp>

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;

constexpr Position block = 64;
const CacheShape shape({{1, 1}, {1, 1, {30}}});

PagedCache<float> sharing(std::size_t sequences, std::size_t blocks) {
  return {shape, sequences, blocks, block, std::numeric_limits<Position>::max(), true};
}

/// As the row of a model, a number that depends on the tokens up to the position alone.
float row_of(std::span<const Token> tokens, Position position) {
  std::uint32_t hash = 1;
  for (const Token token : tokens.first(position + 1)) hash = hash * 31 + static_cast<std::uint32_t>(token) + 7;
  return static_cast<float>(hash % 1'000'003);
}

/// Runs the rest of `tokens`, as far as the cache has room.
void run(auto& cache, SequenceId sequence, const Tokens& tokens) {
  const Position begin = cache.length(sequence);
  const auto end = static_cast<Position>(std::min<std::size_t>(tokens.size(), begin + cache.room(sequence)));
  REQUIRE(cache.extend(sequence, end));
  for (Position position = begin; position < end; ++position) {
    const float row = row_of(tokens, position);
    for (std::size_t layer = 0; layer < 2; ++layer) cache.append(layer, sequence, position, &row, &row);
  }
}

bool holds(const auto& cache, SequenceId sequence, const Tokens& tokens) {
  bool right = true;
  for (std::size_t layer = 0; layer < 2 && cache.length(sequence) != 0; ++layer) {
    cache.for_each_span(layer, sequence, {0, cache.length(sequence)}, [&](const KeyValueSpan<float>& span) {
      for (Position i = 0; i < span.count; ++i) {
        right = right && span.keys[i] == row_of(tokens, span.begin + i) && span.values[i] == span.keys[i];
      }
    });
  }
  return right;
}

std::vector<const float*> blocks_of(const PagedCache<float>& cache, SequenceId sequence) {
  std::vector<const float*> blocks;
  if (cache.length(sequence) == 0) return blocks;
  cache.for_each_span(0, sequence, {0, cache.length(sequence)},
                      [&](const KeyValueSpan<float>& span) { blocks.push_back(span.keys); });
  return blocks;
}

/// Texts of the same `text` begin alike, as far as they both go.
Tokens tokens_of(Token text, std::size_t length) {
  Tokens tokens(length);
  for (std::size_t i = 0; i < length; ++i) tokens[i] = text * 1000 + static_cast<Token>(i);
  return tokens;
}

}  // namespace

TEST_CASE("nothing is shared unless it is asked for", "[cache][prefix_sharing]") {
  PagedCache<float> cache(shape, 2, 4);
  run(cache, 0, tokens_of(1, 130));
  cache.publish(0, tokens_of(1, 130));
  CHECK(cache.adopt(1, tokens_of(1, 130)) == 0);
  cache.release(0);
  CHECK(cache.adopt(1, tokens_of(1, 130)) == 0);
  CHECK(cache.free_blocks() == 4);
}

TEST_CASE("whole blocks are adopted, and a last token remains", "[cache][prefix_sharing]") {
  auto cache = sharing(2, 10);
  run(cache, 0, tokens_of(1, 200));
  cache.publish(0, tokens_of(1, 150));  // what is known of the tokens
  const auto adopted = [&](const Tokens& tokens) {
    const Position length = cache.adopt(1, tokens);
    CHECK(length == cache.length(1));
    CHECK(holds(cache, 1, tokens));
    cache.release(1);
    return length;
  };
  CHECK(adopted(tokens_of(1, 0)) == 0);
  CHECK(adopted(tokens_of(1, 64)) == 0);
  CHECK(adopted(tokens_of(1, 65)) == 64);
  CHECK(adopted(tokens_of(1, 128)) == 64);
  CHECK(adopted(tokens_of(1, 129)) == 128);
  CHECK(adopted(tokens_of(1, 300)) == 128);
  cache.publish(0, tokens_of(1, 200));
  CHECK(adopted(tokens_of(1, 300)) == 192);
  Tokens other = tokens_of(1, 300);
  other[70] = 9;
  CHECK(adopted(other) == 64);
  other[0] = 9;
  CHECK(adopted(other) == 0);
  CHECK(cache.free_blocks() == 6);
  cache.release(0);
  run(cache, 0, tokens_of(2, 100));
  cache.publish(0, tokens_of(2, 300));  // more tokens than rows
  CHECK(adopted(tokens_of(2, 300)) == 64);
}

TEST_CASE("a released sequence leaves its full blocks until they are needed", "[cache][prefix_sharing]") {
  auto cache = sharing(3, 5);
  for (const Token text : {1, 2}) {
    run(cache, 0, tokens_of(text, 130));
    cache.publish(0, tokens_of(text, 130));
    cache.release(0);
  }
  CHECK(cache.free_blocks() == 5);
  CHECK(cache.room(0) == 5 * block);
  // The last block of the text that was used longest ago goes first.
  run(cache, 0, tokens_of(3, 128));
  CHECK(cache.adopt(1, tokens_of(1, 200)) == 64);
  CHECK(cache.adopt(2, tokens_of(2, 200)) == 128);
  CHECK(cache.free_blocks() == 0);
  CHECK(cache.room(1) == 0);
  CHECK_FALSE(cache.extend(1, 65));
  for (const SequenceId sequence : {2, 1}) cache.release(sequence);
  run(cache, 2, tokens_of(4, 65));
  CHECK(cache.adopt(1, tokens_of(1, 200)) == 64);
  CHECK(cache.free_blocks() == 0);
  CHECK(holds(cache, 0, tokens_of(3, 128)));
  CHECK(holds(cache, 1, tokens_of(1, 64)));
  CHECK(holds(cache, 2, tokens_of(4, 65)));
}

TEST_CASE("of equal blocks one is kept", "[cache][prefix_sharing]") {
  auto cache = sharing(3, 6);
  for (const SequenceId sequence : {0, 1}) run(cache, sequence, tokens_of(1, 140));
  CHECK(cache.free_blocks() == 0);
  REQUIRE(cache.fork(1, 2));
  for (const SequenceId sequence : {0, 1, 2}) cache.publish(sequence, tokens_of(1, 140));
  CHECK(cache.free_blocks() == 2);
  CHECK(blocks_of(cache, 0)[1] == blocks_of(cache, 2)[1]);
  CHECK(blocks_of(cache, 0)[2] != blocks_of(cache, 1)[2]);
  for (const SequenceId sequence : {0, 1, 2}) CHECK(holds(cache, sequence, tokens_of(1, 140)));
}

TEST_CASE("forks of what was adopted go their own ways", "[cache][prefix_sharing]") {
  auto cache = sharing(3, 8);
  run(cache, 0, tokens_of(1, 140));
  cache.publish(0, tokens_of(1, 140));
  CHECK(cache.adopt(1, tokens_of(1, 140)) == 128);
  REQUIRE(cache.fork(1, 2));
  Tokens one = tokens_of(1, 140), two = tokens_of(1, 140);
  one[130] = 5;
  two[100] = 6;
  REQUIRE(cache.truncate(2, 100));
  run(cache, 1, one);
  run(cache, 2, two);
  cache.publish(2, two);
  CHECK(holds(cache, 0, tokens_of(1, 140)));
  CHECK(holds(cache, 1, one));
  CHECK(holds(cache, 2, two));
  CHECK(blocks_of(cache, 2)[0] == blocks_of(cache, 0)[0]);
}

TEST_CASE("a block that is rolled back into and written to is no longer found", "[cache][prefix_sharing]") {
  auto cache = sharing(2, 6);
  run(cache, 0, tokens_of(1, 192));
  cache.publish(0, tokens_of(1, 192));
  REQUIRE(cache.truncate(0, 100));
  CHECK(cache.adopt(1, tokens_of(1, 193)) == 192);  // still
  cache.release(1);
  Tokens other = tokens_of(1, 192);
  other[100] = 9;
  run(cache, 0, other);
  cache.publish(0, other);
  CHECK(cache.adopt(1, tokens_of(1, 193)) == 64);
  cache.release(1);
  other.push_back(1);
  CHECK(cache.adopt(1, other) == 192);
  CHECK(holds(cache, 1, other));
}

TEST_CASE("what follows a restored state is not shared", "[cache][prefix_sharing]") {
  auto cache = sharing(3, 12);
  run(cache, 0, tokens_of(1, 140));
  std::vector<std::byte> saved;
  cache.save(0, saved);
  cache.release(0);
  REQUIRE(cache.restore(0, saved));
  run(cache, 0, tokens_of(1, 200));
  REQUIRE(cache.fork(0, 1));
  for (const SequenceId sequence : {0, 1}) cache.publish(sequence, tokens_of(1, 200));
  CHECK(cache.adopt(2, tokens_of(1, 200)) == 0);
  // The slot can be used for other texts.
  cache.release(0);
  run(cache, 0, tokens_of(2, 100));
  cache.publish(0, tokens_of(2, 100));
  CHECK(cache.adopt(2, tokens_of(2, 100)) == 64);
}

TEST_CASE("random operations on sequences that share prefixes leave the rows of their texts",
          "[cache][prefix_sharing][long]") {
  constexpr SequenceId sequences = 5;
  constexpr std::size_t blocks = 11;
  auto cache = sharing(sequences, blocks);
  std::vector<Tokens> texts(sequences);
  std::size_t adopted = 0, full = 0;
  for (std::uint64_t round = 0; round < 3000; ++round) {
    const auto draw = [&](std::uint32_t what, std::uint32_t below) {
      return static_cast<std::uint32_t>(uniform(3, round, what, 0) * below);
    };
    const SequenceId sequence = draw(0, sequences), other = draw(1, sequences);
    Tokens& text = texts[sequence];
    switch (draw(2, 8)) {
      case 0: {
        cache.release(sequence);
        text.clear();
        // Every part of 40 tokens is one of two, mostly the first.
        for (std::uint32_t part = 0; part < 8; ++part) {
          const Tokens more = tokens_of(draw(10 + part, 6) == 0, 40);
          text.insert(text.end(), more.begin(), more.end());
        }
        adopted += cache.adopt(sequence, text) != 0 ? 1 : 0;
        text.resize(cache.length(sequence));
        break;
      }
      case 1:
        cache.release(sequence);
        text.clear();
        break;
      case 2:
        if (cache.fork(sequence, other)) texts[other] = text;
        break;
      case 3: {
        const Position length = draw(3, cache.length(sequence) + 1);
        REQUIRE(cache.truncate(sequence, length));
        text.resize(length);
        break;
      }
      default: {
        const Tokens more = tokens_of(draw(4, 6) == 0, 40);
        const std::size_t end = std::min<std::size_t>(cache.length(sequence) + draw(5, 90), 320);
        text.resize(cache.length(sequence));
        for (std::size_t i = text.size(); i < end; ++i) text.push_back(more[i % 40]);
        run(cache, sequence, text);
        text.resize(cache.length(sequence));
        if (draw(6, 4) != 0) cache.publish(sequence, text);
      }
    }
    std::set<const float*> held;
    for (SequenceId each = 0; each < sequences; ++each) {
      REQUIRE(holds(cache, each, texts[each]));
      for (const float* one : blocks_of(cache, each)) held.insert(one);
    }
    REQUIRE(cache.free_blocks() == blocks - held.size());
    full += cache.free_blocks() == 0 ? 1 : 0;
  }
  CHECK(adopted > 50);
  CHECK(full > 50);
}

TEST_CASE("AnyCache shares prefixes where the layout it holds does", "[cache][prefix_sharing]") {
  AnyCache paged(sharing(2, 4)), contiguous(ContiguousCache<float>(shape, 2, 200));
  for (AnyCache* cache : {&paged, &contiguous}) {
    run(*cache, 0, tokens_of(1, 100));
    cache->publish(0, tokens_of(1, 100));
    CHECK(cache->adopt(1, tokens_of(1, 100)) == (cache == &paged ? 64 : 0));
    CHECK(cache->length(1) == (cache == &paged ? 64 : 0));
  }
}
