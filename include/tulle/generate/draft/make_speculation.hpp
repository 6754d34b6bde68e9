// SPDX-License-Identifier: Apache-2.0
/// \file Drafters by name, for the engine of a loaded model (L4).
#pragma once

#include <functional>
#include <memory>

#include <tulle/core/progress.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/generate/draft/draft_options.hpp>
#include <tulle/generate/engine.hpp>
#include <tulle/generate/engine_options.hpp>
#include <tulle/generate/speculation.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// What is drafted for.
struct DraftTarget {
  const Engine& engine;
  const Tokenizer& tokenizer;
  EngineOptions options;  ///< with which the engine was made
  /// The checkpoint of its model, opened when a copy of it is made.
  std::function<std::shared_ptr<const Checkpoint>()> open;
};

/// What `options` names, for `Engine::speculate`; null where they name nothing. The drafter's models run on the threads
/// of the target. Errors: those of loading; invalid_argument for another vocabulary; unsupported for draft heads.
std::unique_ptr<Speculation<Engine::Policies>> make_speculation(const DraftTarget& target, const DraftOptions& options,
                                                                const Progress& progress = {});

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/generate/draft/make_speculation_inline.hpp>
#endif
