// SPDX-License-Identifier: Apache-2.0
/// \file One call of a pipeline while it runs.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <tulle/generate/text_stream.hpp>

#include "bindings.hpp"
#include "gil.hpp"

namespace tulle::python {

/// Runs Python's signal handlers; a KeyboardInterrupt becomes an exception. Requires the GIL or takes it.
inline void check_signals() {
  const WithGil gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// One call of a pipeline: all prompts in one batch, or sessions one after the other. `next`, `finish` and `stop`: one at
/// a time on a pipeline, which Python's side ensures.
class Run {
 public:
  using Start = std::function<TextStream()>;

  /// `copies`: texts of one prompt. `log_probabilities`: whether pieces have one.
  Run(std::deque<Start> parts, std::size_t copies, bool log_probabilities)
      : parts_(std::move(parts)), copies_(copies), log_probabilities_(log_probabilities) {}

  /// The next piece, or None at the end. Runs without the GIL and handles signals after every forward pass.
  std::optional<TextPiece> next();

  /// Reads everything.
  void finish() {
    while (next()) {
    }
  }

  /// Ends what still runs. The destructor leaves the engine alone afterwards, so it may come at any time.
  void stop() noexcept {
    stream_.reset();
    parts_.clear();
  }

  /// What was generated, after the end.
  std::vector<GeneratedText> take_results() { return std::move(results_); }
  const Timings& timings() const noexcept { return timings_; }
  std::size_t copies() const noexcept { return copies_; }
  bool log_probabilities() const noexcept { return log_probabilities_; }

 private:
  void end_part();

  std::deque<Start> parts_;  // the first is that of stream_, where there is one
  std::size_t copies_;
  bool log_probabilities_;
  std::optional<TextStream> stream_;
  std::vector<GeneratedText> results_;
  Timings timings_;
};

}  // namespace tulle::python
