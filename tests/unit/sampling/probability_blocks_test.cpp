// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/probability_blocks.hpp>

#include <cmath>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/rng.hpp>

#include "unit/sampling/special_floats.hpp"

using namespace tulle;
using namespace tulle::detail;

namespace {

float weight(float logit, float largest) {
  return ProbabilityBlocks<>(std::span<const float>(&logit, 1), largest)(0);
}

}  // namespace

TEST_CASE("a weight is 1 for the largest logit and 0 for a token that cannot be chosen", "[sampling][weight_blocks]") {
  CHECK(weight(3, 3) == 1);
  CHECK(weight(inf, inf) == 1);
  CHECK(weight(3, inf) == 0);
  CHECK(weight(-inf, 3) == 0);
  CHECK(weight(not_a_number, 3) == 0);
  CHECK(weight(-1000, 3) == 0);
}

TEST_CASE("weights are those of std::exp at every place of rows of every length", "[sampling][weight_blocks]") {
  for (const std::size_t size : {1u, 5u, 63u, 64u, 65u, 200u}) {
    std::vector<float> logits(size);
    for (std::uint32_t i = 0; i < size; ++i) logits[i] = static_cast<float>(uniform(9, 0, i) * 60 - 50);
    logits[size / 2] = not_a_number;
    const float largest = largest_logit(std::vector<float>(logits.begin(), logits.end()));
    if (!eligible(largest)) continue;
    ProbabilityBlocks<> in_order(logits, largest), backwards(logits, largest);
    std::vector<float> weights(size);
    double total = 0;
    for (std::size_t i = 0; i < size; ++i) {
      CAPTURE(size, i, logits[i]);
      weights[i] = in_order(i);
      total += weights[i];
      CHECK(weights[i] == weight(logits[i], largest));  // wherever it stands
      if (!std::isnan(logits[i]))
        CHECK(weights[i] == Catch::Approx(std::exp(logits[i] - largest)).epsilon(4e-7).margin(1e-37));
    }
    for (std::size_t i = size; i-- > 0;) CHECK(backwards(i) == weights[i]);
    CHECK(ProbabilityBlocks<>::overwrite(logits, largest) == total);
    CHECK(logits == weights);
  }
}
