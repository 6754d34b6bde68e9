// SPDX-License-Identifier: Apache-2.0
/// \file Unnormalised probabilities of a row of logits, several at a time (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <tulle/sampling/logits.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle::detail {

/// The unnormalised probability exp(logit - largest), in [0, 1], of every logit of a row; 0 for a token that cannot be
/// chosen, 1 for the largest also where that is +inf. Computed a block at a time when one of the block is asked for:
/// cheap where they are asked for in order. A weight depends on its logit and the largest one alone, not on where it stands.
template <class Batch = DefaultBatch>
class WeightBlocks {
 public:
  static constexpr std::size_t block = 64;

  /// `largest`: of the logits, and eligible.
  WeightBlocks(std::span<const float> logits, float largest) noexcept : logits_(logits), largest_(largest) {}

  float operator()(std::size_t index) noexcept {
    if (index / block != current_) load(index / block);
    return weights_[index % block];
  }

  /// Overwrites `logits` with their weights and returns the sum, added in order.
  static double overwrite(std::span<float> logits, float largest) noexcept {
    WeightBlocks weights(logits, largest);
    double total = 0;
    for (std::size_t begin = 0; begin < logits.size(); begin += block) {
      weights.load(begin / block);
      const std::size_t count = std::min(block, logits.size() - begin);
      for (std::size_t i = 0; i < count; ++i) {
        logits[begin + i] = weights.weights_[i];
        total += weights.weights_[i];
      }
    }
    return total;
  }

 private:
  void load(std::size_t number) noexcept {
    current_ = number;
    const std::size_t begin = number * block, count = std::min(block, logits_.size() - begin);
    float best = banned;
    for (std::size_t i = 0; i < count; ++i) best = logits_[begin + i] > best ? logits_[begin + i] : best;
    if (!eligible(best)) return weights_.fill(0);  // most blocks, after another transform has banned nearly all tokens
    std::copy_n(logits_.begin() + static_cast<std::ptrdiff_t>(begin), count, weights_.begin());
    std::fill(weights_.begin() + static_cast<std::ptrdiff_t>(count), weights_.end(), banned);
    for (std::size_t i = 0; i < block; i += Batch::size) {
      const Batch logit = Batch::load_unaligned(weights_.data() + i);
      const Batch below = xsimd::select(logit == Batch(largest_), Batch(0.0f), logit - Batch(largest_));  // inf - inf
      xsimd::select(logit > Batch(banned), xsimd::exp(below), Batch(0.0f)).store_unaligned(weights_.data() + i);
    }
  }

  std::span<const float> logits_;
  float largest_;
  std::size_t current_ = ~std::size_t{0};
  std::array<float, block> weights_{};
};

}  // namespace tulle::detail
