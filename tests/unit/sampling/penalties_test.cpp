// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/penalties.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"
#include "unit/sampling/special_floats.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

namespace {

SamplingContext context_of(const std::vector<Token>& history, std::size_t prompt_length) {
  SamplingContext context;
  context.history = history;
  context.prompt_length = prompt_length;
  return context;
}

}  // namespace

TEST_CASE("repetition penalty gives the scores of transformers", "[sampling][penalties]") {
  golden::check_transform<float>("repetition_penalty", [](float value) { return RepetitionPenalty(value); });
}

TEST_CASE("repetition penalty applies once to each token of prompt and text", "[sampling][penalties]") {
  const std::vector<Token> history{0, 1, 1, 3, 0};
  CHECK(applied(RepetitionPenalty(2), {4, -4, 4, 0, 1}, context_of(history, 3)) == std::vector<float>{2, -8, 4, 0, 1});
}

TEST_CASE("presence penalty counts generated tokens, each once", "[sampling][penalties]") {
  const std::vector<Token> history{0, 1, 1, 3, 1};
  CHECK(applied(PresencePenalty(0.5f), {4, 4, 4, 4}, context_of(history, 2)) == std::vector<float>{4, 3.5f, 4, 3.5f});
  CHECK(applied(PresencePenalty(-1), {4, 4, 4, 4}, context_of(history, 4)) == std::vector<float>{4, 5, 4, 4});
}

TEST_CASE("frequency penalty counts generated tokens, each time", "[sampling][penalties]") {
  const std::vector<Token> history{0, 1, 1, 3, 1};
  CHECK(applied(FrequencyPenalty(0.5f), {4, 4, 4, 4}, context_of(history, 1)) == std::vector<float>{4, 2.5f, 4, 3.5f});
  CHECK(applied(FrequencyPenalty(0.5f), {4, 4, 4, 4}, context_of(history, 5)) == std::vector<float>{4, 4, 4, 4});
}

TEST_CASE("penalties reach every block of a large vocabulary and pass over ids outside it", "[sampling][penalties]") {
  const std::vector<Token> history{-1, 0, 4095, 4096, 9999, 10000, 8192, 4096, 2147483647, -2147483647 - 1};
  const auto logits = applied(FrequencyPenalty(1), std::vector<float>(10000, 0.0f), context_of(history, 0));
  std::vector<float> expected(10000, 0.0f);
  for (const std::size_t token : {0, 4095, 4096, 9999, 8192, 4096}) expected[token] -= 1;
  CHECK(logits == expected);
}

TEST_CASE("a penalty does not lift a ban", "[sampling][penalties]") {
  const std::vector<Token> history(20, 0);
  const auto context = context_of(history, 0);
  const std::vector<float> row{golden::minus_infinity, 1};
  CHECK(applied(RepetitionPenalty(0.001f), row, context) == row);
  CHECK(applied(PresencePenalty(-3e38f), row, context) == row);
  CHECK(applied(FrequencyPenalty(-3e38f), row, context) == row);
}

TEST_CASE("penalties refuse what is not a number", "[sampling][penalties]") {
  for (const float wrong : {0.0f, -1.0f, inf, std::nanf("")}) CHECK_THROWS_AS(RepetitionPenalty(wrong), Error);
  for (const float wrong : {inf, -inf, std::nanf("")}) {
    CHECK_THROWS_AS(PresencePenalty(wrong), Error);
    CHECK_THROWS_AS(FrequencyPenalty(wrong), Error);
  }
}
