// SPDX-License-Identifier: Apache-2.0
/// \file What guesses the next tokens of sequences: the concept `Drafter` (L4).
#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Guesses of the tokens that follow one sequence, while they are made.
/// Lifetime: the history in `context` and `sampler` are the caller's, until the draft ends.
template <Sampler SamplerType>
struct Draft {
  SequenceId sequence = 0;               ///< of the target; its histories may be unrelated from one draft to the next
  SamplingContext context;               ///< of the target's next token
  const SamplerType* sampler = nullptr;  ///< the target's
  std::span<const Token> eos;            ///< nothing follows these
  const std::atomic<bool>* cancel = nullptr;   ///< set: the target ends, so nothing more is read or drafted
  std::size_t max_tokens = 0, vocabulary = 0;  ///< at most so many tokens, ids below `vocabulary`
  bool wants_distributions = false;

  std::vector<Token> tokens;
  /// [tokens] how sure each is, in [0, 1]. Any measure that grows with the share of tokens that are accepted.
  std::vector<float> confidences;
  /// [tokens, vocabulary] what each was drawn from, where that is wanted; empty: every token was certain.
  std::vector<float> distributions;
  bool ended = false;  ///< nothing more comes

  void start(SequenceId of, const SamplingContext& next) noexcept {
    sequence = of;
    context = next;
    tokens.clear();
    confidences.clear();
    distributions.clear();
    ended = false;
  }
  void add(Token token, float confidence) {
    tokens.push_back(token);
    confidences.push_back(confidence);
    ended = ended || tokens.size() >= max_tokens;
  }
};

/// - `begin(draft)`: a draft begins; whatever the drafter keeps of its sequence is brought up to its history. A drafter
///   may have `begin(draft, cache)` besides, and then that is called: the target's cache holds all of the history but its
///   last token.
/// - `extend(drafts)`: adds a token or more to each of the drafts, which have begun and not ended, or ends it. One that
///   is still reading its history may add nothing yet. Drafts of other sequences may be left out and taken in again.
/// - `end(draft)`: no more is wanted of it. After an error of the drafter it is called for all drafts of the step, also
///   for those that have ended or not begun.
///
/// A drafter whose tokens cost nothing has `static constexpr bool is_free = true`; its tokens are certain.
///
/// Tokens may depend on what is in the draft and on nothing that will be. The draws of a sampler at the positions of a
/// draft are those of random stream 0. Errors: memory. Threads: one at a time.
template <class D, class SamplerType>
concept Drafter = requires(D& drafter, Draft<SamplerType>& draft, std::span<Draft<SamplerType>* const> drafts) {
  { drafter.begin(draft) } -> std::same_as<void>;
  { drafter.extend(drafts) } -> std::same_as<void>;
  { drafter.end(draft) } -> std::same_as<void>;
};

}  // namespace tulle
