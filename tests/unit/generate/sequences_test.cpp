// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/sequences.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using test::error_of;

namespace {

using Tokens = std::vector<Token>;

Sequences<ContiguousCache<float>> three_sequences() {
  return {ContiguousCache<float>(CacheShape(1, LayerShape{1, 2}), 3, 16), 100};
}

Tokens tokens(std::span<const Token> span) {
  return {span.begin(), span.end()};
}

/// As a step does that runs the pending tokens.
template <class Cache>
void fill_cache(Sequences<Cache>& sequences, SequenceId id, Position length) {
  const Position begin = sequences.cache().length(id);
  REQUIRE(sequences.cache().extend(id, length));
  const float row[2] = {1, 2};
  for (Position position = begin; position < length; ++position) sequences.cache().append(0, id, position, row, row);
}

}  // namespace

TEST_CASE("what the cache does not hold of a history is pending", "[generate][sequences]") {
  auto sequences = three_sequences();
  const SequenceId id = sequences.open();
  CHECK(sequences.free() == 2);
  CHECK(sequences.history(id).empty());
  sequences.append(id, Tokens{1, 2, 3, 4});
  CHECK(tokens(sequences.pending(id)) == Tokens{1, 2, 3, 4});
  fill_cache(sequences, id, 3);
  CHECK(tokens(sequences.pending(id)) == Tokens{4});
  sequences.append(id, Tokens{5});
  CHECK(tokens(sequences.pending(id)) == Tokens{4, 5});
  sequences.truncate(id, 2);
  CHECK(tokens(sequences.history(id)) == Tokens{1, 2});
  CHECK(sequences.pending(id).empty());
  sequences.truncate(id, 10);
  CHECK(sequences.history(id).size() == 2);
  sequences.evict(id);
  CHECK(tokens(sequences.pending(id)) == Tokens{1, 2});
  CHECK_FALSE(sequences.waits(id));
  sequences.release(id);
  CHECK(sequences.free() == 3);
  CHECK(error_of([&] { (void)sequences.history(id); }) == ErrorCode::state);
}

TEST_CASE("a fork has the history and the cached prefix", "[generate][sequences]") {
  auto sequences = three_sequences();
  const SequenceId id = sequences.open(), copy = sequences.open();
  sequences.append(id, Tokens{1, 2, 3, 4});
  fill_cache(sequences, id, 3);
  sequences.fork(id, copy);
  sequences.append(id, Tokens{5});
  CHECK(tokens(sequences.history(copy)) == Tokens{1, 2, 3, 4});
  CHECK(tokens(sequences.pending(copy)) == Tokens{4});
  CHECK(error_of([&] { sequences.fork(id, 2); }) == ErrorCode::state);
}

TEST_CASE("sequences run in order of arrival and always have a pending token", "[generate][sequences]") {
  auto sequences = three_sequences();
  for (int i = 0; i < 3; ++i) sequences.append(sequences.open(), Tokens{1, 2, 3});
  fill_cache(sequences, 1, 3);
  for (const SequenceId id : {2, 0, 1}) sequences.run(id, 10);
  CHECK(std::vector<SequenceId>(sequences.running().begin(), sequences.running().end()) ==
        std::vector<SequenceId>{2, 0, 1});
  CHECK(tokens(sequences.pending(1)) == Tokens{3});
  CHECK(error_of([&] { sequences.run(1, 1); }) == ErrorCode::state);
  CHECK(error_of([&] { sequences.append(1, Tokens{4}); }) == ErrorCode::state);
  CHECK(error_of([&] { sequences.truncate(1, 1); }) == ErrorCode::state);
  CHECK(error_of([&] { sequences.fork(0, 1); }) == ErrorCode::state);
  // One that is evicted while it runs waits until another one ends.
  sequences.evict(1);
  CHECK(sequences.waits(1));
  sequences.stop(0);
  CHECK_FALSE(sequences.waits(1));
  sequences.release(2);
  CHECK(sequences.running().size() == 1);
  sequences.stop(7);
  sequences.release(7);
}

