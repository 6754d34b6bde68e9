// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/model_drafter.hpp>

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

TEST_CASE("a model drafts no further than its sequences reach", "[generate][draft]") {
  ModelDrafter<Engine, SamplerChain> drafter(engine(24));
  CHECK(testing::draft_of(drafter, prompt, 16).tokens.size() <= 5);
  CHECK(testing::draft_of(drafter, testing::random_tokens(24, 100, 5), 16).tokens.empty());
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
