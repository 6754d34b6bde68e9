// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/generator.hpp>

#include <algorithm>
#include <atomic>
#include <catch2/catch_all.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/model/weight_loader.hpp>
#include <tulle/sampling/constraint.hpp>
#include <tulle/sampling/sampler_chain.hpp>

#include "unit/format/file_builder.hpp"
#include "unit/generate/allocations.hpp"
#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using test::error_of;
using testing::finish_sequence;

namespace {

using Contiguous = Generator<DenseF32, ContiguousCache<float>, SamplerChain>;
using Paged = Generator<DenseF32, PagedCache<float>, SamplerChain>;
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

/// So many blocks of 64 positions for all sequences.
Paged paged(std::size_t blocks) {
  return {parts().architecture, parts().weights, one_thread(), PagedCache<float>(parts().shape, 4, blocks), 16};
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

/// Each token is, modulo 7, one more than the sum of those that were generated before.
class SumState final : public ConstraintState {
 public:
  std::unique_ptr<ConstraintState> clone() const override { return std::make_unique<SumState>(*this); }
  bool accept(Token token) noexcept override {
    if (token % 7 != wanted()) return false;
    accepted_.push_back(token);
    return true;
  }
  void rollback(std::size_t tokens) noexcept override { accepted_.resize(accepted_.size() - tokens); }
  std::span<const std::uint32_t> allowed() noexcept override {
    bits_.assign(4, 0);
    for (Token token = wanted(); token < 100; token += 7) {
      bits_[static_cast<std::size_t>(token) / 32] |= std::uint32_t{1} << (token % 32);
    }
    return bits_;
  }

 private:
  Token wanted() const noexcept { return (std::accumulate(accepted_.begin(), accepted_.end(), Token{0}) + 1) % 7; }
  std::vector<Token> accepted_;
  std::vector<std::uint32_t> bits_;
};

class Sums final : public Constraint {
 public:
  std::unique_ptr<ConstraintState> begin(std::span<const Token>) const override { return std::make_unique<SumState>(); }
};

SamplerChain constrained_sampling() {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 1.5f;
  options.constraint = std::make_shared<Sums>();
  return SamplerChain(options);
}

std::vector<Token> prompt(std::size_t size = 12, std::uint32_t seed = 40) {
  return testing::random_tokens(size, 100, seed);
}

/// One step; whether another one is due.
template <class AnyGenerator, class Each>
bool step(AnyGenerator& generator, Each&& each, const LogitsObserver& observe = {}) {
  for (const Emission& emission : generator.step(generator.plan(), observe).emissions) each(emission);
  return generator.running();
}

/// An open copy of a sequence.
template <class AnyGenerator>
SequenceId copy_of(AnyGenerator& generator, SequenceId from) {
  const SequenceId copy = generator.sequences().open();
  generator.sequences().fork(from, copy);
  return copy;
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
  const auto history = generator.sequences().history(id);
  CHECK(std::vector<Token>(history.begin(), history.end()) == text);
}

TEST_CASE("no token is generated where none is asked for", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(0));
  const auto found = finish_sequence(generator, id);
  CHECK(found.tokens.empty());
  CHECK(found.finish == FinishReason::length);
  CHECK(generator.cache().length(id) == 12);
  CHECK(generator.sequences().history(id).size() == 12);
  // What was only read goes on like a prompt in one piece.
  generator.sequences().append(id, prompt(3, 7));
  generator.run(id, SamplerChain(), at_most(5));
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
  CHECK(generator.sequences().history(id).back() == all[4]);
  options.ignore_eos = true;
  CHECK(finish_sequence(generator, generator.start(prompt(), SamplerChain(), options)).tokens == all);
}

TEST_CASE("a full cache ends a sequence; the last token needs no place", "[generate][generator]") {
  Contiguous generator = contiguous(20);
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(100));
  const auto found = finish_sequence(generator, id);
  CHECK(found.tokens.size() == 9);
  CHECK(found.finish == FinishReason::capacity);
  CHECK(error_of([&] { generator.run(id, SamplerChain(), at_most(1)); }) == ErrorCode::capacity);
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
  while (step(generator, [&](const Emission& emission) {
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
  while (step(generator, [&](const Emission& emission) {
    found.push_back(emission.token);
    if (found.size() == 7) generator.sequences().stop(emission.sequence);
  })) {
  }
  CHECK(found.size() == 7);
  generator.run(id, sampling(), at_most(13));
  CHECK(joined(found, finish_sequence(generator, id).tokens) == all);
}

TEST_CASE("appending to a session gives what its whole text gives", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(6));
  auto text = joined(prompt(), finish_sequence(generator, id).tokens);
  const auto more = prompt(9, 41);
  generator.sequences().append(id, more);
  generator.run(id, sampling(), at_most(8));
  const auto found = finish_sequence(generator, id).tokens;
  text = joined(text, more);
  const SequenceId fresh = generator.start(text, sampling(), at_most(8));
  CHECK(finish_sequence(generator, fresh).tokens == found);
}

TEST_CASE("forks go their own ways", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(5));
  const auto begin = finish_sequence(generator, id).tokens;
  const SequenceId copy = copy_of(generator, id);
  CHECK_FALSE(generator.running());
  generator.sequences().append(id, prompt(3, 42));
  generator.run(id, sampling(), at_most(5));
  const auto one = finish_sequence(generator, id).tokens;
  generator.sequences().append(copy, prompt(3, 43));
  generator.run(copy, sampling(), at_most(5));
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
  generator.sequences().truncate(id, 12 + 8);
  CHECK(generator.sequences().history(id).size() == 20);
  generator.run(id, sampling(), at_most(12));
  CHECK(finish_sequence(generator, id).tokens == std::vector<Token>(all.begin() + 8, all.end()));
  generator.sequences().truncate(id, 1000);
  CHECK(generator.sequences().history(id).size() == 32);
  generator.sequences().truncate(id, 0);
  CHECK(generator.sequences().history(id).empty());
  CHECK(error_of([&] { generator.run(id, sampling(), at_most(1)); }) == ErrorCode::invalid_argument);
  generator.sequences().append(id, prompt());
  generator.run(id, sampling(), at_most(20));
  CHECK(finish_sequence(generator, id).tokens == all);
}

TEST_CASE("a saved sequence goes on in another generator", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(6));
  const auto first = finish_sequence(generator, id).tokens;
  std::vector<Token> tokens;
  std::vector<std::byte> state;
  generator.sequences().save(id, tokens, state);
  CHECK(tokens == joined(prompt(), first));
  generator.run(id, sampling(), at_most(6));
  const auto wanted = finish_sequence(generator, id).tokens;
  Contiguous other = contiguous(64, 5);
  const SequenceId restored = other.sequences().restore(tokens, state);
  other.run(restored, sampling(), at_most(6));
  CHECK(finish_sequence(other, restored).tokens == wanted);
}

