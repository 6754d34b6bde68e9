// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/min_p.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

TEST_CASE("min-p gives the scores of transformers", "[sampling][min_p]") {
  golden::check_transform<float>("min_p", [](float value) { return MinP(value); });
}

TEST_CASE("min-p bans what is less probable than its share of the best", "[sampling][min_p]") {
  const std::vector<float> logits{std::log(0.1f), std::log(0.5f), std::log(0.15f), std::log(0.25f)};
  CHECK(kept(applied(MinP(0.45f), logits)) == std::set<Token>{1, 3});
  CHECK(kept(applied(MinP(0.25f), logits)) == std::set<Token>{1, 2, 3});
  CHECK(kept(applied(MinP(0), logits)).size() == 4);
  CHECK(kept(applied(MinP(1), {2, 3, 3, 1})) == std::set<Token>{1, 2});
  CHECK(kept(applied(MinP(0.5f), {golden::minus_infinity, golden::minus_infinity})).empty());
  CHECK(kept(applied(MinP(0.5f), {-golden::minus_infinity, 3})) == std::set<Token>{0});
  CHECK(MinP(0).neutral());
  CHECK_FALSE(MinP(0.01f).neutral());
}

TEST_CASE("min-p refuses what is not a probability", "[sampling][min_p]") {
  for (const float wrong : {-0.1f, 1.1f, std::nanf("")}) CHECK_THROWS_AS(MinP(wrong), Error);
}
