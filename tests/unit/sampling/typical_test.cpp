// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/typical.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

TEST_CASE("typical gives the scores of transformers", "[sampling][typical]") {
  golden::check_transform<float>("typical_p", [](float value) { return Typical(value); });
}

TEST_CASE("typical keeps the tokens nearest to the entropy", "[sampling][typical]") {
  // Entropy 1.2080. Distances of -log p from it: 1.0946 (0.1), 0.5148 (0.5), 0.6892 (0.15), 0.1783 (0.25).
  const std::vector<float> logits{std::log(0.1f), std::log(0.5f), std::log(0.15f), std::log(0.25f)};
  CHECK(kept(applied(Typical(0.2f), logits)) == std::set<Token>{3});
  CHECK(kept(applied(Typical(0.7f), logits)) == std::set<Token>{1, 3});
  CHECK(kept(applied(Typical(0.8f), logits)) == std::set<Token>{1, 2, 3});
  CHECK(kept(applied(Typical(0.95f), logits)).size() == 4);
  CHECK(kept(applied(Typical(1), logits)).size() == 4);
}

TEST_CASE("typical keeps ties and copes with bans, NaN and infinity", "[sampling][typical]") {
  const float banned = golden::minus_infinity;
  CHECK(kept(applied(Typical(0.2f), std::vector<float>(10, 1.5f))).size() == 10);
  CHECK(kept(applied(Typical(0.2f), {banned, 2, banned, 2})) == std::set<Token>{1, 3});
  CHECK(kept(applied(Typical(0.2f), {banned, banned})).empty());
  CHECK(kept(applied(Typical(0.2f), {std::nanf(""), 2, -30})) == std::set<Token>{0, 1});
  CHECK(kept(applied(Typical(0.2f), {-banned, 3})) == std::set<Token>{0});
}

TEST_CASE("typical refuses a mass outside its range", "[sampling][typical]") {
  for (const float wrong : {0.0f, -0.1f, 1.1f, std::nanf("")}) CHECK_THROWS_AS(Typical(wrong), Error);
}
