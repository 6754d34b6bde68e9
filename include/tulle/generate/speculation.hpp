// SPDX-License-Identifier: Apache-2.0
/// \file Speculative decoding as an engine sees it: something that drafts before a step and learns from it (L4).
#pragma once

#include <cstddef>
#include <vector>

#include <tulle/generate/step_report.hpp>

namespace tulle {

/// How long drafts are.
struct SpeculationOptions {
  std::size_t max_tokens = 7;  ///< of a draft
  /// As long as measured costs and acceptance say that it pays, and none where it does not; false: always `max_tokens`.
  bool adaptive = true;
};

/// What speculation has done so far, over all sequences.
struct SpeculationFigures {
  std::size_t passes = 0;    ///< of the target that gave tokens of a sequence: one for each sequence in a step
  std::size_t tokens = 0;    ///< that they gave
  std::size_t drafted = 0;   ///< tokens that were proposed
  std::size_t examined = 0;  ///< of them, up to the first of each draft that was not accepted
  std::size_t accepted = 0;
  std::vector<std::size_t> histogram;  ///< passes by the number of drafted tokens that they accepted
  double draft_seconds = 0;            ///< in the drafter

  double mean_accepted() const noexcept { return ratio(tokens, passes) - (passes == 0 ? 0 : 1); }
  double acceptance() const noexcept { return ratio(accepted, examined); }

 private:
  static double ratio(std::size_t a, std::size_t b) noexcept {
    return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

/// `Speculative` behind a type without its drafter. Lifetime: that of one generator. Threads: one at a time.
template <class GeneratorType>
class Speculation {
 public:
  virtual ~Speculation() = default;

  /// Before a step: drafts for the sequences that run. Errors: memory.
  virtual void draft(GeneratorType& generator) = 0;
  /// After the step, which took `seconds`.
  virtual void learn(const StepReport& report, double seconds) = 0;

  const SpeculationFigures& figures() const noexcept { return figures_; }

 protected:
  SpeculationFigures figures_;
};

}  // namespace tulle
