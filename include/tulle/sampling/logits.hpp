// SPDX-License-Identifier: Apache-2.0
/// \file Tests and searches on a row of logits: banned or not, the largest one (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include <tulle/core/types.hpp>

namespace tulle::detail {

/// Replaces the logit of a token that must not be chosen.
inline constexpr float banned = -std::numeric_limits<float>::infinity();

/// Tolerance of thresholds on sums of probabilities: one unit in the last place of a float below 1. So a sum of exactly
/// 1 - p is a tie, whatever the rounding of p.
inline constexpr double probability_rounding = 0x1p-24;

/// Whether a token can be chosen by its logit: neither -inf nor NaN.
constexpr bool eligible(float logit) noexcept {
  return logit > banned;
}

/// The largest eligible logit; `banned` when there is none.
inline float largest_logit(std::span<const float> logits) noexcept {
  std::array<float, 8> lanes;  // independent maxima, to hide the latency of the comparison
  lanes.fill(banned);
  std::size_t index = 0;
  for (; index + lanes.size() <= logits.size(); index += lanes.size()) {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const float logit = logits[index + lane];
      lanes[lane] = logit > lanes[lane] ? logit : lanes[lane];  // false for NaN
    }
  }
  for (; index < logits.size(); ++index) lanes[0] = logits[index] > lanes[0] ? logits[index] : lanes[0];
  return *std::max_element(lanes.begin(), lanes.end());
}

/// logit - largest, and 0 for the largest itself also when it is +inf.
inline float below_largest(float logit, float largest) noexcept {
  return logit == largest ? 0.0f : logit - largest;
}

/// Bans every token whose logit is less than `min_logit`; NaN stays.
inline void ban_below(std::span<float> logits, float min_logit) noexcept {
  for (float& logit : logits) logit = logit < min_logit ? banned : logit;
}

/// The choice when no token is eligible: the lowest id that is not banned (its logit is NaN), or 0.
inline Token fallback_token(std::span<const float> logits) noexcept {
  const auto found = std::find_if(logits.begin(), logits.end(), [](float logit) { return std::isnan(logit); });
  return found == logits.end() ? Token{0} : static_cast<Token>(found - logits.begin());
}

/// Overwrites the row with probability 1 for one token.
inline void write_one_hot(std::span<float> row, Token token) noexcept {
  std::fill(row.begin(), row.end(), 0.0f);
  if (!row.empty()) row[static_cast<std::size_t>(token)] = 1.0f;
}

}  // namespace tulle::detail
