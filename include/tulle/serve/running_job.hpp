// SPDX-License-Identifier: Apache-2.0
/// \file A request on the thread of its model: a stream of text whose pieces go to the reader (L6).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/generate/engine.hpp>
#include <tulle/generate/text_stream.hpp>
#include <tulle/sampling/row_score.hpp>
#include <tulle/serve/generation_job.hpp>

namespace tulle::serve {

namespace detail {

/// The `count` most probable tokens, of equal ones those with smaller ids.
inline std::vector<Candidate> most_probable(std::span<const float> logits, std::size_t count, double log_sum) {
  std::vector<Candidate> all(logits.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = {static_cast<Token>(i), logits[i]};
  count = std::min(count, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Candidate& a, const Candidate& b) {
                      return a.log_probability != b.log_probability ? a.log_probability > b.log_probability
                                                                    : a.token < b.token;
                    });
  all.resize(count);
  for (Candidate& each : all) {
    each.log_probability = static_cast<float>(static_cast<double>(each.log_probability) - log_sum);
  }
  return all;
}

}  // namespace detail

/// Must stay in place: the engine reports logits to it.
class RunningJob {
 public:
  /// Errors: those of `TextStream`.
  RunningJob(Engine& engine, const Tokenizer& tokenizer, std::shared_ptr<GenerationJob> job)
      : job_(std::move(job)), waits_(job_->request.prompts.size() * job_->request.options.num_return_sequences) {
    GenerationRequest& request = job_->request;
    copies_ = request.options.num_return_sequences;
    candidates_.resize(waits_);
    if (request.prompt_probabilities) {
      for (const auto& tokens : request.prompts) {
        auto& prompt = prompts_.emplace_back();
        for (const Token token : tokens) prompt.push_back({token, std::nullopt, {}});
      }
    }
    request.options.cancel = &job_->cancel_flag();
    if (request.alternatives != 0 || request.prompt_probabilities) {
      request.options.observe_prompt_logits = request.prompt_probabilities;
      request.options.observe_logits = [this](std::size_t text, Position position, std::span<const float> logits) {
        observe(text, position, logits);
      };
    }
    for (const auto& prompt : request.prompts) summary_.prompt_tokens += prompt.size();
    stream_.emplace(engine, tokenizer, request.prompts, request.options);
  }
  RunningJob(const RunningJob&) = delete;
  RunningJob& operator=(const RunningJob&) = delete;

  void cancel() noexcept { job_->cancel(); }
  bool cancelled() const noexcept { return job_->cancelled(); }
  bool failed() const noexcept { return failure_ != nullptr; }
  bool ended() const noexcept { return ended_; }
  bool begun() const noexcept { return begun_.has_value(); }
  const GenerationSummary& summary() const noexcept { return summary_; }

  /// Once true: the request left the queue since the last call.
  bool just_began() noexcept { return begun_ && !std::exchange(counted_, true); }

  void check_time() noexcept {
    const auto limit = job_->request.time_limit;
    if (limit.count() == 0 || GenerationJob::Clock::now() - job_->arrival < limit) return;
    summary_.timed_out = true;
    job_->cancel();
  }

  void fail(std::exception_ptr error) noexcept {
    if (ended_) return;
    if (!begun_) begun_ = GenerationJob::Clock::now();
    ended_ = true;
    failure_ = std::move(error);
    stream_.reset();
  }

  /// Once it has ended and was counted: tells the reader.
  void hand_over() {
    if (failure_) {
      job_->fail(std::move(failure_));
    } else {
      job_->end(summary_, std::move(texts_));
    }
  }

  /// After a forward pass, which began at `began`: what it gave goes to the reader.
  void deliver(GenerationJob::Clock::time_point began) {
    if (ended_) return;
    const auto now = GenerationJob::Clock::now();
    if (!begun_ && stream_->begun()) begun_ = began;
    try {
      while (stream_->has_piece()) put(*stream_->next(), now);
      if (waits_ == 0) end(now);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  std::size_t texts() const noexcept { return candidates_.size(); }
  std::size_t copies() const noexcept { return copies_; }  ///< texts of a prompt

 private:
  static double seconds(GenerationJob::Clock::duration duration) noexcept {
    return std::chrono::duration<double>(duration).count();
  }

  void put(TextPiece piece, GenerationJob::Clock::time_point now) {
    GenerationEvent event{std::move(piece), {}};
    if (job_->request.prompt_probabilities) {
      event.prompt = std::exchange(prompts_[event.piece.generation / copies_], {});
    }
    if (event.piece.token >= 0) {
      ++summary_.generated_tokens;
      auto& of_text = candidates_[event.piece.generation];
      if (!of_text.empty()) {
        event.alternatives = std::move(of_text.front());
        of_text.pop_front();
      }
      if (!first_) first_ = now;
      last_ = now;
    }
    if (event.piece.finish_reason != FinishReason::none) --waits_;
    job_->put(std::move(event));
  }

  void end(GenerationJob::Clock::time_point now) {
    ended_ = true;
    if (!begun_) begun_ = now;
    texts_ = stream_->results();
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const GeneratedText& text = texts_[i];
      if (i % copies_ == 0) summary_.cached_tokens += text.cached_prompt_tokens;  // the others share its prompt
      summary_.draft_tokens += text.draft_tokens;
      summary_.accepted_draft_tokens += text.accepted_draft_tokens;
    }
    stream_.reset();
    summary_.queue_seconds = seconds(*begun_ - job_->arrival);
    if (first_) {
      summary_.prefill_seconds = seconds(*first_ - *begun_);
      summary_.decode_seconds = seconds(last_ - *first_);
    }
  }

  void observe(std::size_t text, Position position, std::span<const float> logits) {
    const GenerationRequest& request = job_->request;
    const double log_sum = tulle::detail::log_sum_exp(logits, tulle::detail::largest_logit(logits));
    const std::size_t next = std::size_t{position} + 1;
    const std::size_t prompt = text / copies_;
    if (request.prompt_probabilities && next < request.prompts[prompt].size()) {
      if (prompts_[prompt].empty()) return;  // computed again
      PromptToken& token = prompts_[prompt][next];
      token.log_probability =
          static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(token.token)]) - log_sum);
      token.alternatives = detail::most_probable(logits, request.alternatives, log_sum);
    } else if (request.alternatives != 0) {
      candidates_[text].push_back(detail::most_probable(logits, request.alternatives, log_sum));
    }
  }

  std::shared_ptr<GenerationJob> job_;
  std::size_t waits_, copies_ = 1;                              // texts that have not ended; texts of a prompt
  std::vector<std::deque<std::vector<Candidate>>> candidates_;  // [texts] of tokens that have not been delivered
  std::vector<std::vector<PromptToken>> prompts_;               // until the reader has them
  std::vector<GeneratedText> texts_;
  GenerationSummary summary_;
  std::optional<GenerationJob::Clock::time_point> begun_, first_;
  GenerationJob::Clock::time_point last_;
  bool counted_ = false, ended_ = false;
  std::exception_ptr failure_;
  std::optional<TextStream> stream_;
};

}  // namespace tulle::serve
