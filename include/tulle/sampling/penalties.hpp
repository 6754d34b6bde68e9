// SPDX-License-Identifier: Apache-2.0
/// \file Penalties on tokens that were used before: repetition, presence, frequency (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {
namespace detail {

/// Calls visit(token, count) once for each distinct token, in order of ids; ids outside the vocabulary are skipped. The
/// vocabulary is processed in blocks whose counts fit on the stack (16 KiB), so memory does not depend on its size.
/// Complexity: O(vocabulary + tokens * vocabulary / 4096).
template <class Visit>
void for_each_distinct(std::span<const Token> tokens, std::size_t vocabulary, Visit visit) noexcept {
  constexpr std::size_t block = 4096;
  if (tokens.empty()) return;
  for (std::size_t first = 0; first < vocabulary; first += block) {
    std::array<std::uint32_t, block> counts{};
    for (const Token token : tokens) {
      const std::size_t offset = static_cast<std::size_t>(token) - first;  // huge for a token below the block
      if (offset < block) ++counts[offset];
    }
    const std::size_t end = std::min(block, vocabulary - first);
    for (std::size_t offset = 0; offset < end; ++offset) {
      if (counts[offset] != 0) visit(first + offset, counts[offset]);
    }
  }
}

}  // namespace detail

/// Makes every token of the prompt and the generated text less probable, once, independent of its count: a logit is
/// multiplied by the penalty when negative, else divided by it (Keskar et al., arXiv 1909.05858, section 4.1, with
/// transformers' rule for negative logits). 1 changes nothing; less than 1 rewards repetition.
/// Errors: invalid_argument unless the penalty is a positive number.
class RepetitionPenalty {
 public:
  explicit RepetitionPenalty(float penalty) : penalty_(penalty) {
    if (!(penalty > 0 && std::isfinite(penalty))) {
      fail(ErrorCode::invalid_argument, "repetition_penalty must be a positive number (1 is off), got ", penalty);
    }
  }

  bool neutral() const noexcept { return penalty_ == 1.0f; }

  void apply(std::span<float> logits, const SamplingContext& context) const noexcept {
    detail::for_each_distinct(context.history, logits.size(), [&](std::size_t token, std::uint32_t) {
      logits[token] = logits[token] < 0 ? logits[token] * penalty_ : logits[token] / penalty_;
    });
  }

 private:
  float penalty_;
};

/// Subtracts the penalty from the logit of every token that was generated (OpenAI's definition: the prompt is not
/// counted). 0 changes nothing; less than 0 rewards repetition.
/// Errors: invalid_argument unless the penalty is a finite number.
class PresencePenalty {
 public:
  explicit PresencePenalty(float penalty) : penalty_(penalty) {
    if (!std::isfinite(penalty)) {
      fail(ErrorCode::invalid_argument, "presence_penalty must be a number (0 is off), got ", penalty);
    }
  }

  bool neutral() const noexcept { return penalty_ == 0.0f; }

  void apply(std::span<float> logits, const SamplingContext& context) const noexcept {
    detail::for_each_distinct(context.generated(), logits.size(), [&](std::size_t token, std::uint32_t) {
      if (detail::eligible(logits[token])) logits[token] -= penalty_;
    });
  }

 private:
  float penalty_;
};

/// Subtracts the penalty from the logit of a token once for every time it was generated (OpenAI's definition: the
/// prompt is not counted). 0 changes nothing; less than 0 rewards repetition.
/// Errors: invalid_argument unless the penalty is a finite number.
class FrequencyPenalty {
 public:
  explicit FrequencyPenalty(float penalty) : penalty_(penalty) {
    if (!std::isfinite(penalty)) {
      fail(ErrorCode::invalid_argument, "frequency_penalty must be a number (0 is off), got ", penalty);
    }
  }

  bool neutral() const noexcept { return penalty_ == 0.0f; }

  void apply(std::span<float> logits, const SamplingContext& context) const noexcept {
    detail::for_each_distinct(context.generated(), logits.size(), [&](std::size_t token, std::uint32_t count) {
      if (detail::eligible(logits[token])) logits[token] -= penalty_ * static_cast<float>(count);
    });
  }

 private:
  float penalty_;
};

static_assert(LogitsTransform<RepetitionPenalty>);
static_assert(LogitsTransform<PresencePenalty>);
static_assert(LogitsTransform<FrequencyPenalty>);

}  // namespace tulle
