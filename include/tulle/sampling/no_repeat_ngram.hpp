// SPDX-License-Identifier: Apache-2.0
/// \file No n-gram twice (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Bans every token that followed the last n - 1 tokens anywhere earlier in the history, prompt included; so n = 1 bans
/// every token seen. n = 0 bans nothing.
/// Errors: invalid_argument for n < 0.
class NoRepeatNgram {
 public:
  explicit NoRepeatNgram(int n) : n_(static_cast<std::size_t>(n)) {
    if (n < 0) fail(ErrorCode::invalid_argument, "no_repeat_ngram must be 0 (off) or positive, got ", n);
  }

  bool neutral() const noexcept { return n_ == 0; }

  void apply(std::span<float> logits, const SamplingContext& context) const noexcept {
    const std::span<const Token> history = context.history;
    if (neutral() || history.size() < n_) return;
    const std::span<const Token> prefix = history.last(n_ - 1);
    for (std::size_t follower = n_ - 1; follower < history.size(); ++follower) {
      const std::span<const Token> earlier = history.subspan(follower - prefix.size(), prefix.size());
      if (!std::equal(prefix.begin(), prefix.end(), earlier.begin())) continue;
      const std::size_t token = static_cast<std::size_t>(history[follower]);
      if (token < logits.size()) logits[token] = detail::banned;
    }
  }

 private:
  std::size_t n_;
};

static_assert(LogitsTransform<NoRepeatNgram>);

}  // namespace tulle
