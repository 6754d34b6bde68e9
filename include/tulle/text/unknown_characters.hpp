// SPDX-License-Identifier: Apache-2.0
/// \file The tokens of a character that the vocabulary lacks (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/text/vocabulary.hpp>

namespace tulle {

struct UnknownOptions {
  bool byte_fallback = false;         ///< an unknown character becomes the tokens <0xNN> of its bytes
  bool fuse_unknown = false;          ///< neighbouring unknown characters become one unknown token
  std::optional<Token> unknown = {};  ///< without it, unknown characters are dropped
};

/// Threads: immutable.
class UnknownCharacters {
 public:
  UnknownCharacters(const Vocabulary& vocabulary, const UnknownOptions& options) : options_(options) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    for (std::size_t byte = 0; options.byte_fallback && byte < 256; ++byte) {
      byte_tokens_.push_back(vocabulary.find(std::string("<0x") + digits[byte >> 4] + digits[byte & 15] + ">"));
    }
  }

  /// Calls `push(token)` for each token of `character`. `is_after_unknown` describes the character before; it becomes
  /// true when this one has no tokens of its bytes.
  template <class Push>
  void write(std::string_view character, bool& is_after_unknown, Push&& push) const {
    const bool has_bytes = options_.byte_fallback && std::all_of(character.begin(), character.end(), [this](char byte) {
                             return byte_tokens_[static_cast<unsigned char>(byte)].has_value();
                           });
    if (has_bytes) {
      for (const char byte : character) push(*byte_tokens_[static_cast<unsigned char>(byte)]);
    } else if (options_.unknown && (!is_after_unknown || !options_.fuse_unknown)) {
      push(*options_.unknown);
    }
    is_after_unknown = !has_bytes;
  }

 private:
  UnknownOptions options_;
  std::vector<std::optional<Token>> byte_tokens_;  // 256 with byte_fallback, else none
};

}  // namespace tulle
