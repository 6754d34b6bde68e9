// SPDX-License-Identifier: Apache-2.0
/// \file What one generated sequence is asked for and what it reports (L4).
#pragma once

#include <algorithm>
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
  callback,   ///< the caller's callback said so
  cancelled,  ///< the caller's flag said so
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

/// How one sequence is generated, apart from how its tokens are picked.
struct SequenceOptions {
  std::size_t max_new_tokens = 100;  ///< 0: only put the prompt into the cache
  std::vector<Token> eos;            ///< any of them ends the sequence and is part of it
  bool ignore_eos = false;           ///< go on to max_new_tokens whatever comes
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;        ///< tells sequences of one seed apart
  bool log_probabilities = false;  ///< report log softmax of the raw logits at the chosen token
  bool prompt_logits = false;      ///< show the logits of every prompt row, not of its last alone
};

/// One new token of one sequence.
struct Emission {
  SequenceId sequence = 0;
  Token token = 0;
  FinishReason finish = FinishReason::none;
  float log_probability = 0;  ///< where asked for
};

/// Sees the raw logits [vocabulary] that follow the token at `position`, before a sampler changes them.
using LogitsObserver = std::function<void(SequenceId, Position, std::span<const float>)>;

/// log softmax(logits)[token], accumulated in double.
inline float log_probability(std::span<const float> logits, Token token) noexcept {
  const float maximum = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit - maximum));
  return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token)] - maximum) - std::log(sum));
}

}  // namespace tulle
