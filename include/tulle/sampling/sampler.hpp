// SPDX-License-Identifier: Apache-2.0
/// \file How a token is picked from a row of logits: the concepts `Sampler` and `LogitsTransform` (L2).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/core/types.hpp>

namespace tulle {

/// Everything a choice may depend on, except the logits. It is passed at every call, so a sequence that was rolled
/// back, forked or moved to another thread draws the same tokens.
/// Lifetime: a view; `history` must outlive the call.
struct SamplingContext {
  std::span<const Token> history;  ///< prompt and generated tokens so far, oldest first
  std::size_t prompt_length = 0;   ///< how many tokens of `history` are prompt
  Position position = 0;           ///< of the token to be chosen
  std::uint64_t seed = 0;
  std::uint64_t sequence = 0;  ///< number of the random stream: with `seed` and `position` it keys the draw

  /// The part of the history that was generated.
  std::span<const Token> generated() const noexcept { return history.subspan(std::min(prompt_length, history.size())); }
};

/// Picks a token. `logits` is one row over the vocabulary, not empty, and may be overwritten by either call.
///
/// `distribution` turns the logits into the probabilities that `sample` draws from (for a greedy sampler: one 1, the
/// rest 0). A logit of -inf bans its token; NaN has probability 0. When no token is left, the choice is the lowest id
/// whose logit is NaN (the model failed, but the token is not banned), or 0 when every logit is -inf. Both are pure
/// functions of their arguments: no state that `truncate` could not undo, no allocation.
/// Threads: const; one object may serve many sequences at once.
template <class S>
concept Sampler = requires(const S& sampler, std::span<float> logits, const SamplingContext& context) {
  { sampler.sample(logits, context) } noexcept -> std::same_as<Token>;
  { sampler.distribution(logits, context) } noexcept -> std::same_as<void>;
};

/// Rewrites logits in place before the choice; -inf bans a token. NaN stays NaN, and a ban is never lifted.
/// Threads: const and without state, as for `Sampler`.
template <class T>
concept LogitsTransform = requires(const T& transform, std::span<float> logits, const SamplingContext& context) {
  { transform.apply(logits, context) } noexcept -> std::same_as<void>;
};

}  // namespace tulle