TEST_CASE("a saved state that does not fit is malformed and takes no slot", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId id = generator.start(prompt(), sampling(), at_most(6));
  (void)finish_sequence(generator, id);
  std::vector<Token> tokens;
  std::vector<std::byte> state;
  generator.sequences().save(id, tokens, state);
  Contiguous other = contiguous(128, 16, 0, 1);
  const std::span<const std::byte> whole(state);
  CHECK(error_of([&] { (void)other.sequences().restore(tokens, whole.first(state.size() - 1)); }) ==
        ErrorCode::malformed);
  CHECK(error_of([&] { (void)other.sequences().restore(tokens, {}); }) == ErrorCode::malformed);
  CHECK(error_of([&] { (void)other.sequences().restore(std::span(tokens).first(3), whole); }) == ErrorCode::malformed);
  auto wrong = tokens;
  wrong[2] = 100;
  CHECK(error_of([&] { (void)other.sequences().restore(wrong, whole); }) == ErrorCode::malformed);
  Contiguous narrow = contiguous(8);
  CHECK(error_of([&] { (void)narrow.sequences().restore(tokens, whole); }) == ErrorCode::malformed);
  CHECK(other.sequences().restore(tokens, whole) == 0);
  CHECK(error_of([&] { (void)other.sequences().restore(tokens, whole); }) == ErrorCode::capacity);
}

