// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/temperature.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/golden.hpp"

using namespace tulle;
using tulle::golden::applied;
using tulle::golden::kept;

TEST_CASE("temperature gives the scores of transformers", "[sampling][temperature]") {
  golden::check_transform<float>("temperature", [](float value) { return Temperature(value); });
}

TEST_CASE("temperature divides and keeps bans", "[sampling][temperature]") {
  CHECK(applied(Temperature(0.5f), {1, -2, golden::minus_infinity}) ==
        std::vector<float>{2, -4, golden::minus_infinity});
  CHECK(Temperature(1).neutral());
}

TEST_CASE("temperature refuses what it cannot divide by", "[sampling][temperature]") {
  for (const float wrong : {0.0f, -1.0f, 1e-9f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    CHECK_THROWS_AS(Temperature(wrong), Error);
  }
  CHECK_THROWS_WITH(Temperature(-1), Catch::Matchers::ContainsSubstring("temperature"));
}
