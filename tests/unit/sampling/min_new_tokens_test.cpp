// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/min_new_tokens.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

TEST_CASE("min-new-tokens gives the scores of transformers", "[sampling][min_new_tokens]") {
  golden::check_transform<int>("min_new_tokens", [](int value) { return MinNewTokens(value, {2, 7}); });
}

TEST_CASE("min-new-tokens bans every eos until enough was generated", "[sampling][min_new_tokens]") {
  const std::vector<Token> history{0, 0, 0, 0, 0};
  SamplingContext context;
  context.history = history;
  context.prompt_length = 3;
  const std::vector<float> row(4, 0.0f);
  CHECK(kept(applied(MinNewTokens(3, {1, 3, 99}), row, context)) == std::set<Token>{0, 2});
  CHECK(kept(applied(MinNewTokens(2, {1, 3}), row, context)).size() == 4);
  CHECK(kept(applied(MinNewTokens(0, {1, 3}), row, context)).size() == 4);
  CHECK(MinNewTokens(5, {}).neutral());
}

TEST_CASE("min-new-tokens refuses negative counts and tokens", "[sampling][min_new_tokens]") {
  CHECK_THROWS_AS(MinNewTokens(-1, {}), Error);
  CHECK_THROWS_AS(MinNewTokens(1, {-1}), Error);
}
