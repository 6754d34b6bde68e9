// SPDX-License-Identifier: Apache-2.0
#include "benchmark_speculation.hpp"

#include <algorithm>
#include <bench/measure.hpp>
#include <cmath>
#include <memory>
#include <tulle/generate/speculative.hpp>
#include <utility>

#include "oracle_drafter.hpp"

namespace {

constexpr std::size_t speculation_rounds = 3, speculation_prompt = 32;

/// A text and the seconds of all its tokens but the first.
struct TimedText {
  std::vector<tulle::Token> tokens;  // prompt included
  double seconds = 0;
};

TimedText timed_text(tulle::Engine& engine, std::span<const tulle::Token> prompt, std::size_t tokens) {
  tulle::SequenceOptions options;
  options.max_new_tokens = tokens;
  options.ignore_eos = true;
  const tulle::SequenceId id = engine.start(prompt, tulle::SamplerChain(), options);
  while (engine.sequences().history(id).size() == prompt.size()) engine.step();
  TimedText text;
  text.seconds = bench::seconds_of([&] {
    while (engine.running()) engine.step();
  });
  const std::span<const tulle::Token> history = engine.sequences().history(id);
  text.tokens.assign(history.begin(), history.end());
  engine.sequences().release(id);
  return text;
}

/// Of a target, and of a draft model on its threads.
class Speculator {
 public:
  Speculator(const Contestant& target, const Contestant& draft, const SpeculationPlan& plan)
      : draft_(draft), plan_(plan), engine_(target.engine_for(speculation_prompt + plan.tokens)) {
    for (std::size_t i = 0; i < speculation_prompt; ++i) prompt_.push_back(static_cast<tulle::Token>(i));
  }

  TimedText plain() { return timed_text(*engine_, prompt_, plan_.tokens); }

  /// The same text with drafts that are right where `run` says so.
  double seconds(const TimedText& plain, SpeculationRun& run, bool adaptive, std::size_t seed) {
    using Drafts = tulle::Speculative<tulle::Engine::Policies, OracleDrafter>;
    OracleDrafter oracle(draft_.engine_for(speculation_prompt + plan_.tokens, engine_->threads()), plain.tokens,
                         run.acceptance, seed);
    engine_->speculate(std::make_unique<Drafts>(std::move(oracle), tulle::SpeculationOptions{run.length, adaptive}));
    const TimedText text = timed_text(*engine_, prompt_, plan_.tokens);
    const auto drafts = engine_->speculate(nullptr);
    run.same_text = run.same_text && text.tokens == plain.tokens;
    if (!adaptive) {
      run.examined += drafts->figures().examined;
      run.accepted += drafts->figures().accepted;
    }
    return text.seconds;
  }

 private:
  const Contestant& draft_;
  const SpeculationPlan& plan_;
  std::unique_ptr<tulle::Engine> engine_;
  std::vector<tulle::Token> prompt_;
};

}  // namespace

double SpeculationCosts::speed_up(double acceptance, std::size_t length) const noexcept {
  double tokens = 0;
  for (std::size_t i = 0; i <= length; ++i) tokens += std::pow(acceptance, i);
  return tokens * target.front() / (static_cast<double>(length) * draft + target[length]);
}

std::size_t SpeculationCosts::best_length(double acceptance) const noexcept {
  std::size_t best = 1;
  for (std::size_t length = 2; length < target.size(); ++length) {
    if (speed_up(acceptance, length) > speed_up(acceptance, best)) best = length;
  }
  return best;
}

SpeculationCosts speculation_costs(const Contestant& target, const Contestant& draft) {
  SpeculationCosts costs;
  for (const std::vector<double>& seconds : target.verifications()) costs.target.push_back(bench::median(seconds));
  costs.draft = bench::median(draft.verifications().front());
  return costs;
}

std::vector<SpeculationRun> run_speculation(const Contestant& target, const Contestant& draft,
                                            const SpeculationPlan& plan, const tulle::Progress& progress) {
  const SpeculationCosts costs = speculation_costs(target, draft);
  std::vector<SpeculationRun> runs;
  for (const double acceptance : plan.acceptances) {
    const std::size_t length = plan.length != 0 ? plan.length : costs.best_length(acceptance);
    runs.push_back({.acceptance = acceptance, .predicted = costs.speed_up(acceptance, length), .length = length});
  }
  Speculator speculator(target, draft, plan);
  for (std::size_t round = 0; round < speculation_rounds; ++round) {
    const TimedText plain = speculator.plain();
    for (SpeculationRun& run : runs) {
      run.fixed.push_back(plain.seconds / speculator.seconds(plain, run, false, round));
      run.adaptive.push_back(plain.seconds / speculator.seconds(plain, run, true, round));
    }
    if (progress) progress("speculating", static_cast<double>(round + 1) / speculation_rounds);
  }
  return runs;
}
