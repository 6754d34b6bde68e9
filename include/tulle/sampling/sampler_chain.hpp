// SPDX-License-Identifier: Apache-2.0
/// \file Transforms and a choice, combined at run time from options (L2).
#pragma once

#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/sampling/constraint.hpp>
#include <tulle/sampling/greedy.hpp>
#include <tulle/sampling/logit_bias.hpp>
#include <tulle/sampling/min_new_tokens.hpp>
#include <tulle/sampling/min_p.hpp>
#include <tulle/sampling/multinomial.hpp>
#include <tulle/sampling/no_repeat_ngram.hpp>
#include <tulle/sampling/penalties.hpp>
#include <tulle/sampling/sampler.hpp>
#include <tulle/sampling/sampling_options.hpp>
#include <tulle/sampling/temperature.hpp>
#include <tulle/sampling/top_k.hpp>
#include <tulle/sampling/top_p.hpp>
#include <tulle/sampling/typical.hpp>

namespace tulle {

/// The sampler of the command, the server and the C ABI. Transforms whose option is off are left out.
///
/// `SamplerOrder::hugging_face` gives the probabilities that transformers' `generate` gives for the same options.
/// `SamplerOrder::llama_cpp` takes the order of llama.cpp's default chain; the definitions stay those of this library:
/// top-k keeps ties, the repetition penalty counts the whole history, presence and frequency what was generated
/// (llama.cpp: exactly k tokens; every penalty counts the last 64 tokens, prompt included).
/// A constraint comes first, so every other transform sees only tokens that it allows.
/// A greedy choice applies biases, penalties and bans only.
/// Errors: invalid_argument as `SamplingOptions::validate`.
class SamplerChain {
 public:
  explicit SamplerChain(const SamplingOptions& options = {}) {
    options.validate();
    if constexpr (!is_web) constraint_ = Constrained(options.constraint, options.eos);
    add(LogitBias(options.logit_bias));
    add(RepetitionPenalty(options.repetition_penalty));
    add(PresencePenalty(options.presence_penalty));
    add(FrequencyPenalty(options.frequency_penalty));
    add(NoRepeatNgram(options.no_repeat_ngram));
    add(MinNewTokens(options.min_new_tokens, options.eos));
    if (options.greedy()) return;

    choice_ = Multinomial();
    if (options.order == SamplerOrder::llama_cpp) {
      add(TopK(options.top_k));
      add(Typical(options.typical_p));
      add(TopP(options.top_p));
      add(MinP(options.min_p));
      add(Temperature(options.temperature));
    } else {
      add(Temperature(options.temperature));
      add(TopK(options.top_k));
      add(TopP(options.top_p));
      add(MinP(options.min_p));
      add(Typical(options.typical_p));
    }
  }

  // NOLINTBEGIN(bugprone-exception-escape): no variant here is ever without a value, for which std::visit throws
  Token sample(std::span<float> logits, const SamplingContext& context) const noexcept {
    transform(logits, context);
    return std::visit([&](const auto& choice) { return choice.sample(logits, context); }, choice_);
  }

  void distribution(std::span<float> logits, const SamplingContext& context) const noexcept {
    transform(logits, context);
    std::visit([&](const auto& choice) { choice.distribution(logits, context); }, choice_);
  }
  // NOLINTEND(bugprone-exception-escape)

 private:
  using Transform = std::variant<LogitBias, RepetitionPenalty, PresencePenalty, FrequencyPenalty, NoRepeatNgram,
                                 MinNewTokens, Temperature, TopK, TopP, MinP, Typical>;

  template <LogitsTransform Stage>
  void add(Stage stage) {
    if (!stage.neutral()) transforms_.emplace_back(std::move(stage));
  }

  // NOLINTNEXTLINE(bugprone-exception-escape): as above
  void transform(std::span<float> logits, const SamplingContext& context) const noexcept {
    if constexpr (!is_web) {  // a web module has no grammars
      if (!constraint_.neutral()) constraint_.apply(logits, context);
    }
    for (const Transform& stage : transforms_) {
      std::visit([&](const auto& one) { one.apply(logits, context); }, stage);
    }
  }

  Constrained constraint_;
  std::vector<Transform> transforms_;
  std::variant<Greedy, Multinomial> choice_;
};

static_assert(Sampler<SamplerChain>);

}  // namespace tulle
