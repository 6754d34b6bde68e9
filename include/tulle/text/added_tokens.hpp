// SPDX-License-Identifier: Apache-2.0
/// \file Tokens that are found in the text itself, before it is split into words (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/text/byte_trie.hpp>
#include <tulle/text/unicode.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

/// The flags of Hugging Face's `AddedToken`.
struct AddedToken {
  std::string content;
  Token id = 0;
  bool special = false;      ///< control: skippable when decoding, not searched without `parse_special_tokens`
  bool normalized = false;   ///< searched in normalized text
  bool lstrip = false;       ///< takes the white space on its left with it
  bool rstrip = false;       ///< ... on its right
  bool single_word = false;  ///< only where no word character is beside it
};

/// Finds added tokens: leftmost, of those the longest, without overlap.
/// Complexity: O(bytes of text * longest token), and one table look-up for a byte that begins no token.
class AddedTokenMatcher {
 public:
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
    std::vector<std::pair<std::string_view, std::uint32_t>> entries;
    for (const AddedToken& token : tokens_) {
      entries.emplace_back(token.content, static_cast<std::uint32_t>(entries.size()));
    }
    trie_ = ByteTrie(std::move(entries));
  }

  /// Splits `text` and calls `sink(part, token)` for the parts from left to right: `token` is nullptr for text between
  /// added tokens; no part is empty. Without `parse_special`, special tokens stay text.
  /// Requires: valid UTF-8.
  template <class Sink>
  void split(std::string_view text, bool parse_special, Sink&& sink) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const ByteTrie::Match match = trie_.longest_at(text, at);
      if (match.length == 0) {
        ++at;
        continue;
      }
      const AddedToken& token = tokens_[match.value];
      std::size_t begin = at;
      std::size_t end = at + match.length;
      at = end;
      if (token.special && !parse_special) continue;
      if (token.single_word && (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
      if (token.lstrip) begin = std::max(done, trailing_space(text.substr(0, begin)));
      if (token.rstrip) end += leading_space(text.substr(end));
      begin = std::max(begin, done);
      if (begin > done) sink(text.substr(done, begin - done), nullptr);
      sink(text.substr(begin, end - begin), &token);
      done = end;
      at = std::max(at, end);
    }
    if (done < text.size()) sink(text.substr(done), nullptr);
  }

 private:
  static bool begins_with_word(std::string_view text) {
    return !text.empty() && word_set().contains(decode_utf8(text, 0).code_point);
  }

  static bool ends_with_word(std::string_view text) {
    return !text.empty() && word_set().contains(decode_utf8(text, last_character(text)).code_point);
  }

  static std::size_t last_character(std::string_view text) noexcept {
    std::size_t at = text.size() - 1;
    while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
    return at;
  }

  /// Bytes of white space that `text` begins with.
  static std::size_t leading_space(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      const Utf8Step step = decode_utf8(text, at);
      if (!white_space_set().contains(step.code_point)) break;
      at += step.length;
    }
    return at;
  }

  /// Where the white space that `text` ends with begins.
  static std::size_t trailing_space(std::string_view text) {
    while (!text.empty()) {
      const std::size_t last = last_character(text);
      if (!white_space_set().contains(decode_utf8(text, last).code_point)) break;
      text = text.substr(0, last);
    }
    return text.size();
  }

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;  // of their contents, to their places
};

}  // namespace tulle
