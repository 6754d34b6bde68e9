// SPDX-License-Identifier: Apache-2.0
/// \file Top-k: only the k most probable tokens (L2).
#pragma once

#include <cstddef>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/sampling/selection.hpp>

namespace tulle {

/// Bans every token whose logit is less than the k-th largest. Tokens that tie with it all stay, as in transformers'
/// TopKLogitsWarper. k = 0 bans nothing.
/// Errors: invalid_argument for k < 0.
class TopK {
 public:
  explicit TopK(int k) : k_(k) {
    if (k < 0) fail(ErrorCode::invalid_argument, "top_k must be 0 (off) or positive, got ", k);
  }

  bool neutral() const noexcept { return k_ == 0; }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    if (neutral() || static_cast<std::size_t>(k_) >= logits.size()) return;
    const auto found = detail::find_threshold(
        logits.size(), [&](std::size_t token) { return ~detail::ordered_bits(logits[token]); },  // largest logit first
        [&](std::size_t token) { return detail::eligible(logits[token]) ? 1.0 : 0.0; },
        [this](double sum, double) { return sum >= k_; });
    for (float& logit : logits) {
      if (detail::eligible(logit) && ~detail::ordered_bits(logit) > found.key) logit = detail::banned;
    }
  }

 private:
  int k_;
};

static_assert(LogitsTransform<TopK>);

}  // namespace tulle
