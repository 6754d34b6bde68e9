// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/logit_bias.hpp>

#include <catch2/catch_all.hpp>
#include <limits>

#include "unit/sampling/golden.hpp"

using namespace tulle;
using tulle::golden::applied;

TEST_CASE("a bias is added to the logit of its token, and to no other", "[sampling][logit_bias]") {
  const std::vector<float> row{1, 2, 3, 4};
  CHECK(applied(LogitBias({{1, 5.0f}, {3, -100.0f}, {99, 1.0f}, {-1, 1.0f}}), row, {}) ==
        std::vector<float>{1, 7, 3, -96});
  CHECK(applied(LogitBias({{0, 1.0f}, {0, 1.0f}}), row, {}) == std::vector<float>{3, 2, 3, 4});
}

TEST_CASE("a banned token stays banned, whatever its bias", "[sampling][logit_bias]") {
  const float banned = -std::numeric_limits<float>::infinity();
  CHECK(applied(LogitBias({{0, 100.0f}}), {banned, 1}, {}) == std::vector<float>{banned, 1});
}

TEST_CASE("no bias changes nothing, and a bias is finite", "[sampling][logit_bias]") {
  CHECK(LogitBias({}).neutral());
  CHECK_THROWS_AS(LogitBias({{1, std::numeric_limits<float>::infinity()}}), Error);
  CHECK_THROWS_AS(LogitBias({{1, std::numeric_limits<float>::quiet_NaN()}}), Error);
}
