// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/generator.hpp>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <thread>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/model/weight_loader.hpp>
#include <tulle/sampling/sampler_chain.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

namespace {

std::atomic<std::size_t> allocations = 0;

}  // namespace

// Counts what this program allocates; everything else is as it was.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

using namespace tulle;
using test::error_of;
using testing::finish_sequence;

namespace {

using Contiguous = Generator<DenseF32, ContiguousCache<float>, SamplerChain>;
using Sliding = Generator<DenseF32, SlidingCache<float>, SamplerChain>;

/// A random llama of 100 tokens.
struct Parts {
  Architecture architecture = describe_model(testing::llama_config(), "config.json");
  ModelWeights<DenseF32> weights = load_weights<DenseF32>(testing::random_tensors(architecture), architecture);
  CacheShape shape = cache_shape(architecture);
};

const Parts& parts() {
  static const Parts all;
  return all;
}

ThreadPool& one_thread() {
  static ThreadPool pool(1);
  return pool;
}

Contiguous contiguous(Position capacity = 128, std::size_t chunk = 16, std::size_t vocabulary = 0,
                      std::size_t sequences = 4, ThreadPool& pool = one_thread()) {
  return {parts().architecture,
          parts().weights,
          pool,
          ContiguousCache<float>(parts().shape, sequences, capacity),
          chunk,
          vocabulary};
}

Sliding sliding(Position window = 32, std::size_t chunk = 16) {
  return {parts().architecture, parts().weights, one_thread(),
          SlidingCache<float>(parts().shape, 4, window, 4, static_cast<Position>(chunk)), chunk};
}

SequenceOptions at_most(std::size_t tokens) {
  SequenceOptions options;
  options.max_new_tokens = tokens;
  return options;
}

/// Draws from everything, so that a change of one bit would show.
SamplerChain sampling() {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 1.5f;
  return SamplerChain(options);
}

std::vector<Token> prompt(std::size_t size = 12, std::uint32_t seed = 40) {
  return testing::random_tokens(size, 100, seed);
}

std::vector<Token> joined(std::vector<Token> first, const std::vector<Token>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

TEST_CASE("greedy tokens are those of the largest logits of the text so far", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(10));
  const auto found = finish_sequence(generator, id);
  REQUIRE(found.tokens.size() == 10);
  CHECK(found.finish == FinishReason::length);
  std::vector<Token> text = prompt();
  for (const Token token : found.tokens) {
    Contiguous fresh = contiguous();
    const SequenceId once = fresh.start(text, SamplerChain(), at_most(1));
    CHECK(finish_sequence(fresh, once).tokens == std::vector<Token>{token});
    text.push_back(token);
  }
  const auto history = generator.history(id);
  CHECK(std::vector<Token>(history.begin(), history.end()) == text);
}

TEST_CASE("no token is generated where none is asked for", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(0));
  const auto found = finish_sequence(generator, id);
  CHECK(found.tokens.empty());
  CHECK(found.finish == FinishReason::length);
  CHECK(generator.cache().length(id) == 12);
  CHECK(generator.history(id).size() == 12);
  // What was only read goes on like a prompt in one piece.
  generator.resume(id, prompt(3, 7), SamplerChain(), at_most(5));
  Contiguous fresh = contiguous();
  const SequenceId whole = fresh.start(joined(prompt(), prompt(3, 7)), SamplerChain(), at_most(5));
  CHECK(finish_sequence(generator, id).tokens == finish_sequence(fresh, whole).tokens);
}

TEST_CASE("any of the eos tokens ends a sequence and is part of it", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto all = finish_sequence(generator, generator.start(prompt(), SamplerChain(), at_most(10))).tokens;
  const auto first = static_cast<std::size_t>(std::find(all.begin(), all.end(), all[4]) - all.begin());
  SequenceOptions options = at_most(10);
  options.eos = {99, all[4], 98};
  const SequenceId id = generator.start(prompt(), SamplerChain(), options);
  const auto found = finish_sequence(generator, id);
  CHECK(found.tokens == std::vector<Token>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first) + 1));
  CHECK(found.finish == FinishReason::stop);
  CHECK(generator.history(id).back() == all[4]);
  options.ignore_eos = true;
  CHECK(finish_sequence(generator, generator.start(prompt(), SamplerChain(), options)).tokens == all);
}

