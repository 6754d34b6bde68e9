// SPDX-License-Identifier: Apache-2.0
/// \file Options of one generated sequence, and what it emits (L4).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include <tulle/core/types.hpp>

namespace tulle {

/// Why a sequence stopped.
enum class FinishReason {
  none,       ///< it has not
  stop,       ///< an eos token (or, in texts, a stop string)
  length,     ///< max_new_tokens
  capacity,   ///< the cache is full
  callback,   ///< the caller's callback returned false
  cancelled,  ///< the caller's flag is set
};

constexpr std::string_view finish_reason_name(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::none: return "none";
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::capacity: return "capacity";
    case FinishReason::callback: return "callback";
    case FinishReason::cancelled: return "cancelled";
  }
  return "unknown";
}

/// The first of `tokens` that is no id of a vocabulary of that size; nullptr when all are.
inline const Token* first_outside(std::span<const Token> tokens, std::size_t vocabulary) noexcept {
  for (const Token& each : tokens) {
    if (each < 0 || static_cast<std::size_t>(each) >= vocabulary) return &each;
  }
  return nullptr;
}

/// How a drafted token becomes one of the text. Both leave the distribution of texts what it is without a draft.
enum class Verification {
  coupled,   ///< it must be the token that the sampler draws: the text of a seed is the same with any draft
  rejection  ///< `accept_or_redraw`: accepted more often where tokens are drawn, another text of the same distribution
};

/// How one sequence is generated, apart from how its tokens are picked.
struct SequenceOptions {
  std::size_t max_new_tokens = 100;  ///< 0: only put the prompt into the cache
  std::vector<Token> eos;            ///< any of them ends the sequence and is part of it
  bool ignore_eos = false;           ///< generate max_new_tokens, eos or not
  std::uint64_t seed = 0;
  std::uint64_t rng_stream = 0;      ///< sequences of one seed draw differently in different streams
  bool log_probabilities = false;    ///< report log softmax of the raw logits at the chosen token
  bool prompt_logits = false;        ///< observe the logits of every prompt row
  Position prompt_from = 0;          ///< where it begins, behind what the sequence had
  bool last_logits = false;          ///< observe those of the last prompt row although max_new_tokens is 0
  std::size_t generated_before = 0;  ///< tokens at the end of the history that are no prompt to the sampler
  Verification verification = Verification::coupled;
  const std::atomic<bool>* cancel = nullptr;  ///< set from any thread, ends this sequence and no other
};

/// One new token of one sequence, or its end without one.
struct Emission {
  SequenceId sequence = 0;
  Token token = 0;  ///< -1: the sequence ended without a token (capacity, cancelled, max_new_tokens 0)
  FinishReason finish = FinishReason::none;
  float log_probability = 0;  ///< with `SequenceOptions::log_probabilities`
  bool drafted = false;       ///< it was guessed by the draft
  std::uint32_t draft = 0;    ///< guesses that the step examined; of the sequence's first emission in the step
};

/// Called with the raw logits [vocabulary] that follow the token at `position`, before a sampler changes them. Must not
/// throw.
using LogitsObserver = std::function<void(SequenceId, Position, std::span<const float>)>;

/// log softmax(logits)[token], accumulated in double.
inline float log_probability(std::span<const float> logits, Token token) noexcept {
  const float maximum = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - maximum));
  return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token)] - maximum) - std::log(sum));
}

}  // namespace tulle
