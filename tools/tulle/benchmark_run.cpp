// SPDX-License-Identifier: Apache-2.0
#include "benchmark_run.hpp"

#include <algorithm>
#include <bench/measure.hpp>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include "pipeline.hpp"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::vector<tulle::Token> random_tokens(std::size_t count, std::size_t vocabulary, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<tulle::Token> tokens(count);
  for (tulle::Token& token : tokens) token = static_cast<tulle::Token>(random() % vocabulary);
  return tokens;
}

tulle::SequenceOptions one_token() {
  tulle::SequenceOptions options;
  options.max_new_tokens = 1;
  options.ignore_eos = true;
  return options;
}

void ignore(const tulle::Emission&) {}

bool is_float(const tulle::Model<tulle::AnyKernel>& model) {
  bool all = true;
  model.weights().for_each_linear([&](const tulle::Linear<tulle::AnyKernel>& linear) {
    for (const auto& part : linear.parts) all = all && part.weights.is_float();
  });
  return all;
}

/// Of the keys or the values of one head at one position.
std::size_t kv_row_bytes(const std::string& dtype, std::size_t head_dim) {
  if (dtype == "f32") return head_dim * sizeof(float);
  if (dtype == "i8") return head_dim + sizeof(float);
  return head_dim * sizeof(tulle::Half);
}

}  // namespace

Contestant::Contestant(std::string name, std::shared_ptr<const tulle::Model<tulle::AnyKernel>> model,
                       tulle::EngineOptions options, const BenchmarkPlan& plan)
    : name_(std::move(name)), model_(std::move(model)), plan_(plan) {
  const tulle::Architecture& architecture = model_->architecture();
  if (options.cache_dtype == "auto") options.cache_dtype = is_float(*model_) ? "f32" : "f16";
  kv_row_bytes_ = kv_row_bytes(options.cache_dtype, architecture.head_dim);
  options.sequences = plan.batch + 1;
  options.prompt_sequence_length = std::max(options.prompt_sequence_length, plan.step_tokens());
  engine_ = assemble_engine(model_, options);

  tulle::SequenceOptions fill;
  fill.max_new_tokens = 0;
  for (std::size_t i = 0; i < plan.batch; ++i) {
    // The last token of these is the first one of every step.
    const auto tokens = random_tokens(plan.kv_tokens + 1, architecture.vocabulary, static_cast<std::uint32_t>(i));
    sequences_.push_back(engine_->start(tokens, tulle::SamplerChain(), fill));
  }
  while (engine_->step(ignore)) {
  }
  more_ = random_tokens(plan.input_ids - 1, architecture.vocabulary, 1000);
  prompt_ = random_tokens(plan.prompt_tokens, architecture.vocabulary, 1001);
  prompt_sequence_ = engine_->start(std::span(prompt_).first(1), tulle::SamplerChain(), fill);
  (void)engine_->step(ignore);
}

std::size_t Contestant::step_bytes() const noexcept {
  const tulle::Architecture& architecture = model_->architecture();
  std::size_t bytes = 0;
  model_->weights().for_each_linear(
      [&](const tulle::Linear<tulle::AnyKernel>& linear) { bytes += linear.size_bytes(); });
  const std::size_t rows = 2 * architecture.layers * architecture.kv_heads * (plan_.kv_tokens + plan_.input_ids);
  return bytes + plan_.batch * rows * kv_row_bytes_;
}

double Contestant::step() {
  tulle::SequenceOptions options = one_token();
  options.prompt_logits = plan_.input_ids > 1;
  for (const tulle::SequenceId id : sequences_) {
    engine_->truncate(id, plan_.kv_tokens + 1);
    engine_->resume(id, more_, tulle::SamplerChain(), options);
  }
  const auto begin = Clock::now();
  (void)engine_->step(ignore);
  return seconds_since(begin);
}

void Contestant::warm_up() {
  const auto begin = Clock::now();
  while (seconds_since(begin) < plan_.warmup_seconds) (void)step();
}

void Contestant::run_prefill() {
  engine_->truncate(prompt_sequence_, 0);
  const auto begin = Clock::now();
  engine_->resume(prompt_sequence_, prompt_, tulle::SamplerChain(), one_token());
  while (engine_->step(ignore)) {
  }
  prefills_.push_back(seconds_since(begin));
}

void Contestant::run_steps(double seconds, double bandwidth) {
  const std::size_t first = steps_.size();
  (void)step();
  const auto begin = Clock::now();
  do {
    steps_.push_back(step());
  } while (seconds_since(begin) < seconds);
  bandwidths_.push_back(bandwidth);
  round_medians_.push_back(median({steps_.begin() + static_cast<std::ptrdiff_t>(first), steps_.end()}));
}

void run_in_turns(std::vector<Contestant>& contestants, const BenchmarkPlan& plan, std::size_t threads,
                  const tulle::Progress& progress) {
  tulle::ThreadPool pool(threads);
  bench::BandwidthProbe probe(pool);
  probe();
  for (Contestant& contestant : contestants) contestant.warm_up();

  constexpr double least_rounds = 3, most_rounds = 40, seconds_of_round = 0.25;
  const auto rounds = static_cast<std::size_t>(std::clamp(plan.seconds / seconds_of_round, least_rounds, most_rounds));
  double prefill_seconds = 0;  // of the slowest model
  for (std::size_t round = 0; round < rounds; ++round) {
    const auto prefills = static_cast<double>(contestants.front().prefills().size());
    if (prefills == 0 || prefill_seconds * (prefills + 1) / prefills <= plan.seconds) {
      double slowest = 0;
      for (Contestant& contestant : contestants) {
        contestant.run_prefill();
        slowest = std::max(slowest, contestant.prefills().back());
      }
      prefill_seconds += slowest;
    }
    for (Contestant& contestant : contestants) {
      const double bandwidth = static_cast<double>(bench::BandwidthProbe::bytes) / bench::seconds_of([&] { probe(); });
      contestant.run_steps(plan.seconds / static_cast<double>(rounds), bandwidth);
    }
    if (progress) progress("measuring", static_cast<double>(round + 1) / static_cast<double>(rounds));
  }
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

double median(std::vector<double> values) { return quantile(std::move(values), 0.5); }
