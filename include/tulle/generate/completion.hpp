// SPDX-License-Identifier: Apache-2.0
/// \file One continuation of a prompt, from emitted tokens to pieces of text (L4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/generate/stop_strings.hpp>
#include <tulle/text/token_stream.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Takes the emissions of one sequence and gives pieces of text. Whatever steps the engine fills it. Its owner reads
/// it. An error while it is filled is thrown when it is read.
/// Lifetime: the tokenizer must outlive it; it must stay in place while `Requests` fills it.
class Completion {
 public:
  using Clock = std::chrono::steady_clock;

  /// `number`: what its pieces and `observe_logits` call it. `continues`: the prompt has text.
  /// Errors: invalid_argument for an empty stop string.
  Completion(const Tokenizer& tokenizer, std::size_t number, std::size_t prompt_tokens,
             const GenerationOptions& options, bool continues = false)
      : number_(number),
        stream_(tokenizer, options.skip_special_tokens, continues && !options.begins_text),
        stops_(options.stop),
        log_probabilities_(options.log_probabilities),
        return_logits_(options.return_logits),
        observe_logits_(options.observe_logits) {
    result_.prompt_tokens = prompt_tokens;
  }
  Completion(Completion&&) = default;

  /// The next token, or the end. After `finished` nothing more is taken.
  void accept(const Emission& emission) noexcept {
    if (finished_) return;
    try {
      TextPiece piece{number_, emission.token, {}, emission.log_probability, emission.finish, emission.drafted};
      result_.draft_tokens += emission.draft;
      if (emission.token >= 0) piece.text = stops_.push(stream_.push(emission.token));
      if (piece.finish_reason != FinishReason::none) piece.text += stops_.push(stream_.finish());
      if (stops_.stopped()) piece.finish_reason = FinishReason::stop;
      if (piece.finish_reason != FinishReason::none) piece.text += stops_.finish();
      finished_ = piece.finish_reason != FinishReason::none;
      ready_.push_back(std::move(piece));
      if (emission.token >= 0) ++tokens_;
      latest_ = Clock::now();
      if (!first_ && (emission.token >= 0 || finished_)) first_ = latest_;
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// The raw logits [vocabulary] that follow the token at `position`.
  void observe(Position position, std::span<const float> logits) noexcept {
    try {
      if (observe_logits_) observe_logits_(number_, position, logits);
      if (!return_logits_) return;
      if (logits_.empty()) first_position_ = position;
      // The row that a shared prefill ended with is run once more.
      if (position == first_position_ + logits_.size()) logits_.emplace_back(logits.begin(), logits.end());
    } catch (...) {
      fail(std::current_exception());
    }
  }

  /// Takes the last rows of logits away: those of tokens that are no longer of the text.
  void forget_logits(std::size_t rows) noexcept { logits_.resize(logits_.size() - std::min(logits_.size(), rows)); }

  /// Begins with the logits that another one observed of their common prompt.
  void share_logits(const Completion& other) {
    logits_ = other.logits_;
    first_position_ = other.first_position_;
    const std::size_t prompt = result_.prompt_tokens - std::min<std::size_t>(result_.prompt_tokens, first_position_);
    if (logits_.size() > prompt) logits_.resize(prompt);  // the other may have accepted drafts in the same step
  }

  /// Ends with an error, which `take` throws.
  void fail(std::exception_ptr error) noexcept {
    if (finished_) return;
    failure_ = std::move(error);
    finished_ = true;
  }

  /// Ends where it has been read up to.
  void finish(FinishReason reason) noexcept {
    ready_.clear();
    forget_logits(tokens_ - result_.tokens.size());
    tokens_ = result_.tokens.size();
    result_.finish_reason = reason;
    finished_ = true;
  }

  bool finished() const noexcept { return finished_; }
  bool has_piece() const noexcept { return !ready_.empty() || failure_ != nullptr; }

  /// The next piece. Requires `has_piece`. Errors: that of `fail`, once, after the last piece.
  TextPiece take() {
    if (ready_.empty()) std::rethrow_exception(std::exchange(failure_, nullptr));
    TextPiece piece = std::move(ready_.front());
    ready_.erase(ready_.begin());
    if (piece.token >= 0) {
      result_.tokens.push_back(piece.token);
      result_.accepted_draft_tokens += piece.drafted ? 1 : 0;
      if (log_probabilities_) result_.log_probabilities.push_back(piece.log_probability);
    }
    result_.text += piece.text;
    result_.finish_reason = piece.finish_reason;
    if (piece.finish_reason == FinishReason::stop) result_.stop_string = stops_.found();
    return piece;
  }

  /// What was read so far.
  GeneratedText take_result() {
    if (return_logits_) result_.logits = matrix_of(logits_);
    return std::move(result_);
  }

  std::size_t tokens() const noexcept { return tokens_; }  ///< accepted, read or not
  std::size_t prompt_tokens() const noexcept { return result_.prompt_tokens; }
  std::size_t draft_tokens() const noexcept { return result_.draft_tokens; }
  std::size_t accepted_draft_tokens() const noexcept { return result_.accepted_draft_tokens; }
  void set_cached_prompt_tokens(std::size_t tokens) noexcept { result_.cached_prompt_tokens = tokens; }
  std::optional<Clock::time_point> first() const noexcept { return first_; }  ///< when the first token was accepted
  Clock::time_point latest() const noexcept { return latest_; }               ///< when the last one was

  /// The sequence that it is filled from. `Requests` sets it.
  std::optional<SequenceId> sequence() const noexcept { return sequence_; }
  bool begun() const noexcept { return begun_ || finished_; }  ///< left the queue
  void enter(SequenceId id) noexcept {
    sequence_ = id;
    begun_ = true;
  }
  void leave() noexcept {
    sequence_.reset();
    finished_ = true;
  }

 private:
  static Matrix matrix_of(std::span<const std::vector<float>> rows) {
    Matrix matrix(rows.size(), rows.empty() ? 0 : rows.front().size());
    for (std::size_t row = 0; row < rows.size(); ++row) std::copy(rows[row].begin(), rows[row].end(), matrix[row]);
    return matrix;
  }

  std::size_t number_;
  TokenStream stream_;
  StopStrings stops_;
  bool log_probabilities_, return_logits_;
  std::function<void(std::size_t, Position, std::span<const float>)> observe_logits_;
  std::vector<TextPiece> ready_;  // the first is read next; hardly ever more than one
  GeneratedText result_;
  std::vector<std::vector<float>> logits_;  // by position, from first_position_ on
  Position first_position_ = 0;
  std::size_t tokens_ = 0;
  std::optional<Clock::time_point> first_;
  Clock::time_point latest_;
  std::optional<SequenceId> sequence_;
  bool begun_ = false, finished_ = false;
  std::exception_ptr failure_;
};

}  // namespace tulle
