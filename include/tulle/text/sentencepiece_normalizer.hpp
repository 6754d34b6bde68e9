// SPDX-License-Identifier: Apache-2.0
/// \file sentencepiece's normalization of a text before it is split into pieces (L2).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/byte_trie.hpp>
#include <tulle/text/character_map.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {

/// Rules for the spaces of a text.
struct SpaceRules {
  static constexpr std::string_view symbol = "\xE2\x96\x81";  ///< U+2581 stands for a space in a piece

  bool adds_one = true;    ///< to a text that is not empty
  bool is_suffix = false;  ///< ... at its end
  bool squeezes = false;   ///< none at the ends, and one of several in a row
  bool escapes = true;     ///< every space becomes `symbol`
};

/// Applies rules from left to right: a user-defined piece stays, else the longest string of the character map is
/// replaced, else a character stays, and a byte that is not UTF-8 becomes U+FFFD. Threads: immutable.
class SentencePieceNormalizer {
 public:
  SentencePieceNormalizer(const SpaceRules& spaces, CharacterMap map, ByteTrie user_defined)
      : spaces_(spaces), map_(std::move(map)), user_defined_(std::move(user_defined)) {}

  /// Any bytes are accepted. Complexity: O(bytes of text * longest rule).
  std::string apply(std::string_view text) const {
    while (spaces_.squeezes && !text.empty()) {
      const CharacterMap::Match first = take(text);
      if (first.replacement != " ") break;
      text.remove_prefix(first.length);
    }
    std::string result;
    if (text.empty()) return result;
    result.reserve(text.size() + text.size() / 2);
    const std::string_view space = spaces_.escapes ? SpaceRules::symbol : " ";
    if (spaces_.adds_one && !spaces_.is_suffix) result += space;
    bool is_after_space = spaces_.squeezes;
    while (!text.empty()) {
      auto [length, replacement] = take(text);
      while (is_after_space && replacement.starts_with(' ')) replacement.remove_prefix(1);
      for (const char byte : replacement) byte == ' ' ? result += space : result += byte;
      if (!replacement.empty()) is_after_space = spaces_.squeezes && replacement.ends_with(' ');
      text.remove_prefix(length);
    }
    while (spaces_.squeezes && result.ends_with(space)) result.resize(result.size() - space.size());
    if (spaces_.adds_one && spaces_.is_suffix) result += space;
    return result;
  }

 private:
  /// The beginning of the text, and its replacement.
  CharacterMap::Match take(std::string_view text) const noexcept {
    if (const std::size_t length = user_defined_.longest_at(text, 0).length; length > 0) {
      return {length, text.substr(0, length)};
    }
    if (const CharacterMap::Match match = map_.longest_prefix(text); match.length > 0) return match;
    const Utf8Step step = decode_utf8(text, 0);
    if (step.kind != Utf8Step::Kind::valid) return {1, replacement_utf8};
    return {step.length, text.substr(0, step.length)};
  }

  SpaceRules spaces_;
  CharacterMap map_;
  ByteTrie user_defined_;
};

}  // namespace tulle
