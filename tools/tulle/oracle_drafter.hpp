// SPDX-License-Identifier: Apache-2.0
/// \file Drafts of a known text that are right as often as wanted, at the cost of a real draft model.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <tulle/generate/drafter.hpp>
#include <tulle/generate/engine.hpp>
#include <utility>
#include <vector>

/// The draft model runs one step for every token, as it would to draw it, but the token comes from the known text: it
/// is right with probability `acceptance`, and the draft model reads it next. Of every 20 tokens that follow right
/// ones as many are right as `acceptance` says, in random order, so that short texts show it. One sequence.
class OracleDrafter {
 public:
  /// `text`: prompt and all that follows it. `engine`: of the draft model, with the target's vocabulary.
  OracleDrafter(std::unique_ptr<tulle::Engine> engine, std::vector<tulle::Token> text, double acceptance,
                std::uint64_t seed)
      : engine_(std::move(engine)), text_(std::move(text)), random_(seed), id_(engine_->sequences().open()) {
    const auto right = static_cast<std::size_t>(acceptance * static_cast<double>(verdicts_.size()) + 0.5);
    for (std::size_t i = 0; i < verdicts_.size(); ++i) verdicts_[i] = i < right;
    confidence_ = static_cast<float>(acceptance);
  }

  using Draft = tulle::Draft<tulle::SamplerChain>;

  void begin(Draft& draft) {
    const std::span<const tulle::Token> history = draft.context.history, known = engine_->sequences().history(id_);
    const auto same = std::mismatch(known.begin(), known.end(), history.begin(), history.end());
    const auto common = static_cast<std::size_t>(same.first - known.begin());
    engine_->sequences().truncate(id_, common);
    engine_->sequences().append(id_, history.subspan(common));
    is_right_ = true;
  }

  void extend(std::span<Draft* const> drafts) {
    Draft& draft = *drafts.front();
    const std::size_t length = engine_->sequences().history(id_).size();
    tulle::SequenceOptions options;
    options.max_new_tokens = 1;
    options.ignore_eos = true;
    engine_->run(id_, tulle::SamplerChain(), options);
    while (engine_->running()) engine_->step();
    is_right_ = is_right_ && verdict();
    const tulle::Token token = is_right_ ? text_[length] : text_[length] == 0 ? 1 : 0;
    engine_->sequences().truncate(id_, length);
    engine_->sequences().append(id_, std::span(&token, 1));
    draft.add(token, confidence_);
  }

  void end(Draft&) noexcept {}

 private:
  bool verdict() {
    if (next_ == 0) std::shuffle(verdicts_.begin(), verdicts_.end(), random_);
    const bool right = verdicts_[next_];
    next_ = (next_ + 1) % verdicts_.size();
    return right;
  }

  std::unique_ptr<tulle::Engine> engine_;
  std::vector<tulle::Token> text_;
  std::mt19937_64 random_;
  tulle::SequenceId id_;
  std::array<bool, 20> verdicts_;
  std::size_t next_ = 0;
  bool is_right_ = true;  // what was drafted since `begin`
  float confidence_;
};

static_assert(tulle::Drafter<OracleDrafter, tulle::SamplerChain>);
