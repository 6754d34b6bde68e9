// SPDX-License-Identifier: Apache-2.0
/// \file Slopes of attention with linear biases (L3).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tulle {

/// 2^(-bias_max * i / n) for i = 1 to n, the slopes of n heads, n a power of two.
/// Source: Press, Smith, Lewis, "Train Short, Test Long: Attention with Linear Biases", 2021.
inline std::vector<float> alibi_powers(std::size_t n, double bias_max = 8) {
  std::vector<float> slopes(n);
  for (std::size_t i = 0; i < n; ++i) {
    slopes[i] = static_cast<float>(std::exp2(-bias_max * static_cast<double>(i + 1) / static_cast<double>(n)));
  }
  return slopes;
}

/// Slopes of any number of heads: those of the power of two below it, then every second one of the next power's.
inline std::vector<float> alibi_slopes(std::size_t heads) {
  const std::size_t below = std::bit_floor(heads);
  std::vector<float> slopes = alibi_powers(below);
  if (below == heads) return slopes;
  const std::vector<float> next = alibi_powers(2 * below);
  for (std::size_t i = 0; slopes.size() < heads; i += 2) slopes.push_back(next[i]);
  return slopes;
}

}  // namespace tulle
