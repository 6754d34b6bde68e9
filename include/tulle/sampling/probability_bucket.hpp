// SPDX-License-Identifier: Apache-2.0
/// \file Finds roughly, in one pass, the logits at which a share of the probability is reached (L2).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/sampling/probability_blocks.hpp>
#include <tulle/sampling/row_blocks.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle::detail {

/// The logits whose depth (their distance from the largest, in steps) is in [begin, begin + 1).
struct ProbabilityBucket {
  float largest;
  float steps;  ///< for a distance of 1
  float begin = 0;
  double mass_before = 0;  ///< of all smaller logits
  double total_mass = 0;

  template <class Batch>
  Batch depth(Batch logit) const noexcept {
    return below_largest(logit, Batch(largest)) * Batch(-steps);
  }
  template <class Batch>
  auto holds(Batch logit) const noexcept {
    const Batch found = depth(logit);
    return found >= Batch(begin) && found < Batch(begin + 1);
  }
};

/// Adds the weights (`ProbabilityBlocks`) of a row in ascending order of logits and finds the bucket within which their
/// sum first exceeds `share` of the total, or the largest logit's bucket where it never does.
/// Requires: `largest` is the row's, and eligible; share > 0.
///
/// A histogram over depths. It ends where weights are less than share / count: all of those together cannot reach the
/// share, since the total is at least 1. Complexity: O(count). 8 KiB of stack.
template <class Batch = DefaultBatch>
ProbabilityBucket find_weight_slice(std::span<const float> logits, float largest, double share) noexcept {
  constexpr std::size_t slices = 1024;
  constexpr double margin = 1e-3;  // far above the errors of exp and of the depth
  const double range = std::log(static_cast<double>(logits.size()) / share) + margin;
  ProbabilityBucket slice{.largest = largest, .steps = static_cast<float>(slices / range)};
  std::array<double, slices> histogram{};
  std::array<double, 8> sums{};  // independent, to hide the latency of the addition
  ProbabilityBlocks<Batch> blocks(logits, largest);
  for (std::size_t begin = 0; begin < logits.size(); begin += RowBlock<Batch>::size) {
    const RowBlock<Batch> block(logits, begin);
    const std::span<const float> weights = blocks.load(block);
    if (weights.empty()) continue;
    std::array<float, RowBlock<Batch>::size> depths;
    std::uint64_t near = 0;  // logits that have a place in the histogram
    block.for_each_batch([&](std::size_t index, Batch logit) {
      const Batch depth = slice.depth(logit);
      depth.store_unaligned(depths.data() + index);
      near |= std::uint64_t{(depth < Batch(slices)).mask()} << index;
    });
    for (std::size_t i = 0; i < weights.size(); i += sums.size()) {
      for (std::size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += weights[i + lane];
    }
    for_each_bit(near, [&](std::size_t i) { histogram[static_cast<std::size_t>(depths[i])] += weights[i]; });
  }

  for (const double sum : sums) slice.total_mass += sum;
  double sum = slice.total_mass;
  for (const double mass : histogram) sum -= mass;  // the remaining mass has no place
  for (std::size_t depth = slices; depth-- > 0;) {
    if (histogram[depth] <= 0) continue;
    slice.begin = static_cast<float>(depth);
    slice.mass_before = sum;
    sum += histogram[depth];
    if (sum > share * slice.total_mass) break;
  }
  return slice;
}

}  // namespace tulle::detail
