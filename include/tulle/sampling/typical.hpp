// SPDX-License-Identifier: Apache-2.0
/// \file Locally typical sampling: the tokens whose information is nearest to the entropy (L2).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/probability_blocks.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/sampling/selection.hpp>

namespace tulle {

/// Meister et al., arXiv 2202.00666, as transformers' TypicalLogitsWarper does it: tokens in ascending order of
/// d = |-log p - H|, H the entropy, are summed until the mass is reached; every token with a greater d than the last
/// one is banned, ties stay. mass = 1 bans nothing.
/// Errors: invalid_argument unless 0 < mass <= 1.
class Typical {
 public:
  explicit Typical(float mass) : mass_(mass) {
    if (!(mass > 0 && mass <= 1)) {
      fail(ErrorCode::invalid_argument, "typical_p must be a number above 0 and up to 1, got ", mass);
    }
  }

  bool neutral() const noexcept { return mass_ == 1.0f; }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    const float largest = detail::largest_logit(logits);
    if (neutral() || !detail::eligible(largest)) return;

    // With s = logit - largest: -log p = log(total) - s and H = log(total) - mean of s. So d = |s - mean|.
    double total = 0;
    double sum = 0;
    detail::ProbabilityBlocks<> weights(logits, largest);
    for (std::size_t token = 0; token < logits.size(); ++token) {
      const double weight = weights(token);
      if (weight > 0) {
        total += weight;
        sum += weight * detail::below_largest(logits[token], largest);
      }
    }
    const float mean = static_cast<float>(sum / total);
    const auto distance = [largest, mean](float logit) {
      return std::bit_cast<std::uint32_t>(std::abs(detail::below_largest(logit, largest) - mean));
    };
    const double needed = mass_ - detail::probability_rounding;
    const auto found = detail::find_threshold(
        logits.size(), [&](std::size_t token) { return distance(logits[token]); }, weights,
        [needed](double reached, double all) { return reached >= needed * all; });
    for (float& logit : logits) {
      if (detail::eligible(logit) && distance(logit) > found.key) logit = detail::banned;
    }
  }

 private:
  float mass_;
};

static_assert(LogitsTransform<Typical>);

}  // namespace tulle
