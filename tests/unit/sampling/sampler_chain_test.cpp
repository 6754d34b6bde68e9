// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/sampler_chain.hpp>

#include <cmath>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/sampling/static_chain.hpp>

#include "unit/sampling/golden.hpp"

using namespace tulle;

namespace {

SamplingOptions options_of(const Json& json) {
  SamplingOptions options;
  options.do_sample = json.at("do_sample").get<bool>();
  options.temperature = json.value("temperature", 1.0f);
  options.top_k = json.value("top_k", 0);
  options.top_p = json.value("top_p", 1.0f);
  options.min_p = json.value("min_p", 0.0f);
  options.typical_p = json.value("typical_p", 1.0f);
  options.repetition_penalty = json.value("repetition_penalty", 1.0f);
  options.no_repeat_ngram = json.value("no_repeat_ngram", 0);
  options.min_new_tokens = json.value("min_new_tokens", 0);
  options.eos = {2, 7};
  return options;
}

std::vector<double> softmax(const std::vector<float>& scores) {
  double largest = scores[0];
  for (const double score : scores) largest = std::max(largest, score);
  std::vector<double> result;
  double total = 0;
  for (const double score : scores) total += result.emplace_back(std::exp(score - largest));
  for (double& value : result) value /= total;
  return result;
}

}  // namespace

TEST_CASE("the hugging_face order gives the probabilities and greedy tokens of transformers",
          "[sampling][sampler_chain]") {
  std::size_t sampled = 0;
  std::size_t greedy = 0;
  for (const golden::Case& one : golden::cases()) {
    INFO(one.name);
    const SamplerChain chain(options_of(one.options));
    std::vector<float> actual = one.logits;
    if (one.token >= 0) {
      REQUIRE(chain.sample(actual, one.context()) == one.token);
      ++greedy;
      continue;
    }
    chain.distribution(actual, one.context());
    const std::vector<double> expected = softmax(one.scores);
    for (std::size_t id = 0; id < expected.size(); ++id) {
      INFO("token " << id);
      REQUIRE(std::abs(actual[id] - expected[id]) <= 1e-6);
      if (one.scores[id] == golden::minus_infinity) REQUIRE(actual[id] == 0);
    }
    ++sampled;
  }
  CHECK(sampled > 100);
  CHECK(greedy > 10);
}

TEST_CASE("the llama_cpp order is penalties, top-k, typical, top-p, min-p, temperature", "[sampling][sampler_chain]") {
  SamplingOptions options;
  options.do_sample = true;
  options.order = SamplerOrder::llama_cpp;
  options.temperature = 1.7f;
  options.top_k = 30;
  options.top_p = 0.8f;
  options.min_p = 0.05f;
  options.typical_p = 0.9f;
  options.repetition_penalty = 1.3f;
  options.presence_penalty = 0.3f;
  options.frequency_penalty = 0.2f;
  const SamplerChain chain(options);
  const Chain expected{RepetitionPenalty(1.3f),
                       PresencePenalty(0.3f),
                       FrequencyPenalty(0.2f),
                       TopK(30),
                       Typical(0.9f),
                       TopP(0.8f),
                       MinP(0.05f),
                       Temperature(1.7f),
                       Multinomial()};
  options.order = SamplerOrder::hugging_face;
  const SamplerChain other(options);
  bool differs = false;
  for (const golden::Case& one : golden::cases()) {
    std::vector<float> first = one.logits;
    std::vector<float> second = one.logits;
    std::vector<float> third = one.logits;
    chain.distribution(first, one.context());
    expected.distribution(second, one.context());
    other.distribution(third, one.context());
    REQUIRE(first == second);
    differs = differs || first != third;
  }
  CHECK(differs);
}

TEST_CASE("presence and frequency penalties come before the temperature", "[sampling][sampler_chain]") {
  SamplingOptions options;
  options.do_sample = true;
  options.temperature = 0.5f;
  options.presence_penalty = 1;
  options.frequency_penalty = 0.25f;
  const std::vector<Token> history{0, 1, 1};
  SamplingContext context;
  context.history = history;
  context.prompt_length = 1;
  std::vector<float> logits{0, 0, 0};
  SamplerChain(options).distribution(logits, context);
  const std::vector<double> expected = softmax({0, -3, 0});  // (0 - 1 - 2 * 0.25) / 0.5
  for (std::size_t id = 0; id < 3; ++id) CHECK(logits[id] == Catch::Approx(expected[id]).epsilon(1e-6));
}

TEST_CASE("a greedy chain keeps penalties and bans", "[sampling][sampler_chain]") {
  SamplingOptions options;
  options.presence_penalty = 2;
  options.min_new_tokens = 5;
  options.eos = {0};
  const std::vector<Token> history{1};
  SamplingContext context;
  context.history = history;
  std::vector<float> logits{9, 5, 4};
  CHECK(SamplerChain(options).sample(logits, context) == 2);
  logits = {9, 5, 4};
  SamplerChain(options).distribution(logits, context);
  CHECK(logits == std::vector<float>{0, 0, 1});
}

TEST_CASE("a chain refuses bad options", "[sampling][sampler_chain]") {
  SamplingOptions options;
  options.top_p = 2;  // greedy, so not used: refused all the same
  CHECK_THROWS_AS(SamplerChain(options), Error);
}
