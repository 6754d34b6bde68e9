// SPDX-License-Identifier: Apache-2.0
/// \file One call of a pipeline while it runs.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include <tulle/generate/text_stream.hpp>

#include "bindings.hpp"
#include "compiled/engine.hpp"

namespace tulle::python {

/// Runs Python's signal handlers; a KeyboardInterrupt comes out as an exception. Requires the GIL or takes it.
inline void check_signals() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// One call of a pipeline: all prompts side by side, or sessions one after the other. One at a time on a pipeline,
/// which Python's side sees to.
class Run {
 public:
  using Start = std::function<TextStream()>;

  explicit Run(std::deque<Start> parts) : parts_(std::move(parts)) {}

  /// The next piece, or None at the end. Works without the GIL and looks at signals after every forward pass.
  std::optional<TextPiece> next();

  /// Reads everything.
  void finish() {
    while (next()) {
    }
  }

  /// What was generated, after the end.
  std::vector<GeneratedText> take_results() { return std::move(results_); }
  const Timings& timings() const noexcept { return timings_; }

 private:
  void end_part();

  std::deque<Start> parts_;
  std::optional<TextStream> stream_;
  std::vector<GeneratedText> results_;
  Timings timings_;
};

}  // namespace tulle::python
