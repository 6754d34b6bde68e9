// SPDX-License-Identifier: Apache-2.0
/// \file A request for texts while the model works on it: what was asked, and what has come so far (L6).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/generate/generation_options.hpp>

namespace tulle::serve {

/// What a route asks of a model. The texts of prompt i are those of the numbers [i * n, (i + 1) * n), n being
/// `options.num_return_sequences`.
struct GenerationRequest {
  std::vector<std::vector<Token>> prompts;
  GenerationOptions options;
  std::size_t alternatives = 0;       ///< most probable tokens to report at each position, at most `most_alternatives`
  bool prompt_probabilities = false;  ///< also of the tokens of the prompt, which are then not shared with others
  std::chrono::milliseconds time_limit{0};  ///< from the arrival on; 0: none

  static constexpr std::size_t most_alternatives = 20;
};

/// A token that could have been chosen.
struct Candidate {
  Token token = 0;
  float log_probability = 0;
};

/// The tokens of a prompt as the model saw them: each but the first with its probability.
struct PromptToken {
  Token token = 0;
  std::optional<float> log_probability;
  std::vector<Candidate> alternatives;
};

/// One token of one text, with the text that it completes.
struct GenerationEvent {
  TextPiece piece;
  std::vector<Candidate> alternatives;  ///< the most probable first
  /// With the first event of a prompt's texts: the prompt, with `GenerationRequest::prompt_probabilities`.
  std::vector<PromptToken> prompt = {};
};

/// What is known when all texts have ended.
struct GenerationSummary {
  std::size_t prompt_tokens = 0, cached_tokens = 0, generated_tokens = 0;
  std::size_t draft_tokens = 0, accepted_draft_tokens = 0;  ///< guessed; of them those that are in the texts
  double queue_seconds = 0;                                 ///< from the arrival to the first forward pass
  double prefill_seconds = 0;                               ///< from there to the first token
  double decode_seconds = 0;                                ///< from there to the last one
  bool timed_out = false;
};

/// Between the thread of the model, which writes, and the one thread that reads. What is kept is bounded by the tokens
/// that were asked for, so a slow reader delays nobody.
class GenerationJob {
 public:
  using Clock = std::chrono::steady_clock;

  explicit GenerationJob(GenerationRequest wanted) : request(std::move(wanted)), arrival(Clock::now()) {}

  GenerationRequest request;
  const Clock::time_point arrival;

  /// Returns when the thread of the model has taken the request. Errors: why it was not taken.
  void wait_until_taken() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return taken_ || ended_; });
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

  /// The next token of any of the texts; nothing after the last. Calls `given_up` whenever `patience` has passed since
  /// the last time, also while tokens come: true cancels. Errors: what went wrong with the request, once.
  template <class GivenUp>
  std::optional<GenerationEvent> next(std::chrono::milliseconds patience, GivenUp&& given_up) {
    std::unique_lock lock(mutex_);
    while (!ended_) {
      if (Clock::now() >= looked_ + patience) {
        lock.unlock();  // the model goes on meanwhile
        if (given_up()) cancel();
        looked_ = Clock::now();
        lock.lock();
      }
      if (!events_.empty()) break;
      changed_.wait_until(lock, looked_ + patience, [this] { return ended_ || !events_.empty(); });
    }
    if (!events_.empty()) {
      GenerationEvent event = std::move(events_.front());
      events_.pop_front();
      return event;
    }
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return std::nullopt;
  }
  std::optional<GenerationEvent> next() {
    return next(std::chrono::hours(1), [] { return false; });
  }

  /// From any thread: the texts end where they are.
  void cancel() noexcept { cancelled_ = true; }
  bool cancelled() const noexcept { return cancelled_; }
  const std::atomic<bool>& cancel_flag() const noexcept { return cancelled_; }

  /// Complete after the last event.
  GenerationSummary summary() const {
    const std::lock_guard lock(mutex_);
    return summary_;
  }
  /// All of the texts; their logits, where those were asked for.
  const std::vector<GeneratedText>& texts() const noexcept { return texts_; }

  /// For the thread of the model.
  void take() {
    const std::lock_guard lock(mutex_);
    taken_ = true;
    changed_.notify_one();
  }
  void put(GenerationEvent event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_one();
  }
  void end(const GenerationSummary& summary, std::vector<GeneratedText> texts) {
    const std::lock_guard lock(mutex_);
    summary_ = summary;
    texts_ = std::move(texts);
    ended_ = true;
    changed_.notify_one();
  }
  void fail(std::exception_ptr error) noexcept {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
    ended_ = true;
    changed_.notify_one();
  }

 private:
  Clock::time_point looked_ = arrival;  // whether the reader has given up
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<GenerationEvent> events_;
  std::exception_ptr failure_;
  bool taken_ = false, ended_ = false;
  std::atomic<bool> cancelled_ = false;
  GenerationSummary summary_;
  std::vector<GeneratedText> texts_;
};

}  // namespace tulle::serve