TEST_CASE("a window that has moved on: what was saved at its edge can still go on", "[generate][generator]") {
  Sliding generator = sliding();
  const SequenceId id = generator.start(prompt(60), sampling(), at_most(0));
  (void)finish_sequence(generator, id);
  std::vector<Token> tokens;
  std::vector<std::byte> state;
  generator.sequences().save(id, tokens, state);
  generator.run(id, sampling(), at_most(5));
  const auto wanted = finish_sequence(generator, id).tokens;
  Sliding other = sliding();
  const SequenceId restored = other.sequences().restore(tokens, state);
  other.run(restored, sampling(), at_most(5));
  int steps = 0;
  std::vector<Token> found;
  while (steps++ < 100 && step(other, [&](const Emission& emission) { found.push_back(emission.token); })) {
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
    generator.sequences().truncate(id, length);
    CHECK(generator.sequences().history(id).size() == length);
    generator.sequences().append(id, prompt(3, 45));
    generator.run(id, sampling(), at_most(4));
    const SequenceId fresh =
        generator.start(joined({text.begin(), text.begin() + static_cast<std::ptrdiff_t>(length)}, prompt(3, 45)),
                        sampling(), at_most(4));
    std::vector<std::vector<Token>> found(4);
    while (step(generator, [&](const Emission& emission) { found[emission.sequence].push_back(emission.token); })) {
    }
    CHECK(found[id].size() == 4);
    CHECK(found[id] == found[fresh]);
    generator.sequences().release(fresh);
  }
}

TEST_CASE("a flag cancels its sequences alone, which can go on afterwards", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto wanted = finish_sequence(generator, generator.start(prompt(), sampling(), at_most(20))).tokens;
  std::atomic<bool> cancel = false;
  SequenceOptions options = at_most(20);
  options.cancel = &cancel;
  const SequenceId id = generator.start(prompt(), sampling(), options);
  const SequenceId other = generator.start(prompt(5), sampling(), at_most(20));
  std::vector<Token> found;
  std::vector<FinishReason> reasons(4);
  while (step(generator, [&](const Emission& emission) {
    if (emission.sequence == id && emission.token >= 0) found.push_back(emission.token);
    if (found.size() == 6) cancel = true;
    reasons[emission.sequence] = emission.finish;
  })) {
  }
  CHECK(found.size() == 6);
  CHECK(reasons[id] == FinishReason::cancelled);
  CHECK(reasons[other] == FinishReason::length);
  CHECK(generator.sequences().history(other).size() == 25);
  CHECK_FALSE(generator.running());
  generator.run(id, sampling(), at_most(14));
  CHECK(joined(found, finish_sequence(generator, id).tokens) == wanted);
}

