// SPDX-License-Identifier: Apache-2.0
/// \file Top-p: the smallest set of most probable tokens that holds a mass of p (L2).
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/probability_blocks.hpp>
#include <tulle/sampling/probability_bucket.hpp>
#include <tulle/sampling/row_blocks.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/sampling/selection.hpp>

namespace tulle {

/// Nucleus sampling (Holtzman et al., arXiv 1904.09751) by the rule of transformers' TopPLogitsWarper: from the
/// least probable token upwards, equal ones in order of ids, a token is banned while the sum up to and with it is
/// <= 1 - p. The last of that order always stays. p = 1 bans nothing. (Of equal tokens transformers bans as many, but
/// its sort does not say which.)
/// Errors: invalid_argument unless 0 <= p <= 1.
class TopP {
 public:
  explicit TopP(float p) : p_(p) {
    if (!(p >= 0 && p <= 1)) fail(ErrorCode::invalid_argument, "top_p must be a number from 0 to 1, got ", p);
  }

  bool neutral() const noexcept { return p_ == 1.0f; }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    const float largest = detail::largest_logit(logits);
    if (neutral() || !detail::eligible(largest)) return;
    const double share = 1.0 - p_ + detail::probability_rounding;
    const detail::ProbabilityBucket slice = detail::find_weight_slice(logits, largest, share);
    const double limit = share * slice.total_mass;

    std::array<float, 2048> room;
    const auto few = detail::copy_few(logits, room, [&slice](auto batch) { return slice.holds(batch); });
    const double before = few.data() == room.data() ? slice.mass_before : 0;  // else `few` is the row
    detail::ProbabilityBlocks<> weights(few, largest);
    const auto found = detail::find_threshold(
        few.size(), [&](std::size_t index) { return detail::ordered_bits(few[index]); }, weights,
        [=](double sum, double) { return before + sum > limit; });
    const float threshold = detail::ordered_value(found.key);
    detail::ban_below(logits, threshold);
    ban_ties(logits, threshold, largest, before + found.mass_before, limit);
  }

 private:
  /// Bans the first of the tokens whose logit is `threshold`, as many as keep the sum, with the tokens below, at most
  /// `limit`.
  static void ban_ties(std::span<float> logits, float threshold, float largest, double sum, double limit) noexcept {
    const double weight = detail::ProbabilityBlocks<>(std::span<const float>(&threshold, 1), largest)(0);
    if (sum + weight > limit) return;
    float* last = nullptr;
    for (float& logit : logits) {
      if (logit != threshold) continue;
      if (last != nullptr) *last = detail::banned;
      sum += weight;
      if (sum > limit) return;
      last = &logit;
    }
    if (last != nullptr && threshold < largest) *last = detail::banned;
  }

  float p_;
};

static_assert(LogitsTransform<TopP>);

}  // namespace tulle
