// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/ngram_drafter.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/generate/draft/draft_of.hpp"

using namespace tulle;
using testing::draft_of;
using Tokens = std::vector<Token>;

TEST_CASE("what followed the repeated end of a text is copied", "[generate][draft]") {
  NgramDrafter drafter;
  CHECK(draft_of(drafter, {1, 2, 3, 4, 5, 1, 2}, 3).tokens == Tokens{3, 4, 5});
  CHECK(draft_of(drafter, {1, 2, 3, 4, 5, 6, 2}, 3).tokens.empty());  // one token is no match
  CHECK(draft_of(drafter, {1, 2, 3}, 3).tokens.empty());
  CHECK(draft_of(drafter, {}, 3).tokens.empty());
}

TEST_CASE("a copy goes on into the draft itself", "[generate][draft]") {
  NgramDrafter drafter;
  CHECK(draft_of(drafter, {9, 1, 2, 1, 2}, 5).tokens == Tokens{1, 2, 1, 2, 1});
}

TEST_CASE("a draft ends with an eos token", "[generate][draft]") {
  NgramDrafter drafter;
  CHECK(draft_of(drafter, {1, 2, 3, 7, 5, 1, 2}, 5, {7}).tokens == Tokens{3, 7});
}

TEST_CASE("longer matches make copied tokens surer", "[generate][draft]") {
  NgramDrafter drafter;
  const auto draft = draft_of(drafter, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4}, 2);
  REQUIRE(draft.tokens == Tokens{5, 6});
  CHECK(draft.confidences[0] == Catch::Approx(0.8f));
  CHECK(draft.confidences[1] > draft.confidences[0]);
}

TEST_CASE("a sequence may grow, be cut and be another one", "[generate][draft]") {
  NgramDrafter drafter;
  CHECK(draft_of(drafter, {1, 2, 3, 1, 2}, 1, {}, 5).tokens == Tokens{3});
  CHECK(draft_of(drafter, {1, 2, 3, 1, 2, 3}, 1, {}, 5).tokens == Tokens{1});
  CHECK(draft_of(drafter, {1, 2, 3, 1}, 1, {}, 5).tokens.empty());
  CHECK(draft_of(drafter, {4, 4, 4}, 1, {}, 5).tokens == Tokens{4});
}
