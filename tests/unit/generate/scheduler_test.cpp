// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/scheduler.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <vector>

#include <tulle/cache/paged.hpp>

using namespace tulle;

namespace {

using Paged = Sequences<PagedCache<float>>;

constexpr Position block = 64;

Paged sequences_of(std::size_t blocks, std::vector<std::size_t> prompts) {
  Paged sequences(PagedCache<float>(CacheShape(1, LayerShape{1, 2}), prompts.size(), blocks, block), 100);
  for (const std::size_t size : prompts) sequences.append(sequences.open(), std::vector<Token>(size, 7));
  for (SequenceId id = 0; id < prompts.size(); ++id) {
    sequences.run(id, 100);
    sequences.set_logits_from(id, static_cast<Position>(prompts[id] - 1));
  }
  return sequences;
}

struct Part {
  SequenceId sequence;
  std::size_t rows;
  bool operator==(const Part&) const = default;
};

std::vector<Part> parts_of(const StepPlan& plan) {
  std::vector<Part> parts;
  for (const Row& row : plan.rows) {
    if (parts.empty() || parts.back().sequence != row.sequence) parts.push_back({row.sequence, 0});
    ++parts.back().rows;
  }
  return parts;
}

/// Plans, and lets the cache hold the rows that it has room for, which are returned.
std::vector<Part> step(const Scheduler& scheduler, Paged& sequences) {
  StepPlan plan;
  scheduler.plan(sequences, plan);
  const float row[2] = {};
  std::erase_if(plan.rows,
                [&](const Row& each) { return !sequences.cache().extend(each.sequence, each.position + 1); });
  for (const Row& each : plan.rows) sequences.cache().append(0, each.sequence, each.position, row, row);
  return parts_of(plan);
}

}  // namespace

TEST_CASE("early sequences get chunks and all others a row", "[generate][scheduler]") {
  auto sequences = sequences_of(16, {50, 20, 5});
  const Scheduler scheduler(32, 32);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 30}, {1, 1}, {2, 1}});
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 20}, {1, 11}, {2, 1}});
  // A sequence that stops and runs again is the last.
  sequences.stop(1);
  sequences.run(1, 100);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{2, 3}, {1, 8}});
}

TEST_CASE("a chunk limits every sequence", "[generate][scheduler]") {
  auto sequences = sequences_of(16, {50, 20});
  CHECK(step(Scheduler(32, 8), sequences) == std::vector<Part>{{0, 8}, {1, 8}});
  CHECK(step(Scheduler(2, 1), sequences) == std::vector<Part>{{0, 1}, {1, 1}});
}

TEST_CASE("logits are wanted of the last pending row and of what was drafted behind it", "[generate][scheduler]") {
  auto sequences = sequences_of(16, {10});
  const Scheduler scheduler(32, 8);
  sequences.draft(0, std::vector<Token>{1, 2, 3});
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 8}});
  StepPlan plan;
  scheduler.plan(sequences, plan);
  REQUIRE(plan.rows.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(plan.rows[i].position == 8 + i);
    CHECK(plan.rows[i].wants_logits == (i >= 1));
    CHECK(plan.rows[i].token == (i < 2 ? 7 : static_cast<Token>(i) - 1));
  }
}

TEST_CASE("what finds no room waits, and the first to arrive takes it from the last", "[generate][scheduler]") {
  auto sequences = sequences_of(3, {64, 64, 64});
  const Scheduler scheduler(192, 64);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 64}, {1, 64}, {2, 64}});
  for (SequenceId id = 0; id < 3; ++id) sequences.accept(id, 1);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 1}});
  CHECK(sequences.cache().length(1) == 64);
  CHECK(sequences.cache().length(2) == 0);
  CHECK(sequences.waits(2));
  sequences.release(0);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{1, 1}, {2, 64}});
}

TEST_CASE("sequences that do not run are evicted before those that do", "[generate][scheduler]") {
  auto sequences = sequences_of(3, {64, 64, 64});
  const Scheduler scheduler(192, 64);
  (void)step(scheduler, sequences);
  sequences.stop(1);
  sequences.accept(0, 1);
  sequences.accept(2, 1);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 1}});
  CHECK(sequences.cache().length(1) == 0);
  CHECK(sequences.history(1).size() == 64);
  CHECK(sequences.cache().length(2) == 64);
}

TEST_CASE("a sequence without room even alone is planned, so that the generator ends it", "[generate][scheduler]") {
  auto sequences = sequences_of(1, {64});
  const Scheduler scheduler(64, 64);
  (void)step(scheduler, sequences);
  sequences.accept(0, 1);
  StepPlan plan;
  scheduler.plan(sequences, plan);
  CHECK(parts_of(plan) == std::vector<Part>{{0, 1}});
}

TEST_CASE("no sequence plans for a block that another one adopts", "[generate][scheduler]") {
  Paged sequences(
      PagedCache<float>(CacheShape(1, LayerShape{1, 2}), 2, 2, block, std::numeric_limits<Position>::max(), true), 100);
  const Scheduler scheduler(128, 128);
  const auto run = [&](std::size_t size, Token token) {
    const SequenceId id = sequences.open();
    sequences.append(id, std::vector<Token>(size, token));
    sequences.run(id, 100);
    return id;
  };
  const SequenceId released = run(65, 7);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{released, 65}});
  sequences.publish(released);
  sequences.release(released);
  const SequenceId first = run(64, 5);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{first, 64}});
  sequences.accept(first, 5);
  const SequenceId second = run(70, 7);  // the block that is left begins like this
  CHECK(step(scheduler, sequences) == std::vector<Part>{{first, 1}});
  CHECK(sequences.waits(second));
  CHECK(sequences.adopted(second) == 0);
}

TEST_CASE("a sequence that was evicted adopts what is left of it", "[generate][scheduler]") {
  Paged sequences(
      PagedCache<float>(CacheShape(1, LayerShape{1, 2}), 2, 4, block, std::numeric_limits<Position>::max(), true), 100);
  const Scheduler scheduler(256, 256);
  for (const Token token : {5, 7}) {
    const SequenceId id = sequences.open();
    sequences.append(id, std::vector<Token>(128, token));
    sequences.run(id, 100);
  }
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 128}, {1, 128}});
  sequences.publish(1);
  sequences.accept(0, 5);
  sequences.accept(1, 7);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{0, 1}});  // takes the last block of the other one
  CHECK(sequences.waits(1));
  sequences.stop(0);
  CHECK(step(scheduler, sequences) == std::vector<Part>{{1, 64 + 1}});
  CHECK(sequences.adopted(1) == 64);
}
