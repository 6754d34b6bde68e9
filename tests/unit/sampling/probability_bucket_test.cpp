// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/probability_bucket.hpp>

#include <catch2/catch_all.hpp>

#include "unit/sampling/odd_rows.hpp"

using namespace tulle;
using namespace tulle::detail;

TEST_CASE("a running sum of weights reaches its share within the bucket that is found",
          "[sampling][probability_bucket][long]") {
  for (const OddRow& row : odd_rows()) {
    const float largest = largest_logit(row.logits);
    if (!eligible(largest)) continue;
    for (const double share : {1e-7, 0.05, 0.5, 0.999}) {
      INFO(row.name << ", " << share);
      const ProbabilityBucket slice = find_weight_slice(row.logits, largest, share);
      const auto within = [&](float logit) { return (slice.holds(DefaultBatch(logit)).mask() & 1) != 0; };
      float least = inf;
      for (const float logit : row.logits) {
        if (within(logit)) least = std::min(least, logit);
      }
      double total = 0, below = 0, held = 0;
      ProbabilityBlocks<> weights(row.logits, largest);
      for (std::size_t i = 0; i < row.logits.size(); ++i) {
        total += weights(i);
        if (within(row.logits[i])) {
          held += weights(i);
        } else if (row.logits[i] < least) {
          below += weights(i);
        }
      }
      CHECK(held > 0);
      CHECK(slice.total_mass == Catch::Approx(total).epsilon(1e-12));
      CHECK(slice.mass_before == Catch::Approx(below).epsilon(1e-12).margin(1e-12 * total));
      CHECK(below <= share * total * (1 + 1e-12));
      CHECK(below + held >= share * total * (1 - 1e-12));
    }
  }
}

TEST_CASE("a share that no sum exceeds gives the slice of the largest logit", "[sampling][weight_slice]") {
  const std::vector<float> row{1, 4, 3};
  CHECK(find_weight_slice(row, 4, 1 + 0x1p-24).begin == 0);
}
