// SPDX-License-Identifier: Apache-2.0
/// \file Texts are the same, bit for bit, whether prompts share what they begin with or not.
#include <algorithm>
#include <catch2/catch_all.hpp>
#include <limits>
#include <vector>

#include <tulle/cache/paged.hpp>
#include <tulle/core/rng.hpp>
#include <tulle/generate/requests.hpp>
#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/model/weight_loader.hpp>
#include <tulle/sampling/sampler_chain.hpp>

#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using testing::finish_sequence;

namespace {

using Paged = Generator<DenseF32, PagedCache<float>, SamplerChain>;
using Tokens = std::vector<Token>;

/// Six sequences of a random llama of 100 tokens, and so many blocks of 64 positions for all of them.
Paged paged(std::size_t blocks, bool share_prefixes = true) {
  static const Architecture architecture = describe_model(testing::llama_config(), "config.json");
  static const auto weights = load_weights<DenseF32>(testing::random_tensors(architecture), architecture);
  static ThreadPool pool(1);
  return {
      architecture, weights, pool,
      PagedCache<float>(cache_shape(architecture), 6, blocks, 64, std::numeric_limits<Position>::max(), share_prefixes),
      40};
}

/// Draws from everything, so that a change of one bit would show.
SamplerChain sampling() {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 1.5f;
  return SamplerChain(options);
}

SequenceOptions at_most(std::size_t tokens) {
  SequenceOptions options;
  options.max_new_tokens = tokens;
  options.log_probabilities = true;
  return options;
}

/// `common` tokens that all prompts begin with, then others.
Tokens prompt(std::size_t common, std::size_t size, std::uint32_t seed = 1) {
  Tokens tokens = testing::random_tokens(common, 100, 40);
  const Tokens own = testing::random_tokens(size - common, 100, 60 + seed);
  tokens.insert(tokens.end(), own.begin(), own.end());
  return tokens;
}

/// Runs everything to its end; the rows of that.
template <class Stepped>
std::size_t rows_until_end(Stepped& stepped) {
  std::size_t rows = 0;
  while (stepped.running()) {
    if constexpr (requires { stepped.plan(); }) {
      rows += stepped.step(stepped.plan()).rows;
    } else {
      rows += stepped.step().rows;
    }
  }
  return rows;
}

/// A prompt and its completions.
struct Asked {
  Tokens prompt;
  SequenceOptions options;
  std::vector<Completion> completions;

  Asked(Tokens tokens, std::size_t new_tokens, std::size_t copies = 1, std::uint64_t stream = 0)
      : prompt(std::move(tokens)), options(at_most(new_tokens)) {
    GenerationOptions generation;
    generation.log_probabilities = true;
    completions.reserve(copies);
    options.rng_stream = stream;
    for (std::size_t i = 0; i < copies; ++i) {
      completions.emplace_back(*testing::tiny_tokenizer(), i, prompt.size(), generation);
    }
  }

  void submit(Requests<Paged>& requests) { requests.submit(prompt, sampling(), options, completions); }

