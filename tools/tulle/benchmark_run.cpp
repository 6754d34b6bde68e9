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
    : name_(std::move(name)), model_(std::move(model)), plan_(plan), verifications_(plan.verify_rows) {
  const tulle::Architecture& architecture = model_->architecture();
  if (options.cache_dtype == "auto") options.cache_dtype = is_float(*model_) ? "f32" : "f16";
  kv_row_bytes_ = kv_row_bytes(options.cache_dtype, architecture.head_dim);
  options.max_sequences = plan.batch + 1;
  options.prefill_chunk = std::max({options.prefill_chunk, plan.step_tokens(), plan.verify_rows});
  engine_ = assemble_engine(model_, options);
  options_ = options;

  tulle::SequenceOptions fill;
  fill.max_new_tokens = 0;
  for (std::size_t i = 0; i < plan.batch; ++i) {
    const auto tokens =
        random_tokens(std::max<std::size_t>(plan.kv_tokens, 1), architecture.vocabulary, static_cast<std::uint32_t>(i));
    sequences_.push_back(engine_->start(tokens, tulle::SamplerChain(), fill));
  }
  while (engine_->running()) engine_->step();
  more_ = random_tokens(std::max(plan.input_ids, plan.verify_rows), architecture.vocabulary, 1000);
  prompt_ = random_tokens(plan.prompt_tokens, architecture.vocabulary, 1001);
  prompt_sequence_ = engine_->start(std::span(prompt_).first(1), tulle::SamplerChain(), fill);
  engine_->step();
}

std::unique_ptr<tulle::Engine> Contestant::engine_for(std::size_t sequence_length,
                                                      std::shared_ptr<tulle::ThreadPool> threads) const {
  tulle::EngineOptions options = options_;
  options.sequence_length = sequence_length;
  options.max_sequences = 1;
  return tulle::make_engine(model_, options, 0, std::move(threads));
}

std::size_t Contestant::step_bytes() const noexcept {
  const tulle::Architecture& architecture = model_->architecture();
  std::size_t bytes = 0;
  model_->weights().for_each_linear(
      [&](const tulle::Linear<tulle::AnyKernel>& linear) { bytes += linear.size_bytes(); });
  for (std::size_t layer = 0; layer < architecture.layers.size(); ++layer) {
    const tulle::ExpertSpec& experts = architecture.layers[layer].experts;
    if (experts.count == 0) continue;
    std::size_t all = 0;
    for (const auto& expert : model_->weights().layers[layer].experts) {
      all += expert.up.size_bytes() + expert.down.size_bytes();
    }
    const double missed = 1 - static_cast<double>(experts.per_row) / static_cast<double>(experts.count);
    const auto rows_of_step = static_cast<double>(plan_.batch * plan_.input_ids);
    bytes -= static_cast<std::size_t>(static_cast<double>(all) * std::pow(missed, rows_of_step));
  }
  const std::size_t rows = 2 * architecture.layers.size() * architecture.kv_heads * (plan_.kv_tokens + plan_.input_ids);
  return bytes + plan_.batch * rows * kv_row_bytes_;
}

double Contestant::step(std::span<const tulle::SequenceId> sequences, std::size_t tokens) {
  tulle::SequenceOptions options = one_token();
  options.prompt_logits = tokens > 1;
  for (const tulle::SequenceId id : sequences) {
    engine_->sequences().truncate(id, plan_.kv_tokens);
    engine_->sequences().append(id, std::span(more_).first(tokens));
    engine_->run(id, tulle::SamplerChain(), options);
  }
  const auto begin = Clock::now();
  const std::size_t rows = engine_->step().rows;
  const double seconds = seconds_since(begin);
  if (rows != sequences.size() * tokens)
    tulle::fail(tulle::ErrorCode::state, "a step ran ", rows, " rows, not ", sequences.size() * tokens);
  return seconds;
}

void Contestant::warm_up() {
  const auto begin = Clock::now();
  while (seconds_since(begin) < plan_.warmup_seconds) (void)step(sequences_, plan_.input_ids);
}

double Contestant::run_prefill() {
  engine_->sequences().truncate(prompt_sequence_, 0);
  const auto begin = Clock::now();
  engine_->sequences().append(prompt_sequence_, prompt_);
  engine_->run(prompt_sequence_, tulle::SamplerChain(), one_token());
  while (engine_->running()) engine_->step();
  prefills_.push_back(seconds_since(begin));
  return prefills_.back();
}

double Contestant::run_verifications() {
  const std::span<const tulle::SequenceId> one = std::span(sequences_).first(1);
  double seconds = step(one, 1);
  for (std::size_t rows = 1; rows <= verifications_.size(); ++rows) {
    verifications_[rows - 1].push_back(step(one, rows));
    seconds += verifications_[rows - 1].back();
  }
  return seconds;
}

void Contestant::run_steps(double seconds, double bandwidth) {
  const std::size_t first = steps_.size();
  (void)step(sequences_, plan_.input_ids);
  const auto begin = Clock::now();
  do {
    steps_.push_back(step(sequences_, plan_.input_ids));
  } while (seconds_since(begin) < seconds);
  bandwidths_.push_back(bandwidth);
  round_medians_.push_back(bench::median({steps_.begin() + static_cast<std::ptrdiff_t>(first), steps_.end()}));
}

namespace {

/// Lets all contestants do something once a round, at least once, until it has taken the slowest of them that long.
class Budget {
 public:
  explicit Budget(double seconds) : seconds_(seconds) {}

  void spend(std::vector<Contestant>& contestants, double (Contestant::*run)()) {
    if (rounds_ > 0 && spent_ * (rounds_ + 1) / rounds_ > seconds_) return;
    double slowest = 0;
    for (Contestant& contestant : contestants) slowest = std::max(slowest, (contestant.*run)());
    spent_ += slowest;
    ++rounds_;
  }

 private:
  double seconds_, spent_ = 0, rounds_ = 0;
};

}  // namespace

void run_in_turns(std::vector<Contestant>& contestants, const BenchmarkPlan& plan, tulle::ThreadPool& pool,
                  const tulle::Progress& progress) {
  const bool is_short = plan.seconds < 0.1;  // as in tests: 512 MiB would take longer than the run
  bench::BandwidthProbe probe(pool, std::size_t{is_short ? 32u : 512u} << 20);
  probe();
  for (Contestant& contestant : contestants) contestant.warm_up();

  constexpr double min_rounds = 3, max_rounds = 40, seconds_of_round = 0.25;
  const auto rounds = static_cast<std::size_t>(std::clamp(plan.seconds / seconds_of_round, min_rounds, max_rounds));
  Budget prefills(plan.seconds), verifications(plan.seconds);
  for (std::size_t round = 0; round < rounds; ++round) {
    prefills.spend(contestants, &Contestant::run_prefill);
    if (plan.verify_rows > 1) verifications.spend(contestants, &Contestant::run_verifications);
    for (Contestant& contestant : contestants) {
      const double bandwidth = static_cast<double>(probe.bytes()) / bench::seconds_of([&] { probe(); });
      contestant.run_steps(plan.seconds / static_cast<double>(rounds), bandwidth);
    }
    if (progress) progress("measuring", static_cast<double>(round + 1) / static_cast<double>(rounds));
  }
}
