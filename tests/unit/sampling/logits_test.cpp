// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/logits.hpp>

#include <vector>

#include <catch2/catch_all.hpp>

#include "unit/sampling/special_floats.hpp"

using namespace tulle;
using namespace tulle::detail;

TEST_CASE("the largest logit is found at every place of rows of every length and NaN is passed over",
          "[sampling][logits]") {
  for (std::size_t size = 1; size <= 35; ++size) {
    for (std::size_t place = 0; place < size; ++place) {
      std::vector<float> row(size, -3.0f);
      row[(place + 1) % size] = not_a_number;
      row[place] = 2.0f;
      REQUIRE(largest_logit(row) == 2.0f);
    }
  }
  CHECK(largest_logit({}) == banned);
  CHECK(largest_logit(std::vector<float>{not_a_number, -inf}) == banned);
  CHECK(largest_logit(std::vector<float>{not_a_number, -inf, -5}) == -5);
  CHECK(largest_logit(std::vector<float>{1, inf}) == inf);
}

TEST_CASE("the fallback is the lowest id that is not banned, else 0", "[sampling][logits]") {
  CHECK(fallback_token(std::vector<float>{-inf, not_a_number, not_a_number}) == 1);
  CHECK(fallback_token(std::vector<float>{-inf, -inf}) == 0);
  CHECK(fallback_token({}) == 0);
}
