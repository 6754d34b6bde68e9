// SPDX-License-Identifier: Apache-2.0
/// \file Every setting of the run-time sampler, as plain values (L2).
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/temperature.hpp>

namespace tulle {

class Constraint;

/// In which order the transforms are applied. The transforms themselves are the same in both.
enum class SamplerOrder {
  hugging_face,  ///< penalties, bans, temperature, top-k, top-p, min-p, typical
  llama_cpp,     ///< penalties, bans, top-k, typical, top-p, min-p, temperature
};

constexpr std::string_view sampler_order_name(SamplerOrder order) noexcept {
  return order == SamplerOrder::llama_cpp ? "llama_cpp" : "hugging_face";
}

/// Errors: invalid_argument for an unknown name.
inline SamplerOrder sampler_order(std::string_view name) {
  for (const SamplerOrder order : {SamplerOrder::hugging_face, SamplerOrder::llama_cpp}) {
    if (name == sampler_order_name(order)) return order;
  }
  fail(ErrorCode::invalid_argument, "unknown sampler order \"", name, "\"; use hugging_face or llama_cpp");
}

/// The defaults change nothing: the most probable token of the model's own logits.
struct SamplingOptions {
  bool do_sample = false;        ///< draw by probability; else greedy: penalties and bans, then the largest logit
  float temperature = 1;         ///< below `Temperature::smallest`, so also 0, means greedy
  int top_k = 0;                 ///< 0 is off
  float top_p = 1;               ///< 1 is off
  float min_p = 0;               ///< 0 is off
  float typical_p = 1;           ///< 1 is off
  float repetition_penalty = 1;  ///< 1 is off; counts the whole history, prompt included
  float presence_penalty = 0;    ///< 0 is off; counts generated tokens
  float frequency_penalty = 0;   ///< 0 is off; counts generated tokens
  int no_repeat_ngram = 0;       ///< 0 is off; counts the whole history
  int min_new_tokens = 0;        ///< no token of `eos` before so many generated ones
  std::vector<Token> eos = {};   ///< ids that end a text
  std::vector<std::pair<Token, float>> logit_bias = {};  ///< added to the logits of these tokens, before all else
  SamplerOrder order = SamplerOrder::hugging_face;
  /// What the generated text must follow, such as a grammar; null: nothing. It bans tokens, so `no_repeat_ngram` and
  /// `min_new_tokens` must be off.
  std::shared_ptr<const Constraint> constraint = {};

  bool greedy() const noexcept { return !do_sample || temperature < Temperature::smallest; }

  /// Errors: invalid_argument for the first value out of its range, also one that a greedy choice would not use.
  void validate() const;
};

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/sampling/sampling_options_inline.hpp>
#endif