TEST_CASE("a full cache ends a sequence; the last token needs no place", "[generate][generator]") {
  Contiguous generator = contiguous(20);
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(100));
  const auto found = finish_sequence(generator, id);
  CHECK(found.tokens.size() == 9);
  CHECK(found.finish == FinishReason::capacity);
  CHECK(error_of([&] { generator.resume(id, {}, SamplerChain(), at_most(1)); }) == ErrorCode::capacity);
  const SequenceId whole = generator.start(prompt(20), SamplerChain(), at_most(100));
  CHECK(finish_sequence(generator, whole).tokens.size() == 1);
  CHECK(error_of([&] { (void)generator.start(prompt(21), SamplerChain(), at_most(1)); }) == ErrorCode::capacity);
}

TEST_CASE("a cache that is full in the middle of the batch ends that sequence alone", "[generate][generator]") {
  Contiguous generator = contiguous(20);
  const SequenceId full = generator.start(prompt(18), SamplerChain(), at_most(100));
  const SequenceId other = generator.start(prompt(3), SamplerChain(), at_most(6));
  std::vector<FinishReason> reasons(4);
  std::vector<std::size_t> tokens(4);
  while (generator.step([&](const Emission& emission) {
    tokens[emission.sequence] += emission.token >= 0 ? 1 : 0;
    reasons[emission.sequence] = emission.finish;
  })) {
  }
  CHECK(reasons[full] == FinishReason::capacity);
  CHECK(tokens[full] == 3);
  CHECK(reasons[other] == FinishReason::length);
  CHECK(tokens[other] == 6);
}

TEST_CASE("a stopped sequence resumes as if it had gone on", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto all = finish_sequence(generator, generator.start(prompt(), sampling(), at_most(20))).tokens;
  const SequenceId id = generator.start(prompt(), sampling(), at_most(20));
  std::vector<Token> found;
  while (generator.step([&](const Emission& emission) {
    found.push_back(emission.token);
    if (found.size() == 7) generator.stop(emission.sequence);
  })) {
  }
  CHECK(found.size() == 7);
  generator.resume(id, {}, sampling(), at_most(13));
  CHECK(joined(found, finish_sequence(generator, id).tokens) == all);
}

TEST_CASE("appending to a session gives what its whole text gives", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(6));
  auto text = joined(prompt(), finish_sequence(generator, id).tokens);
  const auto more = prompt(9, 41);
  generator.resume(id, more, sampling(), at_most(8));
  const auto found = finish_sequence(generator, id).tokens;
  text = joined(text, more);
  const SequenceId fresh = generator.start(text, sampling(), at_most(8));
  CHECK(finish_sequence(generator, fresh).tokens == found);
}

TEST_CASE("forks go their own ways", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(5));
  const auto begin = finish_sequence(generator, id).tokens;
  const SequenceId copy = generator.fork(id);
  CHECK_FALSE(generator.running());
  generator.resume(id, prompt(3, 42), sampling(), at_most(5));
  const auto one = finish_sequence(generator, id).tokens;
  generator.resume(copy, prompt(3, 43), sampling(), at_most(5));
  const auto other = finish_sequence(generator, copy).tokens;
  const auto fresh = [&](std::uint32_t seed) {
    Contiguous alone = contiguous();
    return finish_sequence(alone, alone.start(joined(joined(prompt(), begin), prompt(3, seed)), sampling(), at_most(5)))
        .tokens;
  };
  CHECK(one == fresh(42));
  CHECK(other == fresh(43));
}

