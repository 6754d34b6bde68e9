// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/model_drafter.hpp>

#include <atomic>
#include <catch2/catch_all.hpp>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include <tulle/generate/engine.hpp>
#include <tulle/sampling/sampler_chain.hpp>

#include "unit/generate/draft/draft_of.hpp"
#include "unit/generate/tiny_pipeline.hpp"
#include "unit/model/random_model.hpp"

using namespace tulle;
using Tokens = std::vector<Token>;

namespace {

std::unique_ptr<Engine> engine(std::size_t length = 128) {
  EngineOptions options = testing::small_engine();
  options.sequence_length = length;
  return testing::tiny_engine("gguf/f32.gguf", options, "auto", 100);
}

Tokens alone(const Tokens& prompt, std::size_t count) {
  SequenceOptions options;
  options.max_new_tokens = count;
  const auto own = engine();
  return testing::finish_sequence(*own, own->start(prompt, SamplerChain(), options)).tokens;
}

const Tokens prompt = testing::random_tokens(20, 100, 3);

}  // namespace

TEST_CASE("a model drafts what it would generate", "[generate][draft]") {
  ModelDrafter<Engine, SamplerChain> drafter(engine());
  const Tokens wanted = alone(prompt, 5);
  const auto draft = testing::draft_of(drafter, prompt, 5);
  CHECK(draft.tokens == wanted);
  CHECK(draft.distributions.empty());
  for (const float confidence : draft.confidences) CHECK((confidence > 0 && confidence <= 1));

  // The target took two of them and another token; then the history is cut, and then another one.
  Tokens history = prompt;
  history.insert(history.end(), {wanted[0], wanted[1], 50});
  CHECK(testing::draft_of(drafter, history, 4).tokens == alone(history, 4));
  history.resize(10);
  CHECK(testing::draft_of(drafter, history, 4).tokens == alone(history, 4));
  const Tokens other = testing::random_tokens(30, 100, 9);
  CHECK(testing::draft_of(drafter, other, 4).tokens == alone(other, 4));
  CHECK(testing::draft_of(drafter, prompt, 4, {}, 3).tokens == alone(prompt, 4));  // of another sequence
}

TEST_CASE("a copy takes the target's keys and values of all tokens but the last", "[generate][draft]") {
  const auto target = engine();
  EngineOptions options = testing::small_engine();
  options.sequence_length = 128;
  // Other weights, so that its own rows are others.
  ModelDrafter<Engine, SamplerChain> drafter(testing::tiny_engine("gguf/q4_0.gguf", options, "auto", 100), true);
  const auto keys_of = [](Engine& of, SequenceId sequence, Position end) {
    std::vector<float> all;
    const auto& cache = of.sequences().cache();
    for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
      cache.for_each_span(layer, sequence, {0, end}, [&](const auto& span) {
        std::vector<float> row(cache.shape().layers[layer].row_elements());
        for (std::size_t i = 0; i < span.count; ++i) {
          detail::decode_rows(cache.shape().layers[layer], span, span.keys, span.key_scales, i, row.data());
          all.insert(all.end(), row.begin(), row.end());
        }
      });
    }
    return all;
  };
  SequenceOptions run;
  run.max_new_tokens = 9;
  run.ignore_eos = true;
  const SequenceId id = target->start(prompt, SamplerChain(), run);
  std::size_t drafts = 0;
  while (target->running()) {
    (void)target->step();
    if (!target->running() || target->sequences().pending(id).size() != 1) continue;
    ++drafts;
    const std::vector<Token> history(target->sequences().history(id).begin(), target->sequences().history(id).end());
    const auto end = static_cast<Position>(history.size() - 1);
    static const SamplerChain greedy;
    Draft<SamplerChain> draft;
    draft.start(id, {history, prompt.size(), static_cast<Position>(history.size()), 0, 0});
    draft.sampler = &greedy;
    draft.max_tokens = 3;
    draft.vocabulary = 100;
    drafter.begin(draft, target->sequences().cache());
    CHECK(drafter.engine().sequences().pending(0).size() == 1);
    CHECK(keys_of(drafter.engine(), 0, end) == keys_of(*target, id, end));
    Draft<SamplerChain>* const one = &draft;
    while (!draft.ended) drafter.extend(std::span(&one, 1));
    drafter.end(draft);
    CHECK(draft.tokens.size() == 3);
  }
  CHECK(drafts == 8);
}

TEST_CASE("a model drafts no further than its sequences reach", "[generate][draft]") {
  ModelDrafter<Engine, SamplerChain> drafter(engine(24));
  CHECK(testing::draft_of(drafter, prompt, 16).tokens.size() <= 5);
  CHECK(testing::draft_of(drafter, testing::random_tokens(24, 100, 5), 16).tokens.empty());
}

TEST_CASE("a model reads nothing for a text that is cancelled", "[generate][draft]") {
  ModelDrafter<Engine, SamplerChain> drafter(engine());
  const std::atomic<bool> cancelled = true;
  CHECK(testing::draft_of(drafter, prompt, 4, {}, 0, 0, &cancelled).tokens.empty());
  CHECK(drafter.engine().sequences().cache().length(0) == 0);
  CHECK(testing::draft_of(drafter, prompt, 4).tokens == alone(prompt, 4));
}

TEST_CASE("a history with a token that the drafting model lacks gets no draft", "[generate][draft]") {
  ModelDrafter<Engine, SamplerChain> drafter(engine());
  Tokens history = prompt;
  history[7] = 300;
  CHECK(testing::draft_of(drafter, history, 4).tokens.empty());
  CHECK(testing::draft_of(drafter, prompt, 4).tokens == alone(prompt, 4));
  history = prompt;
  history.push_back(300);  // of a text whose beginning it has seen
  CHECK(testing::draft_of(drafter, history, 4).tokens.empty());
}

TEST_CASE("distributions are those that the tokens were drawn from", "[generate][draft]") {
  ModelDrafter<Engine, SamplerChain> drafter(engine());
  SamplingOptions sampling;
  sampling.do_sample = true;
  sampling.top_k = 5;
  const SamplerChain sampler(sampling);
  Draft<SamplerChain> draft;
  draft.start(0, {prompt, prompt.size(), static_cast<Position>(prompt.size()), 7, 0});
  draft.sampler = &sampler;
  draft.max_tokens = 4;
  draft.vocabulary = 120;  // the target's is larger
  draft.wants_distributions = true;
  drafter.begin(draft);
  Draft<SamplerChain>* const one = &draft;
  while (!draft.ended) drafter.extend(std::span(&one, 1));
  drafter.end(draft);
  REQUIRE(draft.tokens.size() == 4);
  REQUIRE(draft.distributions.size() == 4 * 120);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto row = std::span(draft.distributions).subspan(i * 120, 120);
    CHECK(row[static_cast<std::size_t>(draft.tokens[i])] > 0);
    CHECK(std::accumulate(row.begin(), row.end(), 0.0) == Catch::Approx(1).epsilon(1e-5));
  }
}
