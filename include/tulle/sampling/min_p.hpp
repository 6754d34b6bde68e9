// SPDX-License-Identifier: Apache-2.0
/// \file Min-p: only tokens whose probability is close enough to the best one's (L2).
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
  explicit MinP(float min_p) : log_min_p_(std::log(min_p)) {
    if (!(min_p >= 0 && min_p <= 1)) {
      fail(ErrorCode::invalid_argument, "min_p must be a number from 0 to 1, got ", min_p);
    }
  }

  bool neutral() const noexcept { return log_min_p_ == detail::banned; }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    const float largest = detail::largest_logit(logits);
    for (float& logit : logits) {
      if (detail::below_largest(logit, largest) < log_min_p_) logit = detail::banned;
    }
  }

 private:
  float log_min_p_;  // log(min_p): the log of a quotient of probabilities is the difference of their logits
};

static_assert(LogitsTransform<MinP>);

}  // namespace tulle
