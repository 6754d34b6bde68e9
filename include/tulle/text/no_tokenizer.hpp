// SPDX-License-Identifier: Apache-2.0
/// \file The tokenizer of a model that has none (L2).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Tokens have no text and text has no tokens: prompts and results are ids.
class NoTokenizer final : public Tokenizer {
 public:
  /// Errors: not_found for any text but the empty one.
  std::vector<Token> encode(std::string_view text, const EncodeOptions&) const override {
    if (!text.empty()) fail(ErrorCode::not_found, "this model came without a tokenizer; give token ids, not text");
    return {};
  }
  std::string piece(Token) const override { return {}; }
  void append(Token, DecodeState&, std::string&) const override {}
  std::optional<Token> find(std::string_view) const override { return std::nullopt; }
  bool is_special(Token) const override { return false; }
  std::size_t vocabulary_size() const override { return 0; }
  std::optional<Token> bos_token() const override { return std::nullopt; }
  std::optional<Token> eos_token() const override { return std::nullopt; }
};

}  // namespace tulle