  std::vector<GeneratedText> results() {
    std::vector<GeneratedText> all;
    for (Completion& completion : completions) {
      while (completion.has_piece()) (void)completion.take();
      all.push_back(completion.take_result());
    }
    return all;
  }
};

/// The text of a completion when nothing else runs and nothing is shared.
testing::Generated alone(const Asked& asked, std::size_t copy) {
  Paged generator = paged(8, false);
  SequenceOptions options = asked.options;
  options.rng_stream += copy;
  return finish_sequence(generator, generator.start(asked.prompt, sampling(), options));
}

std::uint32_t drawn(std::uint64_t seed, std::uint32_t what, std::uint32_t below) {
  return static_cast<std::uint32_t>(uniform(seed, what, 0, 0) * below);
}

struct Traffic {
  std::vector<GeneratedText> texts;
  std::size_t rows = 0, cached = 0;
  bool waited = false;  // a sequence was preempted
};

/// Twelve prompts that share 0, 70, 130 or 200 tokens, submitted in any order and while others run, with up to three
/// completions each. One of them is ended after three tokens.
Traffic run_traffic(std::uint64_t seed, std::size_t blocks, bool share_prefixes) {
  constexpr std::size_t commons[] = {0, 70, 130, 200};
  Paged generator = paged(blocks, share_prefixes);
  Requests<Paged> requests(generator);
  std::vector<Asked> asked;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const std::size_t common = commons[drawn(seed, i, 4)];
    asked.emplace_back(prompt(common, common + 1 + drawn(seed, 20 + i, 30), i), 4 + drawn(seed, 40 + i, 40),
                       1 + drawn(seed, 60 + i, 3), 10 * i);
  }
  Traffic traffic;
  Completion& ended = asked[4].completions.front();
  std::size_t submitted = 0;
  for (std::uint32_t step = 0; submitted < asked.size() || requests.running(); ++step) {
    REQUIRE(step < 5000);
    while (submitted < asked.size() && (!requests.running() || drawn(seed, 1000 + step, 6) == 0)) {
      asked[submitted++].submit(requests);
    }
    traffic.rows += requests.step().rows;
    for (const SequenceId id : generator.sequences().running()) {
      traffic.waited = traffic.waited || generator.sequences().waits(id);
    }
    if (ended.tokens() == 3) requests.end(ended);
  }
  for (Asked& each : asked) {
    for (GeneratedText& text : each.results()) {
      traffic.cached += text.cached_prompt_tokens;
      traffic.texts.push_back(std::move(text));
    }
  }
  CHECK(generator.cache().free_blocks() == blocks);
  return traffic;
}

void check_same(const std::vector<GeneratedText>& texts, const std::vector<GeneratedText>& wanted) {
  REQUIRE(texts.size() == wanted.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    CHECK(texts[i].tokens == wanted[i].tokens);
    CHECK(testing::same_bits(texts[i].log_probabilities, wanted[i].log_probabilities));
  }
}

}  // namespace

TEST_CASE("a prompt runs without what an earlier one began with", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  Requests<Paged> requests(generator);
  Asked first(prompt(150, 160, 1), 30), second(prompt(150, 170, 2), 20), third(prompt(150, 160, 1), 30);
  first.submit(requests);
  for (int step = 0; step < 8; ++step) requests.step();
  REQUIRE(requests.running());
  second.submit(requests);  // while the first one still decodes
  const std::size_t before = first.completions.front().tokens();
  CHECK(rows_until_end(requests) == (30 - before) + (170 - 128) + 19);
  third.submit(requests);
  CHECK(rows_until_end(requests) == (160 - 128) + 29);
  for (Asked* each : {&first, &second, &third}) {
    const GeneratedText result = std::move(each->results().front());
    const auto wanted = alone(*each, 0);
    CHECK(result.tokens == wanted.tokens);
    CHECK(testing::same_bits(result.log_probabilities, wanted.log_probabilities));
    CHECK(result.cached_prompt_tokens == (each == &first ? 0 : 128));
  }
}

TEST_CASE("what was generated is shared, too", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  const SequenceId id = generator.start(prompt(0, 60), sampling(), at_most(80));
  Tokens text = prompt(0, 60);
  for (const Token token : finish_sequence(generator, id).tokens) text.push_back(token);
  generator.sequences().release(id);
  const SequenceId next = generator.start(text, sampling(), at_most(5));
  CHECK(rows_until_end(generator) == (140 - 128) + 4);
  CHECK(generator.sequences().adopted(next) == 128);
}

TEST_CASE("texts are the same with and without shared prefixes, in any order", "[generate][prefix_sharing]") {
  bool waited = false;
  for (const std::uint64_t seed : {1, 2}) {
    CAPTURE(seed);
    const Traffic plain = run_traffic(seed, 60, false), shared = run_traffic(seed, 60, true);
    CHECK(plain.cached == 0);
    check_same(shared.texts, plain.texts);
    CHECK(shared.cached > 0);
    CHECK(shared.rows < plain.rows);
    const Traffic narrow = run_traffic(seed, 5, true);  // blocks run out
    check_same(narrow.texts, plain.texts);
    CHECK(narrow.cached > 0);
    waited = waited || narrow.waited;
  }
  CHECK(waited);
}

