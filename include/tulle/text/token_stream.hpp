// SPDX-License-Identifier: Apache-2.0
/// \file Text from tokens that arrive one by one (L2).
#pragma once

#include <string>
#include <utility>

#include <tulle/core/types.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Streams text in whole code points: the concatenation of all `push` and of `finish` is `Tokenizer::decode` of all
/// tokens, or what they add to a text before them. At most 3 bytes are held back.
/// Lifetime: keeps a reference to the tokenizer.
class TokenStream {
 public:
  /// `continues`: there is text before the first token, so that nothing is stripped from its beginning.
  explicit TokenStream(const Tokenizer& tokenizer, bool skip_special_tokens = false, bool continues = false)
      : tokenizer_(&tokenizer), skips_special_(skip_special_tokens) {
    if (continues) state_ = {.tokens = 1, .has_text = true};
  }

  /// The text that the token completes; empty while a code point is incomplete.
  std::string push(Token token) {
    if (skips_special_ && tokenizer_->is_special(token)) return {};
    std::string bytes = std::exchange(tail_, {});
    tokenizer_->append(token, state_, bytes);
    return repair_utf8(bytes, tokenizer_->repair(), &tail_);
  }

  /// The rest: U+FFFD for an incomplete tail, or nothing. The stream then stands at the beginning of a new text.
  std::string finish() {
    std::string rest = repair_utf8(tail_, tokenizer_->repair());
    tail_.clear();
    state_ = {};
    return rest;
  }

 private:
  const Tokenizer* tokenizer_;
  bool skips_special_;
  DecodeState state_;
  std::string tail_;
};

}  // namespace tulle
