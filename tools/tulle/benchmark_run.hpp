// SPDX-License-Identifier: Apache-2.0
/// \file Models that generate in turns, and how long they take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <tulle/core/progress.hpp>
#include <tulle/generate/engine.hpp>
#include <vector>

struct BenchmarkPlan {
  std::size_t batch = 1;
  std::size_t input_ids = 1;      ///< tokens that a step takes from every sequence
  std::size_t kv_tokens = 128;    ///< that the cache holds of every sequence before a step
  std::size_t prompt_tokens = 512;
  double seconds = 10;            ///< of measured steps of every model, and at most of prefills
  double warmup_seconds = 2;

  std::size_t step_tokens() const noexcept { return batch * input_ids; }
  /// Positions that a sequence reaches.
  std::size_t sequence_length() const noexcept { return std::max(kv_tokens + 1 + input_ids, prompt_tokens + 1); }
};

/// One of the models that are compared. All times are seconds.
class Contestant {
 public:
  /// `options`: of the engine, but for what the plan decides. Errors: those of `tulle::make_engine`.
  Contestant(std::string name, std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model,
             tulle::EngineOptions options, const BenchmarkPlan& plan);

  const std::string& name() const noexcept { return name_; }
  const tulle::Model<tulle::AnyKernel>& model() const noexcept { return *model_; }
  std::size_t sequence_length() const noexcept { return engine_->capacity(); }

  /// What a step reads: every packed matrix once, and the keys and values of every sequence.
  std::size_t step_bytes() const noexcept;

  void warm_up();
  void run_prefill();
  /// Steps for so long, at least one; a first one, whose weights are not in any cache yet, does not count.
  /// `bandwidth`: bytes a second that were read just before.
  void run_steps(double seconds, double bandwidth);

  const std::vector<double>& steps() const noexcept { return steps_; }
  const std::vector<double>& round_medians() const noexcept { return round_medians_; }  ///< of steps, one a round
  const std::vector<double>& bandwidths() const noexcept { return bandwidths_; }  ///< one a round
  const std::vector<double>& prefills() const noexcept { return prefills_; }  ///< from the prompt to its first token

 private:
  double step();

  std::string name_;
  std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model_;
  BenchmarkPlan plan_;
  std::size_t kv_row_bytes_;
  std::unique_ptr<tulle::Engine> engine_;
  std::vector<tulle::SequenceId> sequences_;
  tulle::SequenceId prompt_sequence_;
  std::vector<tulle::Token> more_, prompt_;
  std::vector<double> steps_, round_medians_, bandwidths_, prefills_;
};

/// Runs the models in turns, each after a probe of the read bandwidth. Errors: memory.
void run_in_turns(std::vector<Contestant>& contestants, const BenchmarkPlan& plan, std::size_t threads,
                  const tulle::Progress& progress);

double median(std::vector<double> values);

/// The value below which `share` of them lie, between neighbours in proportion.
double quantile(std::vector<double> values, double share);
