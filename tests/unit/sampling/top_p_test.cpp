// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/top_p.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"
#include "unit/sampling/odd_rows.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

namespace {

/// The rule as it is written: sorts, sums and bans.
std::vector<float> nucleus(float p, std::vector<float> logits) {
  const float largest = detail::largest_logit(logits);
  std::vector<std::size_t> ascending;
  std::vector<double> weights;
  double total = 0, sum = 0;
  detail::ProbabilityBlocks<> blocks(logits, largest);
  for (std::size_t id = 0; id < logits.size(); ++id) {
    weights.push_back(blocks(id));
    total += weights.back();
    if (logits[id] > -inf) ascending.push_back(id);
  }
  std::stable_sort(ascending.begin(), ascending.end(),
                   [&](std::size_t a, std::size_t b) { return logits[a] < logits[b]; });
  if (!ascending.empty()) ascending.pop_back();
  for (const std::size_t id : ascending) {
    sum += weights[id];
    if (sum > (1.0 - p + detail::probability_rounding) * total) break;
    logits[id] = -inf;
  }
  return logits;
}

}  // namespace

TEST_CASE("top-p gives the scores of transformers", "[sampling][top_p]") {
  golden::check_transform<float>("top_p", [](float value) { return TopP(value); });
}

TEST_CASE("top-p keeps the smallest set that holds more than the mass", "[sampling][top_p]") {
  const std::vector<float> logits{std::log(0.1f), std::log(0.5f), std::log(0.15f), std::log(0.25f)};
  CHECK(kept(applied(TopP(0.4f), logits)) == std::set<Token>{1});
  CHECK(kept(applied(TopP(0.6f), logits)) == std::set<Token>{1, 3});
  CHECK(kept(applied(TopP(0.85f), logits)) == std::set<Token>{1, 2, 3});
  CHECK(kept(applied(TopP(0.95f), logits)).size() == 4);
  CHECK(kept(applied(TopP(1), logits)).size() == 4);
}

TEST_CASE("top-p bans the lower ids of a tie first and never all", "[sampling][top_p]") {
  const std::vector<float> equal(10, 1.5f);
  CHECK(kept(applied(TopP(0.8f), equal)) == std::set<Token>{2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(kept(applied(TopP(0.3f), equal)) == std::set<Token>{7, 8, 9});
  CHECK(kept(applied(TopP(0), equal)) == std::set<Token>{9});
  CHECK(kept(applied(TopP(0), {5, 1, 5, 2})) == std::set<Token>{2});
  CHECK(kept(applied(TopP(0), {5})) == std::set<Token>{0});
}

TEST_CASE("top-p copes with bans, NaN and infinity", "[sampling][top_p]") {
  const float banned = golden::minus_infinity;
  CHECK(kept(applied(TopP(0.5f), {banned, 1, banned, 8})) == std::set<Token>{3});
  CHECK(kept(applied(TopP(0.5f), {banned, banned})).empty());
  CHECK(kept(applied(TopP(0.5f), {std::nanf(""), 1, 9})) == std::set<Token>{0, 2});
  CHECK(kept(applied(TopP(0.9f), {-banned, 3, -banned})) == std::set<Token>{0, 2});
}

TEST_CASE("top-p keeps what sorting and summing keeps", "[sampling][top_p][long]") {
  for (const OddRow& row : odd_rows()) {
    for (const float p : {0.0f, 1e-6f, 0.3f, 0.95f, 0.999f, 1 - 0x1p-24f}) {
      INFO(row.name << ", p = " << p);
      CHECK(same_floats(applied(TopP(p), row.logits), nucleus(p, row.logits)));
    }
  }
}

TEST_CASE("top-p refuses what is not a probability", "[sampling][top_p]") {
  for (const float wrong : {-0.1f, 1.1f, std::nanf("")}) CHECK_THROWS_AS(TopP(wrong), Error);
}
