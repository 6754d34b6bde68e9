// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for make_speculation.hpp (L4).
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/requantized_tensors.hpp>
#include <tulle/format/tokenizer_files.hpp>
#include <tulle/generate/draft/draft_name.hpp>
#include <tulle/generate/draft/draft_vocabulary.hpp>
#include <tulle/generate/draft/make_speculation.hpp>
#include <tulle/generate/draft/model_drafter.hpp>
#include <tulle/generate/draft/ngram_drafter.hpp>
#include <tulle/generate/draft/prediction_drafter.hpp>
#include <tulle/generate/model.hpp>
#include <tulle/generate/speculative.hpp>
#include <tulle/kernel/any_kernel.hpp>

namespace tulle {

namespace detail {

/// The pattern to which a matrix is pruned for a kernel, and the kernel that packs what keeps that pattern.
inline std::pair<MagnitudePattern, std::string_view> copy_kernel(std::string_view name) {
  struct Sparse {
    std::string_view name;
    MagnitudePattern pattern;
  };
  constexpr std::array<Sparse, 4> sparse{
      {{"2:4_", {2, 4, 0}}, {"4:16_", {4, 16, 0}}, {"8:16_gap4_", {8, 16, 4}}, {"8:16_i8", {8, 16, 0}}}};
  for (const Sparse& each : sparse) {
    if (name.starts_with(each.name)) return {each.pattern, name.ends_with("i4") ? fastest_of_i4 : fastest_of_i8};
  }
  return {{}, name};
}

/// The model of `target` with weights of another kernel, never those of its file: their values are rounded anew.
inline std::shared_ptr<const Model<AnyKernel>> load_copy(const DraftTarget& target, std::string_view kernel,
                                                         const Progress& progress) {
  const auto [pattern, packed] = copy_kernel(kernel_choice(kernel));
  const auto checkpoint = target.open();
  const Architecture& architecture = target.engine.architecture();
  LoadOptions load{{}, progress, target.options.threads};
  load.pack.kernel = packed;
  const RequantizedTensors tensors(*checkpoint, architecture.names.embedding, pattern);
  return Model<AnyKernel>::load(tensors, architecture, load);
}

inline std::shared_ptr<const Model<AnyKernel>> load_other(const DraftTarget& target, const std::string& path,
                                                          const Progress& progress) {
  const auto checkpoint = Checkpoint::open(path);
  refuse_draft_heads(checkpoint->config(), path);
  require_same_vocabulary(target.tokenizer, *tulle::load_tokenizer(path), path);
  return Model<AnyKernel>::load(*checkpoint, {}, progress, target.options.threads);
}

/// As long as the target's texts, where the model can have such.
inline EngineOptions draft_engine_options(const DraftTarget& target, const Architecture& model) {
  EngineOptions options = target.options;
  if (options.cache != "sliding") options.sequence_length = target.engine.capacity();
  if (model.learned_positions != 0) {
    options.sequence_length = std::min(options.sequence_length, model.learned_positions - model.first_position);
  }
  return options;
}

}  // namespace detail

TULLE_INLINE std::unique_ptr<Speculation<Engine::Policies>> make_speculation(const DraftTarget& target,
                                                                             const DraftOptions& options,
                                                                             const Progress& progress) {
  using Policies = Engine::Policies;
  const auto [first, second] = detail::split_stack(options.drafter);
  const auto with = [&]<class DrafterType>(DrafterType drafter) -> std::unique_ptr<Speculation<Policies>> {
    return std::make_unique<Speculative<Policies, DrafterType>>(std::move(drafter), options.speculation);
  };
  if (options.drafter.empty()) return nullptr;
  const bool is_stack = options.drafter.starts_with('+') || options.drafter.ends_with('+') || !first.empty();
  const bool is_bad_stack = first.empty() || first == "prediction" || second.empty() || second == "ngram";
  if ((is_stack && is_bad_stack) || (second == "prediction" && (is_stack || options.prediction.empty()))) {
    fail(ErrorCode::invalid_argument, "the drafter \"", options.drafter,
         "\" is no name: A+B is A, no prediction, that guesses for a model B; a prediction has a text");
  }
  if (options.speculation.max_tokens > 64) fail(ErrorCode::invalid_argument, "a draft has at most 64 tokens");
  if (second == "ngram") return with(NgramDrafter());
  if constexpr (is_web) {
    fail(ErrorCode::unsupported, "\"ngram\" alone drafts in WebAssembly");
  } else {
    if (second == "prediction") return with(PredictionDrafter(target.tokenizer.encode(options.prediction)));
    const bool copies = second.starts_with(detail::copy_prefix);
    auto model = copies ? detail::load_copy(target, second.substr(detail::copy_prefix.size()), progress)
                        : detail::load_other(target, second, progress);
    const EngineOptions own = detail::draft_engine_options(target, model->architecture());
    auto engine = make_engine(std::move(model), own, target.engine.vocabulary(), target.engine.threads());
    if (!first.empty()) {
      const DraftTarget inner{*engine, target.tokenizer, own, target.open};
      engine->speculate(make_speculation(inner, {first, options.prediction, options.speculation}, progress));
    }
    return with(ModelDrafter<Engine, SamplerChain>(std::move(engine), copies));
  }
}

}  // namespace tulle