TEST_CASE("a truncated sequence has forgotten what followed", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(20));
  const auto all = finish_sequence(generator, id).tokens;
  generator.truncate(id, 12 + 8);
  CHECK(generator.history(id).size() == 20);
  generator.resume(id, {}, sampling(), at_most(12));
  CHECK(finish_sequence(generator, id).tokens == std::vector<Token>(all.begin() + 8, all.end()));
  generator.truncate(id, 1000);
  CHECK(generator.history(id).size() == 32);
  generator.truncate(id, 0);
  CHECK(generator.history(id).empty());
  CHECK(error_of([&] { generator.resume(id, {}, sampling(), at_most(1)); }) == ErrorCode::invalid_argument);
  generator.resume(id, prompt(), sampling(), at_most(20));
  CHECK(finish_sequence(generator, id).tokens == all);
}

TEST_CASE("a saved sequence goes on in another generator", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(6));
  const auto first = finish_sequence(generator, id).tokens;
  std::vector<Token> tokens;
  std::vector<std::byte> state;
  generator.save(id, tokens, state);
  CHECK(tokens == joined(prompt(), first));
  generator.resume(id, {}, sampling(), at_most(6));
  const auto wanted = finish_sequence(generator, id).tokens;
  Contiguous other = contiguous(64, 5);
  const SequenceId restored = other.restore(tokens, state);
  other.resume(restored, {}, sampling(), at_most(6));
  CHECK(finish_sequence(other, restored).tokens == wanted);
}

TEST_CASE("a saved state that does not fit is malformed and takes no slot", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(6));
  (void)finish_sequence(generator, id);
  std::vector<Token> tokens;
  std::vector<std::byte> state;
  generator.save(id, tokens, state);
  Contiguous other = contiguous(128, 16, 0, 1);
  const std::span<const std::byte> whole(state);
  CHECK(error_of([&] { (void)other.restore(tokens, whole.first(state.size() - 1)); }) == ErrorCode::malformed);
  CHECK(error_of([&] { (void)other.restore(tokens, {}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { (void)other.restore(std::span(tokens).first(3), whole); }) == ErrorCode::malformed);
  auto wrong = tokens;
  wrong[2] = 100;
  CHECK(error_of([&] { (void)other.restore(wrong, whole); }) == ErrorCode::malformed);
  Contiguous narrow = contiguous(8);
  CHECK(error_of([&] { (void)narrow.restore(tokens, whole); }) == ErrorCode::malformed);
  CHECK(other.restore(tokens, whole) == 0);
  CHECK(error_of([&] { (void)other.restore(tokens, whole); }) == ErrorCode::capacity);
}

TEST_CASE("a window that has moved on: what was saved at its edge can still go on", "[generate][generator]") {
  Sliding generator = sliding();
  const SequenceId id = generator.start(prompt(60), sampling(), at_most(0));
  (void)finish_sequence(generator, id);
  std::vector<Token> tokens;
  std::vector<std::byte> state;
  generator.save(id, tokens, state);
  generator.resume(id, {}, sampling(), at_most(5));
  const auto wanted = finish_sequence(generator, id).tokens;
  Sliding other = sliding();
  const SequenceId restored = other.restore(tokens, state);
  other.resume(restored, {}, sampling(), at_most(5));
  int steps = 0;
  std::vector<Token> found;
  while (steps++ < 100 && other.step([&](const Emission& emission) { found.push_back(emission.token); })) {
  }
  CHECK(steps <= 100);
  CHECK(found == wanted);
}

TEST_CASE("a text that is rolled back beyond its window is run anew", "[generate][generator]") {
  Sliding generator = sliding();
  const auto text = prompt(120);
  const SequenceId id = generator.start(text, sampling(), at_most(0));
  (void)finish_sequence(generator, id);
  for (const std::size_t length : {110, 50}) {
    generator.truncate(id, length);
    CHECK(generator.history(id).size() == length);
    generator.resume(id, prompt(3, 45), sampling(), at_most(4));
    const SequenceId fresh =
        generator.start(joined({text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)}, prompt(3, 45)),
                        sampling(), at_most(4));
    std::vector<std::vector<Token>> found(4);
    while (generator.step([&](const Emission& emission) { found[emission.sequence].push_back(emission.token); })) {
    }
    CHECK(found[id].size() == 4);
    CHECK(found[id] == found[fresh]);
    generator.remove(fresh);
  }
}

