// SPDX-License-Identifier: Apache-2.0
/// \file A token drawn by its probability (L2).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/core/rng.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/probability_blocks.hpp>
#include <tulle/sampling/row_blocks.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/tensor/simd.hpp>

namespace tulle {

/// Draws an id with probability weights[id] / total, by inversion of the cumulative sum in order of ids.
/// Requires: finite weights >= 0; `total`, above 0, is their sum in order of ids; `random` in [0, 1).
template <class Batch = DefaultBatch>
Token draw(std::span<const float> weights, double total, double random) noexcept {
  const double target = random * total;
  double sum = 0;
  std::size_t last = 0;
  for (std::size_t begin = 0; begin < weights.size(); begin += detail::RowBlock<Batch>::size) {
    const detail::RowBlock<Batch> block(weights, begin);
    std::uint64_t left = block.mask([](Batch weight) { return weight > Batch(0.0f); });
    for (; left != 0; left &= left - 1) {
      last = begin + static_cast<std::size_t>(std::countr_zero(left));
      sum += weights[last];
      if (sum > target) return static_cast<Token>(last);
    }
  }
  return static_cast<Token>(last);
}

/// Draws from the softmax of the logits. The random number is `uniform(seed, sequence, position)`, and nothing else.
class Multinomial {
 public:
  Token sample(std::span<float> logits, const SamplingContext& context) const noexcept {
    const float largest = detail::largest_logit(logits);
    if (!detail::eligible(largest)) return detail::fallback_token(logits);
    const double total = detail::ProbabilityBlocks<>::overwrite(logits, largest);
    return draw(logits, total, uniform(context.seed, context.sequence, context.position));
  }

  void distribution(std::span<float> logits, const SamplingContext&) const noexcept {
    const float largest = detail::largest_logit(logits);
    if (!detail::eligible(largest)) return detail::write_one_hot(logits, detail::fallback_token(logits));
    const double total = detail::ProbabilityBlocks<>::overwrite(logits, largest);
    for (float& value : logits) value = static_cast<float>(value / total);
  }
};

static_assert(Sampler<Multinomial>);

}  // namespace tulle