TEST_CASE("a flag set by another thread at any moment leaves a usable state", "[generate][generator]") {
  Contiguous generator = contiguous(512, 64);
  const auto text = prompt(400);
  const auto wanted = finish_sequence(generator, generator.start(text, sampling(), at_most(10))).tokens;
  std::size_t cancelled = 0;
  for (int round = 0; round < 12; ++round) {
    std::atomic<bool> cancel = false;
    SequenceOptions options = at_most(10);
    options.cancel = &cancel;
    const SequenceId id = generator.start(text, sampling(), options);
    std::thread watch([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
      cancel = true;
    });
    std::vector<Token> found;
    FinishReason reason = FinishReason::none;
    while (step(generator, [&](const Emission& emission) {
      if (emission.token >= 0) found.push_back(emission.token);
      reason = emission.finish;
    })) {
    }
    watch.join();
    CHECK((reason == FinishReason::cancelled || reason == FinishReason::length));
    cancelled += reason == FinishReason::cancelled ? 1 : 0;
    CHECK(generator.sequences().history(id).size() == text.size() + found.size());
    CHECK(generator.cache().length(id) <= generator.sequences().history(id).size());
    if (found.size() < 10) {
      generator.run(id, sampling(), at_most(10 - found.size()));
      found = joined(found, finish_sequence(generator, id).tokens);
    }
    CHECK(found == wanted);
    generator.sequences().release(id);
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
  while (step(
      generator,
      [&](const Emission& emission) {
        double sum = 0;
        for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
        const double wanted = logits[static_cast<std::size_t>(emission.token)] - std::log(sum);
        CHECK(std::fabs(emission.log_probability - wanted) < 1e-5);
        ++checked;
      },
      [&](SequenceId, Position, std::span<const float> row) { logits.assign(row.begin(), row.end()); })) {
  }
  CHECK(checked == 12);
  CHECK(generator.sequences().history(id).size() == 24);
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
    all.sequences().release(free);
    limited.sequences().release(bound);
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
  CHECK(error_of([&] { generator.run(id, SamplerChain(), {}); }) == ErrorCode::state);
  CHECK(error_of([&] { generator.sequences().truncate(id, 3); }) == ErrorCode::state);
  (void)finish_sequence(generator, id);
  const auto length = generator.sequences().history(id).size();
  CHECK(error_of([&] { generator.sequences().append(id, std::vector<Token>{1, 2, -5}); }) ==
        ErrorCode::invalid_argument);
  CHECK(error_of([&] { generator.sequences().append(id, prompt(128)); }) == ErrorCode::capacity);
  CHECK(generator.sequences().history(id).size() == length);
  CHECK_FALSE(generator.running());
  (void)copy_of(generator, id);
  CHECK(error_of([&] { (void)generator.start(prompt(), SamplerChain(), {}); }) == ErrorCode::capacity);
  CHECK(error_of([&] { (void)copy_of(generator, id); }) == ErrorCode::capacity);
  for (const SequenceId unknown : {SequenceId{2}, std::numeric_limits<SequenceId>::max()}) {
    CHECK(error_of([&] { generator.sequences().append(unknown, prompt()); }) == ErrorCode::state);
    CHECK(error_of([&] { (void)generator.sequences().history(unknown); }) == ErrorCode::state);
    generator.sequences().stop(unknown);
    generator.sequences().release(unknown);
    CHECK(error_of([&] { generator.sequences().truncate(unknown, 0); }) == ErrorCode::state);
    CHECK(error_of([&] { generator.sequences().fork(unknown, id); }) == ErrorCode::state);
  }
  generator.sequences().release(id);
  CHECK(error_of([&] { (void)generator.sequences().history(id); }) == ErrorCode::state);
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
  busy.step(busy.plan());
  CHECK(finish_sequence(busy, busy.start(text, sampling(), options)).tokens == wanted);
}

TEST_CASE("streams and seeds draw differently", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto draw = [&](std::uint64_t seed, std::uint64_t stream) {
    SequenceOptions options = at_most(25);
    options.seed = seed;
    options.rng_stream = stream;
    const SequenceId id = generator.start(prompt(), sampling(), options);
    const auto tokens = finish_sequence(generator, id).tokens;
    generator.sequences().release(id);
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
  while (step(
      generator, [](const Emission&) {},
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
  while (step(generator, [&](const Emission& emission) { found[emission.sequence].push_back(emission.token); })) {
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
    for (int i = 0; i < 6; ++i) any.step(any.plan());
    const std::size_t before = testing::allocations;
    for (int i = 0; i < 40; ++i) any.step(any.plan());
    return testing::allocations - before;
  };
  CHECK(count(generator) == 0);
  CHECK(count(endless) == 0);
}

TEST_CASE("an unbounded number of tokens reserves no unbounded memory", "[generate][generator]") {
  for (const std::size_t most : {std::size_t{1} << 33, std::numeric_limits<std::size_t>::max()}) {
    Sliding generator = sliding();
    const SequenceId id = generator.start(prompt(), sampling(), at_most(most));
    for (int i = 0; i < 5; ++i) generator.step(generator.plan());
    CHECK(generator.sequences().history(id).size() == 17);
  }
}

namespace {

/// Guesses `size` tokens of the text that is known, the first `right` of them rightly.
struct Drafter {
  std::vector<Token> text;
  std::size_t right, size;

  std::vector<Token> operator()(std::size_t generated) const {
    std::vector<Token> draft;
    for (std::size_t i = 0; i < size && generated + i < text.size(); ++i) {
      const Token token = text[generated + i];
      draft.push_back(i < right ? token : (token + 1) % 100);
    }
    return draft;
  }
};

struct Drafted {
  testing::Generated generated;
  std::size_t steps = 0;
};

template <class AnyGenerator>
Drafted with_draft(AnyGenerator& generator, std::span<const Token> prompt, const SamplerChain& sampler,
                   const SequenceOptions& options, const Drafter& drafter) {
  const SequenceId id = generator.start(prompt, sampler, options);
  Drafted result;
  while (generator.running()) {
    generator.sequences().draft(id, drafter(result.generated.tokens.size()));
    result.generated.take(generator.step(generator.plan()), id);
    ++result.steps;
    CHECK(generator.sequences().history(id).size() == prompt.size() + result.generated.tokens.size());
    CHECK(generator.cache().length(id) <= generator.sequences().history(id).size());
  }
  // What the cache holds is what the history says.
  generator.run(id, sampler, options);
  const auto more = finish_sequence(generator, id).tokens;
  result.generated.tokens.insert(result.generated.tokens.end(), more.begin(), more.end());
  generator.sequences().release(id);
  return result;
}

template <class AnyGenerator>
void check_drafts(AnyGenerator& generator, const std::vector<Token>& text) {
  for (const bool draws : {false, true}) {
    SequenceOptions options = at_most(20);
    options.seed = 9;
    options.log_probabilities = true;
    const SamplerChain sampler = draws ? sampling() : SamplerChain();
    const auto plain = with_draft(generator, text, sampler, options, {{}, 0, 0});
    CHECK(plain.generated.tokens.size() == 40);
    for (const std::size_t right : {0, 1, 3, 5}) {
      CAPTURE(draws, right);
      const auto drafted = with_draft(generator, text, sampler, options, {plain.generated.tokens, right, 5});
      CHECK(drafted.generated.tokens == plain.generated.tokens);
      CHECK(testing::same_bits(drafted.generated.log_probabilities, plain.generated.log_probabilities));
      CHECK(drafted.generated.finish == FinishReason::length);
      if (right == 0) CHECK(drafted.steps == plain.steps);
      if (right == 5) CHECK(drafted.steps < plain.steps / 2);
    }
  }
}

}  // namespace

TEST_CASE("right, wrong and partly right drafts give the text without a draft", "[generate][generator]") {
  Contiguous one = contiguous();
  check_drafts(one, prompt());
  Paged two = paged(8);
  check_drafts(two, prompt(60));
  Sliding three = sliding();
  check_drafts(three, prompt(60));
}

TEST_CASE("an eos token in the middle of a right draft ends the text", "[generate][generator]") {
  Contiguous generator = contiguous();
  const auto all = finish_sequence(generator, generator.start(prompt(), SamplerChain(), at_most(20))).tokens;
  SequenceOptions options = at_most(20);
  options.eos = {all[7]};
  const auto plain = finish_sequence(generator, generator.start(prompt(), SamplerChain(), options)).tokens;
  const SequenceId id = generator.start(prompt(), SamplerChain(), options);
  testing::Generated found;
  while (generator.running()) {
    generator.sequences().draft(id, Drafter{all, 6, 6}(found.tokens.size()));
    found.take(generator.step(generator.plan()), id);
  }
  CHECK(found.tokens == plain);
  CHECK(found.finish == FinishReason::stop);
  CHECK(generator.sequences().history(id).size() == 12 + plain.size());
}

TEST_CASE("a draft ends where the cache does", "[generate][generator]") {
  Contiguous generator = contiguous(20);
  const auto plain = finish_sequence(generator, generator.start(prompt(), SamplerChain(), at_most(100))).tokens;
  const SequenceId id = generator.start(prompt(), SamplerChain(), at_most(100));
  testing::Generated found;
  while (generator.running()) {
    generator.sequences().draft(id, Drafter{plain, 6, 6}(found.tokens.size()));
    found.take(generator.step(generator.plan()), id);
  }
  CHECK(found.tokens == plain);
  CHECK(found.finish == FinishReason::capacity);
}

TEST_CASE("sequences that are preempted for others give the text they give alone", "[generate][generator]") {
  const auto chain = GENERATE(&sampling, &constrained_sampling);
  Paged generator = paged(4);  // 256 positions; the four texts have 548
  std::vector<SequenceId> ids;
  std::vector<testing::Generated> found(4);
  const std::vector<std::size_t> prompts{60, 70, 50, 8};
  for (std::uint32_t i = 0; i < 4; ++i) {
    SequenceOptions options = at_most(90);
    options.rng_stream = i;
    ids.push_back(generator.start(prompt(prompts[i], 50 + i), chain(), options));
  }
  std::size_t steps = 0;
  while (generator.running()) {
    const StepReport report = generator.step(generator.plan());
    for (std::uint32_t i = 0; i < 4; ++i) found[i].take(report, ids[i]);
    REQUIRE(++steps < 2000);
  }
  CHECK(generator.sequences().preemptions() > 0);
  for (std::uint32_t i = 0; i < 4; ++i) {
    SequenceOptions options = at_most(90);
    options.rng_stream = i;
    Contiguous alone = contiguous(200);
    CHECK(finish_sequence(alone, alone.start(prompt(prompts[i], 50 + i), chain(), options)).tokens == found[i].tokens);
    CHECK(found[i].finish == FinishReason::length);
    SumState rules;
    const auto follows = [&](Token token) { return rules.accept(token); };
    CHECK(std::all_of(found[i].tokens.begin(), found[i].tokens.end(), follows) == (chain == &constrained_sampling));
  }
}

TEST_CASE("a sequence whose cache was given to another goes on from its history", "[generate][generator]") {
  Paged generator = paged(2);
  const SequenceId kept = generator.start(prompt(60), sampling(), at_most(4));
  auto text = finish_sequence(generator, kept).tokens;
  const SequenceId other = generator.start(prompt(90), sampling(), at_most(10));
  CHECK(finish_sequence(generator, other).tokens.size() == 10);
  CHECK(generator.cache().length(kept) == 0);
  CHECK(generator.sequences().preemptions() == 0);  // it did not run
  CHECK(generator.sequences().history(kept).size() == 64);
  generator.run(kept, sampling(), at_most(6));
  text = joined(text, finish_sequence(generator, kept).tokens);
  Contiguous alone = contiguous();
  CHECK(finish_sequence(alone, alone.start(prompt(60), sampling(), at_most(10))).tokens == text);
}

TEST_CASE("the logits of a prompt are observed once, also where it is preempted", "[generate][generator]") {
  Paged generator = paged(3);
  (void)generator.start(prompt(30), SamplerChain(), at_most(60));
  SequenceOptions options = at_most(10);
  options.prompt_logits = true;
  const SequenceId id = generator.start(prompt(120, 51), SamplerChain(), options);
  std::vector<Position> seen;
  bool waited = false;
  while (step(
      generator, [](const Emission&) {},
      [&](SequenceId of, Position position, std::span<const float>) {
        if (of == id) seen.push_back(position);
      })) {
    waited = waited || generator.sequences().waits(id);
  }
  CHECK(waited);
  REQUIRE(seen.size() == 129);
  for (Position position = 0; position < 129; ++position) CHECK(seen[position] == position);
}

TEST_CASE("room for the logits of a prompt is given back", "[generate][generator]") {
  Contiguous generator = contiguous(128, 64);
  const auto workspace = [&] { return generator.memory_bytes() - generator.cache().size_bytes(); };
  const std::size_t before = workspace();
  SequenceOptions options = at_most(3);
  options.prompt_logits = true;
  const SequenceId id = generator.start(prompt(60), SamplerChain(), options);
  CHECK(workspace() >= before + 60 * 100 * sizeof(float));
  generator.step(generator.plan());
  CHECK(generator.sequences().is_running(id));
  CHECK(workspace() == before);
  CHECK(finish_sequence(generator, id).tokens.size() == 2);
  const SequenceId other = generator.start(prompt(100), SamplerChain(), options);
  generator.step(generator.plan());
  CHECK(workspace() > before);
  generator.sequences().release(other);
  generator.step(generator.plan());
  CHECK(workspace() == before);
}

TEST_CASE("rows of a plan that has become old are left out", "[generate][generator]") {
  Contiguous generator = contiguous();
  const SequenceId one = generator.start(prompt(), SamplerChain(), at_most(5));
  const SequenceId two = generator.start(prompt(3), SamplerChain(), at_most(5));
  const StepPlan plan = generator.plan();
  generator.sequences().release(one);
  const StepReport report = generator.step(plan);
  CHECK(report.rows == 3);
  REQUIRE(report.emissions.size() == 1);
  CHECK(report.emissions.front().sequence == two);
}
