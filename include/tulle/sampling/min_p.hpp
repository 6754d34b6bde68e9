// SPDX-License-Identifier: Apache-2.0
/// \file Min-p: tokens that are not too improbable beside the best one (L2).
#pragma once

#include <cmath>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Bans every token whose probability is less than min_p times the largest one (Nguyen et al., arXiv 2407.01082).
/// min_p = 0 bans nothing.
/// Errors: invalid_argument unless 0 <= min_p <= 1.
class MinP {
 public:
  explicit MinP(float min_p) : least_(std::log(min_p)) {
    if (!(min_p >= 0 && min_p <= 1)) {
      fail(ErrorCode::invalid_argument, "min_p must be a number from 0 to 1, got ", min_p);
    }
  }

  bool neutral() const noexcept { return least_ == detail::banned; }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    const float largest = detail::largest_logit(logits);
    for (float& logit : logits) {
      if (detail::below_largest(logit, largest) < least_) logit = detail::banned;
    }
  }

 private:
  float least_;  // log(min_p): the quotient of two probabilities is the difference of their logits
};

static_assert(LogitsTransform<MinP>);

}  // namespace tulle
