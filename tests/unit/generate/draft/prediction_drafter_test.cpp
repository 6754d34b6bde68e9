// SPDX-License-Identifier: Apache-2.0
#include <tulle/generate/draft/prediction_drafter.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

#include "unit/generate/draft/draft_of.hpp"

using namespace tulle;
using Tokens = std::vector<Token>;

namespace {

const Tokens prediction{10, 11, 12, 13, 14, 15, 16, 17};

/// After the prompt {1, 2} and what was generated.
Tokens draft(PredictionDrafter& drafter, const Tokens& generated, std::size_t most = 3) {
  Tokens history{1, 2};
  history.insert(history.end(), generated.begin(), generated.end());
  return testing::draft_of(drafter, history, most, {}, 0, 2).tokens;
}

}  // namespace

TEST_CASE("a prediction is drafted from its beginning on", "[generate][draft]") {
  PredictionDrafter drafter(prediction);
  CHECK(draft(drafter, {}) == Tokens{10, 11, 12});
  CHECK(draft(drafter, {10, 11}) == Tokens{12, 13, 14});
  CHECK(draft(drafter, {10, 11, 12, 13, 14, 15, 16}) == Tokens{17});
  CHECK(draft(drafter, {10, 11, 12, 13, 14, 15, 16, 17}).empty());
}

TEST_CASE("where a text leaves its prediction it is found again", "[generate][draft]") {
  PredictionDrafter drafter(prediction);
  CHECK(draft(drafter, {10, 50}).empty());
  CHECK(draft(drafter, {10, 50, 13}) == Tokens{14, 15, 16});
  CHECK(draft(drafter, {10, 50, 13, 14}) == Tokens{15, 16, 17});
  CHECK(draft(drafter, {}) == Tokens{10, 11, 12});  // another text
}

TEST_CASE("tokens that the model does not have are not drafted", "[generate][draft]") {
  PredictionDrafter drafter(Tokens{10, 100, 11});
  CHECK(draft(drafter, {}) == Tokens{10});
  PredictionDrafter empty(Tokens{});
  CHECK(draft(empty, {}).empty());
}