TEST_CASE("all continuations of a prompt count what was cached", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  Requests<Paged> requests(generator);
  Asked first(prompt(140, 150), 3), second(prompt(140, 192, 2), 5, 3);
  first.submit(requests);
  (void)rows_until_end(requests);
  second.submit(requests);
  (void)rows_until_end(requests);
  for (std::size_t copy = 0; auto& result : second.results()) {
    CHECK(result.cached_prompt_tokens == 128);
    CHECK(result.tokens == alone(second, copy++).tokens);
  }
}

TEST_CASE("an evicted sequence adopts what is still there of it", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  const SequenceId id = generator.start(prompt(0, 150), sampling(), at_most(10));
  Tokens found = finish_sequence(generator, id).tokens;
  generator.sequences().evict(id);
  CHECK(generator.sequences().adopted(id) == 0);
  generator.run(id, sampling(), at_most(5));
  std::size_t rows = 0;
  while (generator.running()) {
    const StepReport report = generator.step(generator.plan());
    rows += report.rows;
    for (const Emission& emission : report.emissions) found.push_back(emission.token);
  }
  CHECK(rows == (160 - 128) + 4);
  CHECK(found == alone(Asked(prompt(0, 150), 15), 0).tokens);
}

TEST_CASE("a prompt whose logits are wanted runs as a whole", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  std::vector<float> all[2];
  for (std::vector<float>& logits : all) {
    const SequenceId id = generator.start(prompt(0, 150), sampling(), testing::only_logits());
    while (generator.running()) {
      generator.step(generator.plan(), [&](SequenceId, Position position, std::span<const float> row) {
        CHECK(position == logits.size() / 100);
        logits.insert(logits.end(), row.begin(), row.end());
      });
    }
    CHECK(generator.sequences().adopted(id) == 0);
    generator.sequences().release(id);
  }
  CHECK(all[0].size() == 150 * 100);
  CHECK(testing::same_bits(all[0], all[1]));
}

TEST_CASE("only the first turn of a session adopts", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  Requests<Paged> requests(generator);
  Asked first(prompt(140, 150), 3), turn(prompt(140, 150, 2), 4), next(prompt(0, 10), 4);
  first.submit(requests);
  (void)rows_until_end(requests);
  const SequenceId id = generator.sequences().open();
  for (Asked* each : {&turn, &next}) {
    requests.resume(id, each->prompt, sampling(), each->options, each->completions.front());
    (void)rows_until_end(requests);
    CHECK(each->results().front().cached_prompt_tokens == (each == &turn ? 128 : 0));
  }
  // What is rolled back was not adopted by what follows.
  generator.sequences().truncate(id, 100);
  CHECK(generator.sequences().adopted(id) == 100);
}

TEST_CASE("a wrong draft is not taken for the text", "[generate][prefix_sharing]") {
  Paged generator = paged(20);
  const auto wanted = alone(Asked(prompt(0, 60), 20), 0).tokens;
  Tokens text = prompt(0, 60);
  const SequenceId id = generator.start(text, sampling(), at_most(20));
  while (generator.running()) {
    generator.sequences().draft(id, Tokens(6, 7));
    for (const Emission& emission : generator.step(generator.plan()).emissions) text.push_back(emission.token);
  }
  CHECK(Tokens(text.begin() + 60, text.end()) == wanted);
  Tokens drafted = prompt(0, 60);
  drafted.insert(drafted.end(), 10, 7);
  for (const Tokens& each : {text, drafted}) {
    const SequenceId next = generator.start(each, sampling(), at_most(8));
    CHECK(finish_sequence(generator, next).tokens == alone(Asked(each, 8), 0).tokens);
    CHECK(generator.sequences().adopted(next) == (each == text ? 64 : 0));
  }
}
