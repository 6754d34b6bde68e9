// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for text_stream.hpp (L4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_stream.hpp>
#include <tulle/sampling/sampler_chain.hpp>

namespace tulle {

namespace detail {

/// Whether there is more than what a tokenizer puts around a prompt.
inline bool has_text(const Tokenizer& tokenizer, std::span<const Token> prompt) {
  return std::any_of(prompt.begin(), prompt.end(), [&](Token token) { return !tokenizer.is_special(token); });
}

}  // namespace detail

TULLE_INLINE TextStream::TextStream(Engine& engine, const Tokenizer& tokenizer, std::vector<std::vector<Token>> prompts,
                                    GenerationOptions options)
    : TextStream(engine, options.num_return_sequences, options) {
  const std::size_t copies = options.num_return_sequences;
  if (copies == 0) fail(ErrorCode::invalid_argument, "num_return_sequences must be at least 1");
  if (copies > engine.sequences().size()) {
    fail(ErrorCode::capacity, "num_return_sequences is ", copies, " and the engine holds ", engine.sequences().size(),
         " sequences; ask for fewer or for a larger engine");
  }
  const SequenceOptions sequence = sequence_options(engine, options);
  const SamplerChain sampler(options.sampling);
  completions_.reserve(prompts.size() * copies);
  for (const auto& prompt : prompts) {
    const bool continues = detail::has_text(tokenizer, prompt);
    for (std::size_t i = 0; i < copies; ++i) {
      completions_.emplace_back(tokenizer, completions_.size(), prompt.size(), options, continues);
    }
  }
  std::map<std::vector<Token>, std::size_t> texts;  // of equal prompts: they are to differ
  for (std::size_t first = 0; first < completions_.size(); first += copies) {
    std::size_t& number = texts[prompts[first / copies]];
    SequenceOptions one = sequence;
    one.rng_stream = number;
    number += copies;
    engine.requests().submit(std::move(prompts[first / copies]), sampler, std::move(one),
                             std::span(completions_).subspan(first, copies));
  }
}

TULLE_INLINE TextStream::TextStream(Engine& engine, const Tokenizer& tokenizer, SequenceId session,
                                    std::span<const Token> tokens, GenerationOptions options)
    : TextStream(engine, 1, options) {
  if (options.num_return_sequences != 1) fail(ErrorCode::invalid_argument, "a session has one continuation");
  SequenceOptions sequence = sequence_options(engine, options);
  const bool continues =
      detail::has_text(tokenizer, engine.sequences().history(session)) || detail::has_text(tokenizer, tokens);
  completions_.emplace_back(tokenizer, 0, tokens.size(), options, continues);
  engine.requests().resume(session, tokens, SamplerChain(options.sampling), std::move(sequence), completions_.front());
}

TULLE_INLINE std::optional<TextPiece> TextStream::next() {
  do {
    Completion* completion = with_piece();
    if (completion == nullptr) continue;
    TextPiece piece = completion->take();
    if (callback_ && !callback_(piece) && piece.finish_reason == FinishReason::none) {
      piece.finish_reason = FinishReason::callback;
      completion->finish(piece.finish_reason);
    }
    if (completion->finished() && !completion->has_piece()) engine_->requests().end(*completion);
    return piece;
  } while (step());
  return std::nullopt;
}

TULLE_INLINE bool TextStream::step() {
  if (first_unfinished() == completions_.size() || !engine_->requests().running()) return false;
  if (!started_) started_ = Completion::Clock::now();
  engine_->step();
  if (!is_web && progress_ && !prompts_read_) {  // JavaScript cuts prompts by itself
    const double fraction = prompt_fraction();
    prompts_read_ = fraction == 1;
    progress_("reading the prompt", fraction);
  }
  return true;
}

TULLE_INLINE double TextStream::prompt_fraction() const {
  std::size_t all = 0, unread = 0;
  for (std::size_t i = 0; i < completions_.size(); i += copies_) {
    const Completion& completion = completions_[i];
    all += completion.prompt_tokens();
    if (completion.tokens() > 0 || completion.finished()) continue;
    const auto id = completion.sequence();
    const std::size_t pending = id ? engine_->sequences().pending(*id).size() : completion.prompt_tokens();
    unread += std::min(pending, completion.prompt_tokens());
  }
  return all == 0 ? 1 : 1 - static_cast<double>(unread) / static_cast<double>(all);
}

TULLE_INLINE void TextStream::stop() noexcept {
  // Forks before what they would fork from.
  for (std::size_t i = completions_.size(); i-- > 0;) {
    if (completions_[i].has_piece()) completions_[i].finish(FinishReason::cancelled);
    engine_->requests().end(completions_[i]);
  }
}

TULLE_INLINE std::vector<GeneratedText> TextStream::results() {
  std::vector<GeneratedText> results;
  for (Completion& completion : completions_) results.push_back(completion.take_result());
  return results;
}

TULLE_INLINE Timings TextStream::timings() const {
  Timings timings;
  if (!started_) return timings;
  std::optional<Completion::Clock::time_point> first;
  Completion::Clock::time_point latest = *started_;
  for (std::size_t i = 0; i < completions_.size(); ++i) {
    const Completion& completion = completions_[i];
    if (i % copies_ == 0 && completion.begun()) timings.prompt_tokens += completion.prompt_tokens();
    timings.generated_tokens += completion.tokens();
    timings.draft_tokens += completion.draft_tokens();
    timings.accepted_draft_tokens += completion.accepted_draft_tokens();
    const auto its_first = completion.first();
    if (!its_first) continue;
    first = std::min(first.value_or(*its_first), *its_first);
    latest = std::max(latest, completion.latest());
  }
  const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };
  if (!first) return timings;
  timings.prefill_seconds = seconds(*first - *started_);
  timings.decode_seconds = seconds(latest - *first);
  return timings;
}