TEST_CASE("a flag cancels all sequences, which can go on afterwards", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto wanted = finish_sequence(generator, generator.start(prompt(), sampling(), at_most(20))).tokens;
  const SequenceId id = generator.start(prompt(), sampling(), at_most(20));
  const SequenceId other = generator.start(prompt(5), sampling(), at_most(20));
  std::atomic<bool> cancel = false;
  std::vector<Token> found;
  std::vector<FinishReason> reasons(4);
  while (generator.step(
      [&](const Emission& emission) {
        if (emission.sequence == id && emission.token >= 0) found.push_back(emission.token);
        if (found.size() == 6) cancel = true;
        reasons[emission.sequence] = emission.finish;
      },
      &cancel)) {
  }
  CHECK(found.size() == 6);
  CHECK(reasons[id] == FinishReason::cancelled);
  CHECK(reasons[other] == FinishReason::cancelled);
  CHECK_FALSE(generator.running());
  generator.resume(id, {}, sampling(), at_most(14));
  CHECK(joined(found, finish_sequence(generator, id).tokens) == wanted);
}

TEST_CASE("a flag set by another thread at any moment leaves a usable state", "[generate][generator]") {
  Contiguous generator = contiguous(512, 64);
  const auto text = prompt(400);
  const auto wanted = finish_sequence(generator, generator.start(text, sampling(), at_most(10))).tokens;
  std::size_t cancelled = 0;
  for (int round = 0; round < 12; ++round) {
    const SequenceId id = generator.start(text, sampling(), at_most(10));
    std::atomic<bool> cancel = false;
    std::thread watch([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
      cancel = true;
    });
    std::vector<Token> found;
    FinishReason reason = FinishReason::none;
    while (generator.step(
        [&](const Emission& emission) {
          if (emission.token >= 0) found.push_back(emission.token);
          reason = emission.finish;
        },
        &cancel)) {
    }
    watch.join();
    CHECK((reason == FinishReason::cancelled || reason == FinishReason::length));
    cancelled += reason == FinishReason::cancelled ? 1 : 0;
    CHECK(generator.history(id).size() == text.size() + found.size());
    CHECK(generator.cache().length(id) <= generator.history(id).size());
    if (found.size() < 10) {
      generator.resume(id, {}, sampling(), at_most(10 - found.size()));
      found = joined(found, finish_sequence(generator, id).tokens);
    }
    CHECK(found == wanted);
    generator.remove(id);
  }
  CHECK(cancelled > 0);
}

TEST_CASE("log probabilities are those of the raw logits, whatever the sampler does", "[generate][generator]") {
  Contiguous generator = contiguous();
  SamplingOptions changed;
  changed.do_sample = true;
  changed.temperature = 3;
  changed.top_k = 20;
  changed.repetition_penalty = 1.3f;
  SequenceOptions options = at_most(12);
  options.log_probabilities = true;
  const SequenceId id = generator.start(prompt(), SamplerChain(changed), options);
  std::vector<float> logits;
  std::size_t checked = 0;
  while (generator.step(
      [&](const Emission& emission) {
        double sum = 0;
        for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
        const double wanted = logits[static_cast<std::size_t>(emission.token)] - std::log(sum);
        CHECK(std::fabs(emission.log_probability - wanted) < 1e-5);
        ++checked;
      },
      nullptr, [&](SequenceId, Position, std::span<const float> row) { logits.assign(row.begin(), row.end()); })) {
  }
  CHECK(checked == 12);
  CHECK(generator.history(id).size() == 24);
}

TEST_CASE("log softmax stands large logits", "[generate][generator]") {
  const std::vector<float> logits{1000.0f, 1000.0f, -1000.0f};
  CHECK(std::fabs(log_probability(logits, 0) + std::log(2.0f)) < 1e-6f);
  CHECK(std::fabs(log_probability(logits, 2) + 2000.0f + std::log(2.0f)) < 1e-3f);
  CHECK(log_probability(std::vector<float>{5.0f}, 0) == 0.0f);
}

