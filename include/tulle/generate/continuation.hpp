// SPDX-License-Identifier: Apache-2.0
/// \file How a running sequence goes on: its sampler, its options and where it stands (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include <tulle/core/types.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/sampling/rejection.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

template <Sampler SamplerType>
struct Continuation {
  std::optional<SamplerType> sampling;
  SequenceOptions options;
  std::size_t prompt_length = 0, generated = 0;  ///< tokens: what the sampler takes for the prompt; drawn in this run

  /// What the sampler may know of the token that follows `history`.
  SamplingContext context(std::span<const Token> history) const noexcept {
    return {history, prompt_length, static_cast<Position>(history.size()), options.seed, options.rng_stream};
  }

  /// The token that follows `history`. `drafted`: guesses of it and of what follows; `proposal`: what the first of them
  /// was drawn from. Overwrites the logits.
  Token draw(std::span<float> logits, std::span<const Token> history, std::span<const Token> drafted,
             std::span<const float> proposal) const noexcept {
    if (options.verification == Verification::coupled || drafted.empty()) {
      return sampling->sample(logits, context(history));
    }
    sampling->distribution(logits, context(history));
    return accept_or_redraw(logits, proposal, drafted.front(), context(history));
  }

  /// Why the sequence ends with the token that was drawn last, apart from a full cache.
  FinishReason finish_after(Token token) const noexcept {
    const bool ends = std::find(options.eos.begin(), options.eos.end(), token) != options.eos.end();
    if (ends && !options.ignore_eos) return FinishReason::stop;
    return generated >= options.max_new_tokens ? FinishReason::length : FinishReason::none;
  }
};

}  // namespace tulle
