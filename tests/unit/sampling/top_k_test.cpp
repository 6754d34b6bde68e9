// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/top_k.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"
#include "unit/sampling/odd_rows.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

TEST_CASE("top-k gives the scores of transformers", "[sampling][top_k]") {
  golden::check_transform<int>("top_k", [](int value) { return TopK(value); });
}

TEST_CASE("top-k keeps the k largest and all that tie with the last of them", "[sampling][top_k]") {
  CHECK(kept(applied(TopK(2), {1, 4, 2, 3})) == std::set<Token>{1, 3});
  CHECK(kept(applied(TopK(2), {3, 4, 2, 3, 3})) == std::set<Token>{0, 1, 3, 4});
  CHECK(kept(applied(TopK(1), {-0.0f, 0.0f, -1})) == std::set<Token>{0, 1});
  CHECK(kept(applied(TopK(0), {1, 4, 2})).size() == 3);
  CHECK(kept(applied(TopK(9), {1, 4, 2})).size() == 3);
  CHECK(kept(applied(TopK(1), {5})).size() == 1);
}

TEST_CASE("top-k counts only tokens that can be chosen", "[sampling][top_k]") {
  CHECK(kept(applied(TopK(2), {-inf, 4, -inf, 3, 1})) == std::set<Token>{1, 3});
  CHECK(kept(applied(TopK(3), {-inf, 4, -inf, 3, -inf})) == std::set<Token>{1, 3});
  CHECK(kept(applied(TopK(1), {-inf, -inf, -inf})).empty());
  CHECK(kept(applied(TopK(1), {std::nanf(""), 1, 2})) == std::set<Token>{0, 2});  // NaN stays NaN
}

TEST_CASE("top-k keeps what sorting keeps", "[sampling][top_k]") {
  for (const OddRow& row : odd_rows()) {
    std::vector<float> sorted;
    for (const float logit : row.logits) {
      if (logit > -inf) sorted.push_back(logit);
    }
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (const std::size_t k : {1u, 2u, 50u, 999u, 1024u, 1025u, 5000u}) {
      std::vector<float> expected = row.logits;
      for (float& logit : expected) {
        if (k <= sorted.size() && logit < sorted[k - 1]) logit = -inf;
      }
      INFO(row.name << ", k = " << k);
      CHECK(same_floats(applied(TopK(static_cast<int>(k)), row.logits), expected));
    }
  }
}

TEST_CASE("top-k refuses a negative k", "[sampling][top_k]") {
  CHECK_THROWS_WITH(TopK(-1), Catch::Matchers::ContainsSubstring("top_k must be 0 (off) or positive, got -1"));
}
