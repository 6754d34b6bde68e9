// SPDX-License-Identifier: Apache-2.0
/// \file Drafts that another model draws (L4).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/cache/copied_rows.hpp>
#include <tulle/core/types.hpp>
#include <tulle/generate/drafter.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/generate/step_report.hpp>
#include <tulle/sampling/row_score.hpp>

namespace tulle {

/// Another model with the same tokens: a smaller one of the family, or a cheaper copy of the target. It continues each
/// history with the target's sampler and draws, so both models take the same token where their distributions are close:
/// with equal random numbers, the token is the same for as much of the unit interval as both give it.
///
/// `EngineType` has `sequences`, `run` and `step` of `Engine`, and at least as many sequences as the target. It keeps
/// the sequences of the target that it has drafted for; what a new history has in common with an old one is not run
/// again. A copy of the target runs nothing of the history but the last token: it takes the target's own keys and
/// values, which also are better than those it would compute. A history with a token that it does not have gets no
/// draft. It may itself speculate: a stack of two drafters.
template <class EngineType, class SamplerType>
class ModelDrafter {
 public:
  /// `is_copy`: the model has the target's architecture, and weights that are nearly the same.
  explicit ModelDrafter(std::unique_ptr<EngineType> engine, bool is_copy = false)
      : engine_(std::move(engine)), is_copy_(is_copy), guesses_(engine_->sequences().size()) {}

  EngineType& engine() noexcept { return *engine_; }

  void begin(Draft<SamplerType>& draft) {
    begin_with(draft, [](SequenceId) { return false; });
  }
  template <CacheLayout Cache>
  void begin(Draft<SamplerType>& draft, const Cache& cache) {
    const auto end = static_cast<Position>(draft.context.history.size() - 1);
    begin_with(draft, [&](SequenceId id) {
      return is_copy_ && copy_rows(cache, draft.sequence, engine_->sequences().cache(), id, end);
    });
  }

  void extend(std::span<Draft<SamplerType>* const> drafts) {
    for (const Draft<SamplerType>* draft : drafts) of(draft->sequence).restart();
    const StepReport report = engine_->step([&](SequenceId id, Position, std::span<const float> logits) {
      for (Draft<SamplerType>* draft : drafts) {
        if (of(draft->sequence).id == id) of(draft->sequence).keep(logits);
      }
    });
    for (const Emission& emission : report.emissions) {
      for (Draft<SamplerType>* draft : drafts) {
        if (of(draft->sequence).id == emission.sequence) take(emission, *draft);
      }
    }
  }

  void end(Draft<SamplerType>& draft) {
    if (const auto& id = of(draft.sequence).id) engine_->sequences().stop(*id);
  }

 private:
  static constexpr std::size_t all = std::numeric_limits<std::size_t>::max();

  /// One sequence, and what it was drawn from in the last step.
  struct Guesses {
    std::optional<SequenceId> id;
    std::vector<float> logits;  // [drawn, vocabulary]
    std::size_t drawn = 0, taken = 0;
    std::size_t copied = all;  // what follows so many tokens is rows of the copy, which the target's will replace

    void restart() noexcept {
      logits.clear();
      drawn = taken = 0;
    }
    void keep(std::span<const float> row) {
      logits.insert(logits.end(), row.begin(), row.end());
      ++drawn;
    }
    std::span<float> next() noexcept {
      const std::size_t size = logits.size() / drawn;
      return std::span(logits).subspan(taken++ * size, size);
    }
  };

  Guesses& of(SequenceId sequence) noexcept { return guesses_[sequence]; }

  /// copy(sequence) brings the target's rows of all but the last token, or else is false: the model runs them then, and
  /// keeps its own.
  template <class Copy>
  void begin_with(Draft<SamplerType>& draft, Copy&& copy) {
    const std::span<const Token> history = draft.context.history;
    const std::size_t capacity = engine_->capacity();
    Guesses& guesses = of(draft.sequence);
    auto& sequences = engine_->sequences();
    if (history.size() >= capacity || first_outside(history, sequences.vocabulary()) != nullptr) {
      draft.ended = true;
      return;
    }
    if (!guesses.id) guesses.id = sequences.open();
    const std::span<const Token> known = sequences.history(*guesses.id);
    const auto common = static_cast<std::size_t>(
        std::mismatch(known.begin(), known.end(), history.begin(), history.end()).first - known.begin());
    const std::size_t kept = std::min(common, guesses.copied);
    sequences.truncate(*guesses.id, kept);
    sequences.append(*guesses.id, history.subspan(kept));
    guesses.copied = copy(*guesses.id) ? history.size() - 1 : all;
    SequenceOptions options;
    options.max_new_tokens = std::min(draft.max_tokens, capacity - history.size());
    options.eos.assign(draft.eos.begin(), draft.eos.end());
    options.cancel = draft.cancel;
    options.seed = draft.context.seed;
    options.rng_stream = draft.context.sequence;
    options.generated_before = draft.context.generated().size();
    engine_->run(*guesses.id, *draft.sampler, std::move(options));
  }

  void take(const Emission& emission, Draft<SamplerType>& draft) {
    const bool known = emission.token >= 0 && static_cast<std::size_t>(emission.token) < draft.vocabulary;
    if (emission.finish != FinishReason::none || !known) draft.ended = true;
    if (!known) return;
    Guesses& guesses = of(draft.sequence);
    const std::span<float> logits = guesses.next();
    const double log_sum = detail::log_sum_exp<>(logits, detail::largest_logit(logits));
    const double logit = logits[static_cast<std::size_t>(emission.token)];
    const auto share = static_cast<float>(std::exp(logit - log_sum));
    const float confidence = share >= 0 ? share : 0;  // of logits that are no numbers
    if (draft.wants_distributions) add_distribution(logits, draft);
    draft.add(emission.token, confidence);
  }

  /// The distribution of the token that follows those of the draft.
  void add_distribution(std::span<float> logits, Draft<SamplerType>& draft) {
    history_.assign(draft.context.history.begin(), draft.context.history.end());
    history_.insert(history_.end(), draft.tokens.begin(), draft.tokens.end());
    SamplingContext context = draft.context;
    context.history = history_;
    context.position = static_cast<Position>(history_.size());
    const std::span<float> row = logits.first(std::min(logits.size(), draft.vocabulary));
    draft.sampler->distribution(row, context);
    draft.distributions.insert(draft.distributions.end(), row.begin(), row.end());
    draft.distributions.resize((draft.tokens.size() + 1) * draft.vocabulary);
  }

  std::unique_ptr<EngineType> engine_;
  bool is_copy_;
  std::vector<Guesses> guesses_;  // [sequences of the target]
  std::vector<Token> history_;
};

}  // namespace tulle