TULLE_INLINE TextStream::TextStream(Engine& engine, std::size_t copies, GenerationOptions& options)
    : engine_(&engine),
      copies_(copies),
      callback_(std::move(options.callback)),
      progress_(std::move(options.progress)) {}

TULLE_INLINE SequenceOptions TextStream::sequence_options(const Engine& engine, GenerationOptions& options) {
  if (options.sampling.eos.empty()) options.sampling.eos = engine.architecture().eos;
  if (options.sampling.constraint && options.force_max_tokens) {
    fail(ErrorCode::invalid_argument,
         "a text that follows a grammar ends where the grammar does; it cannot ignore eos");
  }
  SequenceOptions sequence;
  sequence.max_new_tokens = options.max_new_tokens;
  sequence.eos = options.sampling.eos;
  sequence.ignore_eos = options.force_max_tokens;
  sequence.seed = options.seed;
  sequence.log_probabilities = options.log_probabilities;
  sequence.prompt_logits = (options.return_logits && options.include_prompt_logits) ||
                           (options.observe_logits && options.observe_prompt_logits);
  sequence.last_logits = options.return_logits || options.observe_logits;
  sequence.cancel = options.cancel;
  sequence.verification = options.verification;
  return sequence;
}

TULLE_INLINE std::size_t TextStream::first_unfinished() noexcept {
  while (first_ < completions_.size() && completions_[first_].finished() && !completions_[first_].has_piece()) {
    ++first_;
  }
  std::size_t index = first_;
  while (index < completions_.size() && completions_[index].finished()) ++index;
  return index;
}

TULLE_INLINE Completion* TextStream::with_piece() noexcept {
  for (std::size_t i = first_; i < completions_.size() && completions_[i].begun(); ++i) {
    if (completions_[i].has_piece()) return &completions_[i];
  }
  return nullptr;
}

TULLE_INLINE bool TextStream::has_piece() const noexcept {
  return const_cast<TextStream*>(this)->with_piece() != nullptr;
}

}  // namespace tulle
