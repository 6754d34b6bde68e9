// SPDX-License-Identifier: Apache-2.0
/// \file Top-p: the smallest set of most probable tokens that holds a mass of p (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/sampling/selection.hpp>
#include <tulle/sampling/weight_blocks.hpp>

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
    const double limit = 1.0 - p_ + detail::probability_rounding;
    const auto stays = [limit](double sum, double total) { return sum > limit * total; };
    const auto found = detail::find_threshold(
        logits.size(), [&](std::size_t token) { return detail::ordered_bits(logits[token]); },
        detail::WeightBlocks<>(logits, largest), stays);

    detail::WeightBlocks<> weights(logits, largest);
    double sum = found.mass_before;
    float* last = nullptr;  // the last banned token of the threshold's logit
    float last_logit = 0;
    bool some_stay = false;
    for (std::size_t token = 0; token < logits.size(); ++token) {
      float& logit = logits[token];
      if (!detail::eligible(logit)) continue;
      const std::uint32_t key = detail::ordered_bits(logit);
      bool keep = key > found.key;
      if (key == found.key) {
        sum += weights(token);
        keep = stays(sum, found.total_mass);
        if (!keep) {
          last = &logit;
          last_logit = logit;
        }
      }
      some_stay = some_stay || keep;
      if (!keep) logit = detail::banned;
    }
    if (!some_stay && last != nullptr) *last = last_logit;
  }

 private:
  float p_;
};

static_assert(LogitsTransform<TopP>);

}  // namespace tulle
