// SPDX-License-Identifier: Apache-2.0
/// \file The most probable token (L2).
#pragma once

#include <cstddef>
#include <span>

#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Chooses the token with the largest logit; among equals the lowest id.
class Greedy {
 public:
  Token sample(std::span<float> logits, const SamplingContext&) const noexcept {
    const float largest = detail::largest_logit(logits);
    if (!detail::eligible(largest)) return detail::fallback_token(logits);
    std::size_t token = 0;
    while (!(logits[token] == largest)) ++token;
    return static_cast<Token>(token);
  }

  void distribution(std::span<float> logits, const SamplingContext& context) const noexcept {
    detail::write_one_hot(logits, sample(logits, context));
  }
};

static_assert(Sampler<Greedy>);

}  // namespace tulle