TEST_CASE("ids at or above the vocabulary limit are never sampled", "[generate][generator]") {
  Contiguous all = contiguous(), limited = contiguous(128, 16, 10);
  std::size_t beyond = 0;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    SequenceOptions options = at_most(60);
    options.seed = seed;
    const SequenceId free = all.start(prompt(), sampling(), options),
                     bound = limited.start(prompt(), sampling(), options);
    for (const Token token : finish_sequence(all, free).tokens) beyond += token >= 10 ? 1 : 0;
    for (const Token token : finish_sequence(limited, bound).tokens) CHECK((token >= 0 && token < 10));
    all.remove(free);
    limited.remove(bound);
  }
  CHECK(beyond > 0);
  const SequenceId greedy = limited.start(prompt(), SamplerChain(), at_most(30));
  for (const Token token : finish_sequence(limited, greedy).tokens) CHECK(token < 10);
}

TEST_CASE("tokens, prompts and slots that are wrong are errors and change nothing", "[generate][generator]") {
  Contiguous generator = contiguous(128, 16, 0, 2);
  for (const Token wrong : {-1, 100, std::numeric_limits<Token>::max(), std::numeric_limits<Token>::min()}) {
    CHECK(error_of([&] { (void)generator.start(std::vector<Token>{1, wrong}, SamplerChain(), {}); }) ==
          ErrorCode::invalid_argument);
  }
  CHECK(error_of([&] { (void)generator.start({}, SamplerChain(), {}); }) == ErrorCode::invalid_argument);
  CHECK_FALSE(generator.running());
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(3));
  CHECK(error_of([&] { generator.resume(id, {}, SamplerChain(), {}); }) == ErrorCode::state);
  CHECK(error_of([&] { generator.truncate(id, 3); }) == ErrorCode::state);
  (void)finish_sequence(generator, id);
  const auto length = generator.history(id).size();
  CHECK(error_of([&] { generator.resume(id, std::vector<Token>{1, 2, -5}, SamplerChain(), {}); }) ==
        ErrorCode::invalid_argument);
  CHECK(error_of([&] { generator.resume(id, prompt(128), SamplerChain(), {}); }) == ErrorCode::capacity);
  CHECK(generator.history(id).size() == length);
  CHECK_FALSE(generator.running());
  (void)generator.fork(id);
  CHECK(error_of([&] { (void)generator.start(prompt(), SamplerChain(), {}); }) == ErrorCode::capacity);
  CHECK(error_of([&] { (void)generator.fork(id); }) == ErrorCode::capacity);
  for (const SequenceId unknown : {SequenceId{2}, std::numeric_limits<SequenceId>::max()}) {
    CHECK(error_of([&] { generator.resume(unknown, prompt(), SamplerChain(), {}); }) == ErrorCode::state);
    CHECK(error_of([&] { (void)generator.history(unknown); }) == ErrorCode::state);
    generator.stop(unknown);
    generator.remove(unknown);
    CHECK(error_of([&] { generator.truncate(unknown, 0); }) == ErrorCode::state);
    CHECK(error_of([&] { (void)generator.fork(unknown); }) == ErrorCode::state);
  }
  generator.remove(id);
  CHECK(error_of([&] { (void)generator.history(id); }) == ErrorCode::state);
  CHECK(generator.start(prompt(), SamplerChain(), {}) == id);
  CHECK(error_of([] { (void)contiguous(128, 0); }) == ErrorCode::invalid_argument);
}

TEST_CASE("a seed gives one text, whatever the chunk, the threads and the neighbours", "[generate][generator]") {
  Contiguous generator = contiguous();
  SequenceOptions options = at_most(25);
  options.seed = 7;
  const auto text = prompt(33);
  const auto wanted = finish_sequence(generator, generator.start(text, sampling(), options)).tokens;
  for (const std::size_t chunk : {1, 4, 64}) {
    Contiguous other = contiguous(128, chunk);
    CHECK(finish_sequence(other, other.start(text, sampling(), options)).tokens == wanted);
  }
  ThreadPool pool(3);
  Contiguous threaded = contiguous(128, 16, 0, 4, pool);
  CHECK(finish_sequence(threaded, threaded.start(text, sampling(), options)).tokens == wanted);
  Contiguous busy = contiguous(128, 4);
  (void)busy.start(prompt(9), sampling(), at_most(50));
  (void)busy.start(prompt(40), sampling(), at_most(2));
  busy.step([](const Emission&) {});
  CHECK(finish_sequence(busy, busy.start(text, sampling(), options)).tokens == wanted);
}

