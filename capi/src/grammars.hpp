// SPDX-License-Identifier: Apache-2.0
/// \file Structured output: the grammars of a model, and what a session's texts follow.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include <tulle/generate/generation_options.hpp>
#include <tulle/grammar/grammars.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle::capi {

#if defined(__EMSCRIPTEN__)  // a web module has no grammars, and its code does not change for them

class ModelGrammars {};

struct TextConstraint {
  void apply(GenerationOptions&) const noexcept {}
};

#else

/// Made when a session first needs them. Threads: all may call at once.
class ModelGrammars {
 public:
  /// `tokenizer` and `vocabulary` are always the model's. Errors: those of `make_grammars`.
  Grammars& of(const Tokenizer& tokenizer, std::size_t vocabulary) const;

 private:
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Grammars> grammars_;
};

struct TextConstraint {
  std::shared_ptr<const Constraint> rules;  // null: none

  void apply(GenerationOptions& options) const { options.sampling.constraint = rules; }
};

#endif

}  // namespace tulle::capi
