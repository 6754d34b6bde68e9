// SPDX-License-Identifier: Apache-2.0
/// \file Unnormalised probabilities of a row of logits, several at a time (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/row_blocks.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle::detail {

/// logit - largest, and 0 for the largest itself also when it is +inf.
template <class Batch>
Batch below_largest(Batch logit, Batch largest) noexcept {
  return xsimd::select(logit == largest, Batch(0.0f), logit - largest);
}

/// The unnormalised probability exp(logit - largest), in [0, 1], of every logit of a row; 0 for a token that cannot be
/// chosen, 1 for the largest also where that is +inf. Computed a block at a time on first access, so access in order is
/// cheap. A weight depends only on its logit and the largest one, not on its index.
template <class Batch = DefaultBatch>
class ProbabilityBlocks {
 public:
  using Block = RowBlock<Batch>;

  /// `largest`: of the logits, and eligible.
  ProbabilityBlocks(std::span<const float> logits, float largest) noexcept : logits_(logits), largest_(largest) {}

  float operator()(std::size_t index) noexcept {
    if (index / Block::size != current_) {
      current_ = index / Block::size;
      if (load(Block(logits_, current_ * Block::size)).empty()) weights_.fill(0);
    }
    return weights_[index % Block::size];
  }

  /// The weights of a block of the row, until the next call; empty when all of them are 0, which is a cheap test.
  std::span<const float> load(const Block& block) noexcept {
    if (block.mask([](Batch logit) { return logit > Batch(banned); }) == 0) return {};
    block.for_each_batch([&](std::size_t index, Batch logit) {
      const Batch weight = xsimd::exp(below_largest(logit, Batch(largest_)));
      xsimd::select(logit > Batch(banned), weight, Batch(0.0f)).store_unaligned(weights_.data() + index);
    });
    return weights_;
  }

  /// Overwrites `logits` with their weights and returns the sum, added in order.
  static double overwrite(std::span<float> logits, float largest) noexcept {
    ProbabilityBlocks blocks(logits, largest);
    double total = 0;
    for (std::size_t begin = 0; begin < logits.size(); begin += Block::size) {
      const auto row = logits.subspan(begin, std::min(Block::size, logits.size() - begin));
      const std::span<const float> weights = blocks.load(Block(logits, begin));
      if (weights.empty()) {
        std::fill(row.begin(), row.end(), 0.0f);
        continue;
      }
      std::copy_n(weights.begin(), row.size(), row.begin());
      for (const float weight : weights) total += weight;
    }
    return total;
  }

 private:
  std::span<const float> logits_;
  float largest_;
  std::size_t current_ = ~std::size_t{0};
  std::array<float, Block::size> weights_{};
};

}  // namespace tulle::detail