TEST_CASE("streams and seeds draw differently", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto draw = [&](std::uint64_t seed, std::uint64_t stream) {
    SequenceOptions options = at_most(25);
    options.seed = seed;
    options.stream = stream;
    const SequenceId id = generator.start(prompt(), sampling(), options);
    const auto tokens = finish_sequence(generator, id).tokens;
    generator.remove(id);
    return tokens;
  };
  CHECK(draw(1, 0) == draw(1, 0));
  CHECK(draw(1, 0) != draw(1, 1));
  CHECK(draw(1, 0) != draw(2, 0));
}

TEST_CASE("the logits of prompts are shown to the observer where asked for, else only the last",
          "[generate][generator]") {
  Contiguous generator = contiguous();
  SequenceOptions with = at_most(3);
  with.prompt_logits = true;
  const SequenceId one = generator.start(prompt(20), SamplerChain(), with);
  const SequenceId two = generator.start(prompt(20), SamplerChain(), at_most(3));
  std::vector<std::vector<Position>> seen(4);
  std::vector<std::vector<float>> last(4);
  while (generator.step([](const Emission&) {}, nullptr,
                        [&](SequenceId id, Position position, std::span<const float> logits) {
                          seen[id].push_back(position);
                          if (position == 19) last[id].assign(logits.begin(), logits.end());
                        })) {
  }
  REQUIRE(seen[one].size() == 22);
  for (Position position = 0; position < 22; ++position) CHECK(seen[one][position] == position);
  CHECK(seen[two] == std::vector<Position>{19, 20, 21});
  CHECK(testing::same_bits(last[one], last[two]));
}

TEST_CASE("more sequences than rows of a chunk all advance", "[generate][generator]") {
  Contiguous generator = contiguous(64, 1, 0, 6);
  std::vector<std::vector<Token>> found(6);
  for (std::uint32_t i = 0; i < 6; ++i) (void)generator.start(prompt(4 + i, 50 + i), SamplerChain(), at_most(5));
  while (generator.step([&](const Emission& emission) { found[emission.sequence].push_back(emission.token); })) {
  }
  for (std::uint32_t i = 0; i < 6; ++i) {
    Contiguous alone = contiguous(64);
    CHECK(finish_sequence(alone, alone.start(prompt(4 + i, 50 + i), SamplerChain(), at_most(5))).tokens == found[i]);
  }
}

TEST_CASE("a step in the middle of a text allocates nothing", "[generate][generator]") {
  Contiguous generator = contiguous();
  Sliding endless = sliding();
  const auto count = [](auto& any) {
    SequenceOptions options = at_most(60);
    options.log_probabilities = true;
    options.eos = {99};
    options.ignore_eos = true;
    (void)any.start(prompt(40), sampling(), options);
    (void)any.start(prompt(7), SamplerChain(), options);
    for (int i = 0; i < 6; ++i) any.step([](const Emission&) {});
    const std::size_t before = allocations;
    for (int i = 0; i < 40; ++i) any.step([](const Emission&) {});
    return allocations - before;
  };
  CHECK(count(generator) == 0);
  CHECK(count(endless) == 0);
}

TEST_CASE("an unbounded number of tokens reserves no unbounded memory", "[generate][generator]") {
  for (const std::size_t most : {std::size_t{1} << 33, std::numeric_limits<std::size_t>::max()}) {
    Sliding generator = sliding();
    const SequenceId id = generator.start(prompt(), sampling(), at_most(most));
    for (int i = 0; i < 5; ++i) generator.step([](const Emission&) {});
    CHECK(generator.history(id).size() == 17);
  }
}
