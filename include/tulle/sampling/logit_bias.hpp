// SPDX-License-Identifier: Apache-2.0
/// \file Numbers that are added to the logits of chosen tokens (L2).
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Adds a bias to the logit of each token that has one (OpenAI's `logit_bias`). Tokens outside the vocabulary are
/// skipped. Errors: invalid_argument for a bias that is not a finite number.
class LogitBias {
 public:
  explicit LogitBias(std::vector<std::pair<Token, float>> biases) : biases_(std::move(biases)) {
    for (const auto& [token, bias] : biases_) {
      if (!std::isfinite(bias)) {
        fail(ErrorCode::invalid_argument, "the logit_bias of token ", token, " must be a finite number");
      }
    }
  }

  bool neutral() const noexcept { return biases_.empty(); }

  void apply(std::span<float> logits, const SamplingContext&) const noexcept {
    for (const auto& [token, bias] : biases_) {
      const auto at = static_cast<std::size_t>(token);
      if (at < logits.size() && detail::eligible(logits[at])) logits[at] += bias;
    }
  }

 private:
  std::vector<std::pair<Token, float>> biases_;
};

static_assert(LogitsTransform<LogitBias>);

}  // namespace tulle
