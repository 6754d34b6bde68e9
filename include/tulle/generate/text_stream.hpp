// SPDX-License-Identifier: Apache-2.0
/// \file One call of text generation while it runs: a range of pieces of text (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/generate/completion.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/sampling/sampler_chain.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Pieces that are generated as they are read:
/// `for (const TextPiece& piece : pipeline.stream("Once upon a time")) std::cout << piece.text;`
/// Leaving the loop early ends the generation. Several streams on one engine may be read in any order: each gives the text
/// that it gives alone.
/// Lifetime: engine and tokenizer must outlive it. Threads: one call at a time on an engine.
class TextStream {
 public:
  /// Continues every prompt `num_return_sequences` times.
  /// Errors: invalid_argument for options that make no sense; capacity for prompts that do not fit.
  TextStream(Engine& engine, const Tokenizer& tokenizer, std::vector<std::vector<Token>> prompts,
             GenerationOptions options)
      : TextStream(engine, options.num_return_sequences, std::move(options.callback)) {
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
      for (std::size_t i = 0; i < copies; ++i) {
        completions_.emplace_back(tokenizer, completions_.size(), prompt.size(), options);
      }
    }
    for (std::size_t first = 0; first < completions_.size(); first += copies) {
      SequenceOptions one = sequence;
      one.rng_stream = first;
      engine.requests().submit(std::move(prompts[first / copies]), sampler, std::move(one),
                               std::span(completions_).subspan(first, copies));
    }
  }

  /// Continues sequence `session`, which stays open afterwards, with more tokens (perhaps none).
  TextStream(Engine& engine, const Tokenizer& tokenizer, SequenceId session, std::span<const Token> tokens,
             GenerationOptions options)
      : TextStream(engine, 1, std::move(options.callback)) {
    if (options.num_return_sequences != 1) fail(ErrorCode::invalid_argument, "a session has one continuation");
    SequenceOptions sequence = sequence_options(engine, options);
    completions_.emplace_back(tokenizer, 0, tokens.size(), options);
    engine.requests().resume(session, tokens, SamplerChain(options.sampling), std::move(sequence),
                             completions_.front());
  }

  TextStream(TextStream&&) noexcept = default;
  TextStream& operator=(TextStream&&) = delete;
  ~TextStream() { stop(); }

  class Iterator {
   public:
    using value_type = TextPiece;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;

    explicit Iterator(TextStream* stream) : stream_(stream) { ++*this; }
    const TextPiece& operator*() const noexcept { return *stream_->current_; }
    const TextPiece* operator->() const noexcept { return &*stream_->current_; }
    Iterator& operator++() {
      stream_->current_ = stream_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !stream_->current_.has_value(); }

   private:
    TextStream* stream_;
  };

  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// The next piece, or nothing when all generations are finished. Errors: those of `Generator::step`, and what the
  /// callback and `observe_logits` throw.
  std::optional<TextPiece> next() {
    do {
      Completion* completion = with_piece();
      if (completion == nullptr) continue;
      TextPiece piece = completion->take();
      if (callback_ && !callback_(piece) && piece.finish_reason == FinishReason::none) {
        piece.finish_reason = FinishReason::callback;
        completion->finish(piece.finish_reason);
        engine_->requests().end(*completion);
      }
      return piece;
    } while (step());
    return std::nullopt;
  }

  /// One forward pass over all that runs on the engine; false when nothing of this stream does. For callers that look
  /// after something else between the passes over a long prompt: `next` does it by itself.
  bool step() {
    if (first_unfinished() == completions_.size() || !engine_->requests().running()) return false;
    if (!started_) started_ = Completion::Clock::now();
    engine_->requests().step();
    return true;
  }
  bool has_piece() const noexcept { return const_cast<TextStream*>(this)->with_piece() != nullptr; }

  /// Ends everything that still runs.
  void stop() noexcept {
    // Forks before what they would fork from.
    for (std::size_t i = completions_.size(); i-- > 0;) engine_->requests().end(completions_[i]);
  }

  /// What was generated, after the last piece.
  std::vector<GeneratedText> results() {
    std::vector<GeneratedText> results;
    for (Completion& completion : completions_) results.push_back(completion.take_result());
    return results;
  }

  Timings timings() const {
    Timings timings;
    if (!started_) return timings;
    std::optional<Completion::Clock::time_point> first;
    Completion::Clock::time_point latest = *started_;
    for (std::size_t i = 0; i < completions_.size(); ++i) {
      const Completion& completion = completions_[i];
      if (i % copies_ == 0 && completion.begun()) timings.prompt_tokens += completion.prompt_tokens();
      timings.generated_tokens += completion.tokens();
      if (!completion.first()) continue;
      first = std::min(first.value_or(*completion.first()), *completion.first());
      latest = std::max(latest, completion.latest());
    }
    const auto seconds = [](auto duration) { return std::chrono::duration<double>(duration).count(); };
    if (!first) return timings;
    timings.prefill_seconds = seconds(*first - *started_);
    timings.decode_seconds = seconds(latest - *first);
    return timings;
  }

 private:
  TextStream(Engine& engine, std::size_t copies, std::function<bool(const TextPiece&)> callback)
      : engine_(&engine), copies_(copies), callback_(std::move(callback)) {}

  /// Checks the options on the way.
  static SequenceOptions sequence_options(const Engine& engine, GenerationOptions& options) {
    if (options.sampling.eos.empty()) options.sampling.eos = engine.architecture().eos;
    SequenceOptions sequence;
    sequence.max_new_tokens = options.max_new_tokens;
    sequence.eos = options.sampling.eos;
    sequence.ignore_eos = options.force_max_tokens;
    sequence.seed = options.seed;
    sequence.log_probabilities = options.log_probabilities;
    sequence.prompt_logits = options.return_logits && options.include_prompt_logits;
    sequence.last_logits = options.return_logits || options.observe_logits;
    sequence.cancel = options.cancel;
    return sequence;
  }

  std::size_t first_unfinished() noexcept {
    while (first_ < completions_.size() && completions_[first_].finished() && !completions_[first_].has_piece()) {
      ++first_;
    }
    std::size_t index = first_;
    while (index < completions_.size() && completions_[index].finished()) ++index;
    return index;
  }

  /// Prompts leave the queue in order: behind the first that has not, none has a piece.
  Completion* with_piece() noexcept {
    for (std::size_t i = first_; i < completions_.size() && completions_[i].begun(); ++i) {
      if (completions_[i].has_piece()) return &completions_[i];
    }
    return nullptr;
  }

  Engine* engine_;
  std::size_t copies_;
  std::function<bool(const TextPiece&)> callback_;
  std::vector<Completion> completions_;  // [prompts * copies_]; they move with the stream and stay in place
  std::size_t first_ = 0;                // those before it are finished and read
  std::optional<Completion::Clock::time_point> started_;
  std::optional<TextPiece> current_;
};

}  // namespace tulle
