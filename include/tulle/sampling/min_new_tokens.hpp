// SPDX-License-Identifier: Apache-2.0
/// \file A minimum length: no end of text before it (L2).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Bans the end-of-text tokens while fewer than `count` tokens were generated. 0 bans nothing.
/// Errors: invalid_argument for a negative count or token.
class MinNewTokens {
 public:
  MinNewTokens(int count, std::vector<Token> eos) : count_(static_cast<std::size_t>(count)), eos_(std::move(eos)) {
    if (count < 0) fail(ErrorCode::invalid_argument, "min_new_tokens must be 0 (off) or positive, got ", count);
    for (const Token token : eos_) {
      if (token < 0) fail(ErrorCode::invalid_argument, "an eos token must not be negative, got ", token);
    }
  }

  bool neutral() const noexcept { return count_ == 0 || eos_.empty(); }

  void apply(std::span<float> logits, const SamplingContext& context) const noexcept {
    if (context.generated().size() >= count_) return;
    for (const Token token : eos_) {
      if (static_cast<std::size_t>(token) < logits.size()) logits[static_cast<std::size_t>(token)] = detail::banned;
    }
  }

 private:
  std::size_t count_;
  std::vector<Token> eos_;
};

static_assert(LogitsTransform<MinNewTokens>);

}  // namespace tulle
