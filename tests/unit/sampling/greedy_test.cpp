// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/greedy.hpp>

#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/sampling/special_floats.hpp"

using namespace tulle;

namespace {
Token chosen(std::vector<float> logits) {
  return Greedy().sample(logits, {});
}
}  // namespace

TEST_CASE("greedy takes the largest logit and of equals the lowest id", "[sampling][greedy]") {
  CHECK(chosen({1, 3, 2}) == 1);
  CHECK(chosen({1, 3, 3, 2, 3}) == 1);
  CHECK(chosen({-5}) == 0);
  CHECK(chosen({-inf, -7, -inf}) == 1);
  CHECK(chosen({2, inf, inf}) == 1);
  CHECK(chosen({not_a_number, 1, not_a_number, 4}) == 3);
}

TEST_CASE("greedy has an answer when no logit is a number", "[sampling][greedy]") {
  CHECK(chosen({not_a_number, not_a_number}) == 0);
  CHECK(chosen({-inf, not_a_number, not_a_number}) == 1);
  CHECK(chosen({-inf, -inf}) == 0);
}

TEST_CASE("greedy's distribution is one for its choice", "[sampling][greedy]") {
  std::vector<float> logits{1, 3, not_a_number, -inf};
  Greedy().distribution(logits, {});
  CHECK(logits == std::vector<float>{0, 1, 0, 0});
}