TEST_CASE("drafted tokens follow the history until another token is accepted", "[generate][sequences]") {
  auto sequences = three_sequences();
  const SequenceId id = sequences.open();
  sequences.append(id, Tokens{1, 2});
  sequences.run(id, 10);
  sequences.draft(id, Tokens{3, 4});
  sequences.draft(id, Tokens{5, 6, 7});
  CHECK(tokens(sequences.drafted(id)) == Tokens{5, 6, 7});
  CHECK(sequences.history(id).size() == 2);
  CHECK(error_of([&] { sequences.draft(id, Tokens{100}); }) == ErrorCode::invalid_argument);
  sequences.accept(id, 5);
  CHECK(tokens(sequences.drafted(id)) == Tokens{6, 7});
  sequences.accept(id, 8);
  CHECK(sequences.drafted(id).empty());
  CHECK(tokens(sequences.pending(id)) == Tokens{1, 2, 5, 8});
}

TEST_CASE("a drafted token comes with what it was drawn from", "[generate][sequences]") {
  auto sequences = three_sequences();
  const SequenceId id = sequences.open();
  sequences.append(id, Tokens{1});
  sequences.run(id, 10);
  CHECK(sequences.draft_distribution(id).empty());
  sequences.draft(id, Tokens{3, 4}, std::vector<float>{0.1f, 0.9f, 0.2f, 0.8f});
  CHECK(std::ranges::equal(sequences.draft_distribution(id), std::vector<float>{0.1f, 0.9f}));
  sequences.accept(id, 3);
  CHECK(std::ranges::equal(sequences.draft_distribution(id), std::vector<float>{0.2f, 0.8f}));
  sequences.accept(id, 4);
  CHECK(sequences.draft_distribution(id).empty());
  sequences.draft(id, Tokens{3});
  CHECK(sequences.draft_distribution(id).empty());
}

TEST_CASE("tokens and lengths that make no sequence are errors and change nothing", "[generate][sequences]") {
  auto sequences = three_sequences();
  const SequenceId id = sequences.open();
  CHECK(error_of([&] { sequences.run(id, 1); }) == ErrorCode::invalid_argument);
  for (const Token wrong : {-1, 100, std::numeric_limits<Token>::max()}) {
    CHECK(error_of([&] { sequences.append(id, Tokens{1, wrong}); }) == ErrorCode::invalid_argument);
  }
  CHECK(error_of([&] { sequences.append(id, Tokens(17, 1)); }) == ErrorCode::capacity);
  CHECK(sequences.history(id).empty());
  (void)sequences.open();
  (void)sequences.open();
  CHECK(error_of([&] { (void)sequences.open(); }) == ErrorCode::capacity);
}

TEST_CASE("a saved sequence is restored, or none is opened", "[generate][sequences]") {
  auto sequences = three_sequences();
  const SequenceId id = sequences.open();
  sequences.append(id, Tokens{1, 2, 3});
  fill_cache(sequences, id, 2);
  Tokens saved;
  std::vector<std::byte> state;
  sequences.save(id, saved, state);
  const SequenceId restored = sequences.restore(saved, state);
  CHECK(tokens(sequences.history(restored)) == saved);
  CHECK(tokens(sequences.pending(restored)) == Tokens{3});
  CHECK(error_of([&] { (void)sequences.restore(Tokens{1, 200, 3}, state); }) == ErrorCode::malformed);
  CHECK(error_of([&] { (void)sequences.restore(Tokens{1}, state); }) == ErrorCode::malformed);
  CHECK(error_of([&] { (void)sequences.restore(saved, {}); }) == ErrorCode::malformed);
  CHECK(sequences.free() == 1);
}

TEST_CASE("a cache that others have filled is full, not unfit, for a saved sequence", "[generate][sequences]") {
  constexpr Position length = 2 * attention_tile;
  Sequences<PagedCache<float>> sequences(PagedCache<float>(CacheShape(1, LayerShape{1, 2}), 3, 3), 100);
  const SequenceId id = sequences.open();
  sequences.append(id, Tokens(length, 7));
  fill_cache(sequences, id, length);
  Tokens saved;
  std::vector<std::byte> state;
  sequences.save(id, saved, state);
  CHECK(error_of([&] { (void)sequences.restore(saved, state); }) == ErrorCode::capacity);
  CHECK(sequences.free() == 2);
  sequences.release(id);
  CHECK(sequences.history(sequences.restore(saved, state)).size() == length);
}
