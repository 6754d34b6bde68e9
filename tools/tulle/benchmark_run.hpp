// SPDX-License-Identifier: Apache-2.0
/// \file Models that generate interleaved, and their times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <tulle/core/progress.hpp>
#include <tulle/generate/engine.hpp>
#include <vector>

struct BenchmarkPlan {
  std::size_t batch = 1;
  std::size_t input_ids = 1;    ///< tokens that a step takes from every sequence
  std::size_t kv_tokens = 128;  ///< that the cache holds of every sequence before a step
  std::size_t prompt_tokens = 512;
  std::size_t verify_rows = 8;  ///< passes over 1 to so many rows of one sequence are measured; 1: none
  double seconds = 10;          ///< of measured steps of every model, and at most of prefills and of such passes
  double warmup_seconds = 2;

  std::size_t step_tokens() const noexcept { return batch * input_ids; }
  /// Positions that a sequence reaches.
  std::size_t sequence_length() const noexcept {
    return std::max(kv_tokens + 1 + std::max(input_ids, verify_rows), prompt_tokens + 1);
  }
};

/// One of the models that are compared. All times are seconds.
class Contestant {
 public:
  /// `options`: of the engine, except those that the plan decides. Errors: those of `tulle::make_engine`.
  Contestant(std::string name, std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model,
             tulle::EngineOptions options, const BenchmarkPlan& plan);

  const std::string& name() const noexcept { return name_; }
  const tulle::Model<tulle::AnyKernel>& model() const noexcept { return *model_; }
  std::size_t sequence_length() const noexcept { return options_.sequence_length; }  ///< 0: the model's own
  /// Another engine of the same model and options, for one sequence; on threads that never run meanwhile, or its own.
  std::unique_ptr<tulle::Engine> engine_for(std::size_t sequence_length,
                                            std::shared_ptr<tulle::ThreadPool> threads = nullptr) const;

  /// What a step reads: every packed matrix once, and the keys and values of every sequence. Of the experts of a
  /// mixture as many as rows that choose at random would have in all.
  std::size_t step_bytes() const noexcept;

  void warm_up();
  double run_prefill();  ///< seconds that it took
  /// A pass over one row of one sequence, over two, ... as in the verification of drafted tokens. Returns the seconds
  /// of all of them.
  double run_verifications();
  /// Runs steps for `seconds`, at least one. A first step, whose weights are in no cache yet, does not count.
  /// `bandwidth`: bytes a second that were read just before.
  void run_steps(double seconds, double bandwidth);

  const std::vector<double>& steps() const noexcept { return steps_; }
  const std::vector<double>& round_medians() const noexcept { return round_medians_; }  ///< of steps, one a round
  const std::vector<double>& bandwidths() const noexcept { return bandwidths_; }        ///< one a round
  const std::vector<double>& prefills() const noexcept { return prefills_; }  ///< from the prompt to its first token
  /// [rows - 1]: of passes over so many rows, one a round that had them.
  const std::vector<std::vector<double>>& verifications() const noexcept { return verifications_; }

 private:
  /// The next `tokens` of every one of `sequences`.
  double step(std::span<const tulle::SequenceId> sequences, std::size_t tokens);

  std::string name_;
  std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model_;
  BenchmarkPlan plan_;
  tulle::EngineOptions options_;
  std::size_t kv_row_bytes_;
  std::unique_ptr<tulle::Engine> engine_;
  std::vector<tulle::SequenceId> sequences_;
  tulle::SequenceId prompt_sequence_;
  std::vector<tulle::Token> more_, prompt_;
  std::vector<double> steps_, round_medians_, bandwidths_, prefills_;
  std::vector<std::vector<double>> verifications_;
};

/// Runs the models interleaved, each after a probe of the read bandwidth of the threads of `pool`. Errors: memory.
void run_in_turns(std::vector<Contestant>& contestants, const BenchmarkPlan& plan, tulle::ThreadPool& pool,
                  const tulle::Progress& progress);
