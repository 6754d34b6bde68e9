// SPDX-License-Identifier: Apache-2.0
/// \file One call of text generation while it runs: a range of pieces of text (L4).
#pragma once

#include <cstddef>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include <tulle/core/progress.hpp>
#include <tulle/generate/completion.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

class Engine;

/// Pieces that are generated as they are read:
/// `for (const TextPiece& piece : pipeline.stream("Once upon a time")) std::cout << piece.text;`
/// Leaving the loop early ends the generation. Several streams on one engine may be read in any order. Each gives the
/// text that it gives alone.
/// Lifetime: engine and tokenizer must outlive it. Threads: one call at a time on an engine.
class TextStream {
 public:
  /// Continues every prompt `num_return_sequences` times.
  /// Errors: invalid_argument for options that make no sense; capacity for prompts that do not fit.
  TextStream(Engine& engine, const Tokenizer& tokenizer, std::vector<std::vector<Token>> prompts,
             GenerationOptions options);

  /// Continues sequence `session`, which stays open afterwards, with more tokens (perhaps none).
  TextStream(Engine& engine, const Tokenizer& tokenizer, SequenceId session, std::span<const Token> tokens,
             GenerationOptions options);

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
  std::optional<TextPiece> next();

  /// One forward pass over all that runs on the engine; false when nothing of this stream does. For callers that look
  /// after something else between the passes over a long prompt: `next` does it by itself.
  bool step();
  bool has_piece() const noexcept;
  /// Whether the first prompt has left the queue.
  bool begun() const noexcept { return completions_.empty() || completions_.front().begun(); }

  /// How much of the prompts has been read, in [0, 1].
  double prompt_fraction() const;

  /// Ends everything that still runs. Pieces that were not read are forgotten; a session keeps what was read.
  void stop() noexcept;

  /// What was generated, after the last piece.
  std::vector<GeneratedText> results();

  Timings timings() const;

 private:
  /// Takes the functions of the options.
  TextStream(Engine& engine, std::size_t copies, GenerationOptions& options);

  /// Checks the options on the way.
  static SequenceOptions sequence_options(const Engine& engine, GenerationOptions& options);

  std::size_t first_unfinished() noexcept;

  /// Prompts leave the queue in order: behind the first that has not, none has a piece.
  Completion* with_piece() noexcept;

  Engine* engine_;
  std::size_t copies_;
  std::function<bool(const TextPiece&)> callback_;
  Progress progress_;  // lives as long as the stream: Python's functions may end only where its lock is held
  bool prompts_read_ = false;
  std::vector<Completion> completions_;  // [prompts * copies_]; they move with the stream and stay in place
  std::size_t first_ = 0;                // those before it are finished and read
  std::optional<Completion::Clock::time_point> started_;
  std::optional<TextPiece> current_;
};

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/generate/text_stream_inline.hpp>
#endif
