// SPDX-License-Identifier: Apache-2.0
/// \file How sparsities differ between decoder layers (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace tulle {

/// By how much the first and the last layer differ from the mean, unless a recipe says it.
inline constexpr double default_rise = 0.05;

/// The largest share of a difference from `mean` that keeps the sum between 0 and 0.99. One share for all layers keeps
/// the mean of differences whose mean is 0.
inline double share_in_bounds(double mean, double difference) {
  const double room = std::max(difference > 0 ? 0.99 - mean : mean, 0.0);
  return std::abs(difference) > room ? room / std::abs(difference) : 1;
}

/// Sparsities that rise evenly from `mean - spread` of the first of `layers` to `mean + spread` of the last (ATP,
/// arXiv:2502.14770), by less where one would lie beyond `share_in_bounds`.
inline std::vector<double> rising_sparsities(std::size_t layers, double mean, double spread) {
  std::vector<double> sparsities(layers, mean);
  spread *= std::min(share_in_bounds(mean, spread), share_in_bounds(mean, -spread));
  for (std::size_t i = 0; layers > 1 && i < layers; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(layers - 1);
    sparsities[i] = mean + spread * (2 * share - 1);
  }
  return sparsities;
}

/// What is added to the sparsity of every layer whose share of outliers is given: their mean is 0, and they differ by
/// 2 * spread (OWL, arXiv:2310.05175, section 3.2).
inline std::vector<double> owl_differences(std::span<const double> outliers, double spread) {
  const auto [least, most] = std::minmax_element(outliers.begin(), outliers.end());
  std::vector<double> differences;
  double mean = 0;
  for (const double share : outliers) {
    differences.push_back(*most > *least ? -2 * spread * (share - *least) / (*most - *least) : 0);
    mean += differences.back() / static_cast<double>(outliers.size());
  }
  for (double& difference : differences) difference -= mean;
  return differences;
}

}  // namespace tulle
