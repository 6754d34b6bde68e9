// SPDX-License-Identifier: Apache-2.0
/// \file One call of text generation while it runs: sequences in an engine, pieces of text coming out (L4).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/generate/engine.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/stop_strings.hpp>
#include <tulle/text/token_stream.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Runs prompts through an engine and turns tokens into pieces. Prompts beyond the engine's sequences wait for a free one.
/// Lifetime: engine and tokenizer must outlive it; it removes its sequences when it goes.
class GenerationRun {
 public:
  /// Errors: invalid_argument for options that make no sense; capacity for prompts that do not fit.
  GenerationRun(Engine& engine, const Tokenizer& tokenizer, std::vector<std::vector<Token>> prompts,
                GenerationOptions options)
      : engine_(&engine), tokenizer_(&tokenizer), prompts_(std::move(prompts)), options_(std::move(options)) {
    if (options_.num_return_sequences == 0)
      fail(ErrorCode::invalid_argument, "num_return_sequences must be at least 1");
    if (options_.num_return_sequences > engine.sequences()) {
      fail(ErrorCode::capacity, "num_return_sequences is ", options_.num_return_sequences, " and the engine holds ",
           engine.sequences(), " sequences; ask for fewer or for a larger engine");
    }
    if (options_.sampling.eos.empty()) options_.sampling.eos = engine.architecture().eos;
    sampler_ = SamplerChain(options_.sampling);
    (void)StopStrings(options_.stop);
    for (const auto& prompt : prompts_) {
      for (std::size_t i = 0; i < options_.num_return_sequences; ++i) add_generation(prompt.size());
      if (prompt.size() > engine.capacity()) {
        fail(ErrorCode::capacity, "the prompt has ", prompt.size(), " tokens and the sequence length is ",
             engine.capacity(), "; shorten the prompt or ask for a larger sequence length");
      }
      if (prompt.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty; give at least one token");
    }
    sequence_of_.resize(engine.sequences());
  }

  /// Continues sequence `session`, which stays in the engine afterwards, with more tokens (perhaps none).
  GenerationRun(Engine& engine, const Tokenizer& tokenizer, SequenceId session, std::vector<Token> tokens,
                GenerationOptions options)
      : GenerationRun(engine, tokenizer, {}, std::move(options)) {
    if (options_.num_return_sequences != 1) fail(ErrorCode::invalid_argument, "a session has one continuation");
    session_ = session;
    add_generation(tokens.size());
    prompts_.push_back(std::move(tokens));
    admit();  // what is wrong with the tokens is said here
  }

  GenerationRun(GenerationRun&&) = delete;
  ~GenerationRun() {
    for (SequenceId id = 0; id < sequence_of_.size(); ++id) {
      if (sequence_of_[id]) leave(id);
    }
  }

  /// The next piece, or nothing when all generations are finished.
  std::optional<TextPiece> next() {
    while (ready_.empty()) {
      if (!step()) return std::nullopt;
    }
    TextPiece piece = std::move(ready_.front());
    ready_.pop_front();
    return piece;
  }

  /// One forward pass over all that runs; false when nothing does. For callers that look after something else between the
  /// passes over a long prompt: `next` does it by itself.
  bool step() {
    admit();
    if (!engine_->running()) return false;
    advance();
    return true;
  }
  bool has_piece() const noexcept { return !ready_.empty(); }

  /// Ends everything that still runs.
  void stop() noexcept {
    for (SequenceId id = 0; id < sequence_of_.size(); ++id) {
      if (sequence_of_[id]) engine_->stop(id);
    }
    next_prompt_ = prompts_.size();
  }

  /// What has been generated; complete when `next` returned nothing.
  std::vector<GeneratedText> take_results() {
    std::vector<GeneratedText> results;
    for (Generation& generation : generations_) {
      if (options_.return_logits) generation.result.logits = matrix_of(generation.logits);
      results.push_back(std::move(generation.result));
    }
    return results;
  }

  const Timings& timings() const noexcept { return timings_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Generation {
    TokenStream stream;
    StopStrings stops;
    GeneratedText result;
    std::vector<std::vector<float>> logits;  // by position, from first_position on
    bool forked = false;                     // has left the shared prefill
    Position first_position = 0;
  };

  void add_generation(std::size_t prompt_tokens) {
    generations_.push_back(
        {TokenStream(*tokenizer_, options_.skip_special_tokens), StopStrings(options_.stop), {}, {}});
    generations_.back().result.prompt_tokens = prompt_tokens;
  }

  /// The engine keeps the sequence of a session and forgets all others.
  void leave(SequenceId id) noexcept {
    if (session_) {
      engine_->stop(id);
    } else {
      engine_->remove(id);
    }
    sequence_of_[id].reset();
  }

  void advance() {
    const auto begin = Clock::now();
    if (!started_) started_ = begin;
    std::vector<Emission> emissions;
    const bool observes = options_.return_logits || options_.observe_logits;
    const LogitsObserver observer =
        observes ? LogitsObserver([this](SequenceId id, Position position, std::span<const float> logits) {
          if (!sequence_of_[id]) return;
          if (options_.observe_logits) options_.observe_logits(*sequence_of_[id], position, logits);
          if (!options_.return_logits) return;
          Generation& generation = generations_[*sequence_of_[id]];
          if (generation.logits.empty()) generation.first_position = position;
          // The row that forks begin with was seen before they parted.
          if (position != generation.first_position + generation.logits.size()) return;
          generation.logits.emplace_back(logits.begin(), logits.end());
        })
                 : LogitsObserver();
    engine_->step([&](const Emission& emission) { emissions.push_back(emission); }, options_.cancel, observer);
    for (const Emission& emission : emissions) {
      if (emission.sequence < sequence_of_.size() && sequence_of_[emission.sequence]) handle(emission);
    }
    measure();
  }

  void measure() {
    const double elapsed = std::chrono::duration<double>(Clock::now() - *started_).count();
    if (timings_.generated_tokens == 0) {
      timings_.prefill_seconds = elapsed;
    } else {
      if (!first_token_) {
        first_token_ = true;
        timings_.prefill_seconds = elapsed;
      }
      timings_.decode_seconds = elapsed - timings_.prefill_seconds;
    }
  }

  /// Whether there is room for all generations of the next prompt, beside what running prefills will fork into.
  /// Errors: capacity when there is none and nothing runs that could make room (sessions hold their sequences).
  bool has_room() const {
    if (session_ || engine_->free_sequences() >= options_.num_return_sequences + promised_) return true;
    const bool waits =
        std::any_of(sequence_of_.begin(), sequence_of_.end(), [](const auto& number) { return number.has_value(); });
    if (waits) return false;
    fail(ErrorCode::capacity, engine_->free_sequences(), " of the engine's ", engine_->sequences(),
         " sequences are free and ", options_.num_return_sequences,
         " are needed; end a session or ask for a larger engine");
  }

  SequenceOptions sequence_options(std::size_t number) const {
    SequenceOptions options;
    options.max_new_tokens = options_.max_new_tokens;
    options.eos = options_.sampling.eos;
    options.ignore_eos = options_.force_max_tokens;
    options.seed = options_.seed;
    options.stream = number;
    options.log_probabilities = options_.log_probabilities;
    options.prompt_logits = options_.return_logits && options_.include_prompt_logits;
    return options;
  }

  /// Starts waiting prompts while there is room for all their generations.
  void admit() {
    while (next_prompt_ < prompts_.size() && has_room()) {
      const auto& prompt = prompts_[next_prompt_];
      const std::size_t first = next_prompt_ * options_.num_return_sequences;
      SequenceOptions options = sequence_options(first);
      if (session_) {
        engine_->resume(*session_, prompt, sampler_, std::move(options));
        sequence_of_[*session_] = first;
      } else {
        // Several generations share one prefill: it runs alone and is forked when it is done.
        if (shares_prefill()) options.max_new_tokens = 0;
        sequence_of_[engine_->start(prompt, sampler_, std::move(options))] = first;
        promised_ += options_.num_return_sequences - 1;
      }
      timings_.prompt_tokens += prompt.size();
      ++next_prompt_;
    }
  }

  bool shares_prefill() const noexcept { return options_.num_return_sequences > 1; }

  void handle(const Emission& emission) {
    const std::size_t number = *sequence_of_[emission.sequence];
    if (shares_prefill() && !generations_[number].forked) return end_prefill(emission, number);
    Generation& generation = generations_[number];
    TextPiece piece{number, emission.token, {}, emission.log_probability, emission.finish};
    if (emission.token >= 0) {
      ++timings_.generated_tokens;
      generation.result.tokens.push_back(emission.token);
      if (options_.log_probabilities) generation.result.log_probabilities.push_back(emission.log_probability);
      piece.text = generation.stops.push(generation.stream.push(emission.token));
    }
    if (piece.finish_reason != FinishReason::none) piece.text += generation.stops.push(generation.stream.finish());
    if (generation.stops.stopped()) piece.finish_reason = FinishReason::stop;
    if (piece.finish_reason != FinishReason::none) piece.text += generation.stops.finish();
    generation.result.text += piece.text;
    if (options_.callback && !options_.callback(piece) && piece.finish_reason == FinishReason::none) {
      piece.finish_reason = FinishReason::callback;
    }
    if (piece.finish_reason != FinishReason::none) {
      generation.result.finish_reason = piece.finish_reason;
      leave(emission.sequence);
    }
    ready_.push_back(std::move(piece));
  }

  /// The prefill that generations number .. number + n - 1 share is over: each gets its own sequence, or all end with it.
  void end_prefill(const Emission& emission, std::size_t number) {
    const std::size_t count = options_.num_return_sequences;
    promised_ -= count - 1;
    if (emission.finish != FinishReason::length) {
      for (std::size_t i = 0; i < count; ++i) {
        generations_[number + i].result.finish_reason = emission.finish;
        ready_.push_back({number + i, -1, {}, 0, emission.finish});
      }
      return leave(emission.sequence);
    }
    for (std::size_t i = 0; i < count; ++i) {
      const SequenceId id = i + 1 == count ? emission.sequence : engine_->fork(emission.sequence);
      generations_[number + i].forked = true;
      generations_[number + i].logits = generations_[number].logits;
      generations_[number + i].first_position = generations_[number].first_position;
      sequence_of_[id] = number + i;
      SequenceOptions options = sequence_options(number + i);
      options.prompt_logits = false;
      engine_->resume(id, {}, sampler_, std::move(options));
    }
  }

  static Matrix matrix_of(const std::vector<std::vector<float>>& rows) {
    Matrix matrix(rows.size(), rows.empty() ? 0 : rows.front().size());
    for (std::size_t row = 0; row < rows.size(); ++row) std::copy(rows[row].begin(), rows[row].end(), matrix[row]);
    return matrix;
  }

  Engine* engine_;
  const Tokenizer* tokenizer_;
  std::vector<std::vector<Token>> prompts_;
  GenerationOptions options_;
  SamplerChain sampler_;
  std::vector<Generation> generations_;
  std::vector<std::optional<std::size_t>> sequence_of_;  // generation of a sequence
  std::deque<TextPiece> ready_;
  std::size_t next_prompt_ = 0;
  std::size_t promised_ = 0;  // sequences that running prefills will fork into
  std::optional<SequenceId> session_;
  Timings timings_;
  std::optional<Clock::time_point> started_;
  bool first_token_ = false;
};

}  // namespace tulle
