// SPDX-License-Identifier: Apache-2.0
/// \file Speculative decoding with a draft model that is right as often as wanted: measured, and as predicted.
#pragma once

#include <cstddef>
#include <tulle/core/progress.hpp>
#include <vector>

#include "benchmark_run.hpp"

struct SpeculationPlan {
  std::vector<double> acceptances{0.8};  ///< probabilities that a drafted token is right
  std::size_t length = 0;                ///< of a draft; 0: the best one by the cost model
  std::size_t tokens = 128;              ///< of the text
};

/// What steps cost, from passes that were measured one by one.
struct SpeculationCosts {
  std::vector<double> target;  ///< [rows - 1] seconds of a pass over so many rows
  double draft = 0;            ///< seconds of one drafted token

  /// Of text with drafts of `length` tokens over text without: a pass gives (1 - a^(length + 1)) / (1 - a) tokens
  /// (Leviathan et al., "Fast inference from transformers via speculative decoding", 2023, equation 1).
  double speed_up(double acceptance, std::size_t length) const noexcept;
  std::size_t best_length(double acceptance) const noexcept;
};

SpeculationCosts speculation_costs(const Contestant& target, const Contestant& draft);

/// One acceptance. A ratio is that of tokens per second to those without drafts in the same round.
struct SpeculationRun {
  double acceptance = 0, predicted = 0;
  std::size_t length = 0;
  std::vector<double> fixed = {}, adaptive = {};  ///< ratios with drafts of `length`; of at most that, by the policy
  std::size_t examined = 0, accepted = 0;         ///< tokens of drafts of `length`
  bool same_text = true;                          ///< as without drafts
};

/// Three rounds of the same text without drafts and with all kinds of them. Errors: memory.
std::vector<SpeculationRun> run_speculation(const Contestant& target, const Contestant& draft,
                                            const SpeculationPlan& plan, const tulle::Progress& progress);
