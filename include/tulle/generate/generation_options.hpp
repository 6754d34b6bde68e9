// SPDX-License-Identifier: Apache-2.0
/// \file The options of one call of text generation, and its result (L4).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tulle/core/progress.hpp>
#include <tulle/core/types.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/sampling/sampling_options.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// One token's worth of text. Pieces of one generation concatenate to its text; a piece is whole code points and may be
/// empty (half a character, or the beginning of what may become a stop string).
struct TextPiece {
  std::size_t generation = 0;  ///< prompt * num_return_sequences + number of the sequence
  Token token = -1;            ///< -1 when the generation ended without one
  std::string text;
  float log_probability = 0;
  FinishReason finish_reason = FinishReason::none;
  bool drafted = false;  ///< the token was guessed by a draft, see `Engine::speculate`
};

struct GenerationOptions {
  std::size_t max_new_tokens = 100;
  SamplingOptions sampling = {};  ///< greedy unless `do_sample`
  std::uint64_t seed = 0;
  std::vector<std::string> stop = {};    ///< the text ends before the first of these
  bool force_max_tokens = false;         ///< eos tokens do not end the text
  std::size_t num_return_sequences = 1;  ///< continuations of every prompt; they share its prefill
  bool add_special_tokens = true;        ///< what the tokenizer's template puts around a prompt (<s> and the like)
  bool skip_special_tokens = true;       ///< leave special tokens out of the text
  bool begins_text =
      false;  ///< the text stands alone, as answers in a chat do: without the space that some tokenizers put
              ///< in front of the first word. Else it goes on where the prompt ends
  bool log_probabilities = false;     ///< of every chosen token, under the raw logits
  bool return_logits = false;         ///< keep the raw logits of every position
  bool include_prompt_logits = true;  ///< with `return_logits`: also of the prompt, not of what was generated alone
  std::function<bool(const TextPiece&)> callback = {};  ///< called with every piece; false ends its generation
  /// Called with the raw logits [vocabulary] that follow a token, for the last token of a prompt and for every
  /// generated one: observe_logits(generation, position, logits). Called by whatever steps the engine. With drafts also
  /// for tokens that a stop string turns out to end the text before.
  std::function<void(std::size_t, Position, std::span<const float>)> observe_logits = {};
  bool observe_prompt_logits = false;                 ///< `observe_logits` is called for all tokens of a prompt
  Progress progress = {};                             ///< of reading the prompts, a pass at a time; not in WebAssembly
  const std::atomic<bool>* cancel = nullptr;          ///< set from any thread, ends this call and no other
  Verification verification = Verification::coupled;  ///< of drafts, where the engine speculates
};

struct GeneratedText {
  std::string text;
  std::vector<Token> tokens;             ///< what was generated, an eos included
  std::vector<float> log_probabilities;  ///< [tokens], with `GenerationOptions::log_probabilities`
  FinishReason finish_reason = FinishReason::none;
  Matrix logits;  ///< [prompt + tokens - 1, vocabulary], or [tokens, vocabulary] without the prompt. Where no token was
                  ///< asked for: [prompt, vocabulary], or [1, vocabulary]
  std::size_t prompt_tokens = 0;
  std::size_t cached_prompt_tokens = 0;                     ///< of them, those that the cache held already
  std::size_t draft_tokens = 0, accepted_draft_tokens = 0;  ///< tokens that were guessed; those that are in the text
  std::string stop_string;  ///< of `GenerationOptions::stop`, that which the text ended before; empty: none
};

struct Timings {
  std::size_t prompt_tokens = 0, generated_tokens = 0;
  double prefill_seconds = 0;                               ///< until the first token was there
  double decode_seconds = 0;                                ///< from then on
  std::size_t draft_tokens = 0, accepted_draft_tokens = 0;  ///< guessed; of them those that are in the texts
  double prefill_tokens_per_second() const noexcept {
    return prefill_seconds > 0 ? static_cast<double>(prompt_tokens) / prefill_seconds : 0;
  }
  double decode_tokens_per_second() const noexcept {
    return decode_seconds > 0 && generated_tokens > 1 ? static_cast<double>(generated_tokens - 1) / decode_seconds : 0;
  }
};

struct TextGenerationOutput {
  std::vector<std::string> prompts;
  std::vector<GeneratedText> generations;  ///< num_return_sequences for every prompt, in order
  Timings timings;
};

}  // namespace tulle
