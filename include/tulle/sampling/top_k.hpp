// SPDX-License-Identifier: Apache-2.0
/// \file Top-k: only the k most probable tokens (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/row_blocks.hpp>
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
    const auto k = static_cast<std::size_t>(k_);
    if (neutral() || k >= logits.size()) return;
    std::array<float, 2048> room;
    const float bound = lower_bound(logits, k);
    const auto few =
        detail::copy_few(logits, room, [bound]<class Batch>(Batch logit) { return logit >= Batch(bound); });
    if (few.size() >= k) detail::ban_below(logits, kth_largest(few, k));
  }

 private:
  /// The smallest eligible one where there are not so many. Requires: one is eligible.
  static float kth_largest(std::span<const float> logits, std::size_t k) noexcept {
    const auto found = detail::find_threshold(
        logits.size(), [&](std::size_t index) { return ~detail::ordered_bits(logits[index]); },  // largest logit first
        [&](std::size_t index) { return detail::eligible(logits[index]) ? 1.0 : 0.0; },
        [k](double sum, double) { return sum >= static_cast<double>(k); });
    return detail::ordered_value(~found.key);
  }

  /// At most the k-th largest logit: the k-th largest of the largest ones of 1024 parts of the row.
  static float lower_bound(std::span<const float> logits, std::size_t k) noexcept {
    std::array<float, 1024> largest;
    largest.fill(std::numeric_limits<float>::lowest());
    if (k > largest.size()) return largest[0];
    for (; !logits.empty(); logits = logits.subspan(std::min(logits.size(), largest.size()))) {
      const std::size_t count = std::min(logits.size(), largest.size());
      for (std::size_t i = 0; i < count; ++i) largest[i] = logits[i] > largest[i] ? logits[i] : largest[i];
    }
    return kth_largest(largest, k);
  }

  int k_;
};

static_assert(LogitsTransform<TopK>);

}  // namespace tulle
