// SPDX-License-Identifier: Apache-2.0
/// \file What the files of the extension tulle._core share. Python's side (pipeline.py) hands arguments over as JSON, in
/// DeepSparse's names, which generate/deepsparse_names.hpp reads.
#pragma once

#include <nanobind/nanobind.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tulle/generate/deepsparse_names.hpp>
#include <tulle/generate/text_generation.hpp>

#include "bindings.hpp"
#include "compiled/engine.hpp"

namespace tulle::python {

/// Runs Python's signal handlers; a KeyboardInterrupt comes out as an exception. Requires the GIL or takes it.
inline void check_signals() {
  const nb::gil_scoped_acquire acquire;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// One call of a pipeline: all prompts side by side, or sessions one after the other. One at a time on a pipeline, which
/// Python's side sees to.
class Run {
 public:
  using Start = std::function<std::unique_ptr<GenerationRun>()>;

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
  std::unique_ptr<GenerationRun> run_;
  std::vector<GeneratedText> results_;
  Timings timings_;
};

/// A model, its tokenizer, an engine and named sessions.
class Pipeline {
 public:
  /// `arguments`: a JSON object. Errors: those of `apply_construction_arguments` and of loading.
  explicit Pipeline(const std::string& arguments);

  /// `tokens`: the prompts as ids, where `arguments` has none. `callback` (or None) sees every token's id; false ends its text.
  std::unique_ptr<Run> start(const std::string& arguments, std::vector<std::vector<Token>> tokens, nb::object callback);

  std::shared_ptr<const Tokenizer> tokenizer() const { return tokenizer_; }
  const std::string& chat_template() const noexcept { return chat_template_; }
  const Architecture& architecture() const noexcept { return generate_->model().architecture(); }
  std::size_t sequence_length() const { return generate_->engine().capacity(); }

 private:
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::string chat_template_;
  GenerationOptions defaults_;
  std::unique_ptr<TextGeneration> generate_;
  std::map<std::string, Session> sessions_;
};

}  // namespace tulle::python
