// SPDX-License-Identifier: Apache-2.0
/// \file The character map of a sentencepiece model: strings and their replacements (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/text/sentencepiece_check.hpp>

namespace tulle {

/// Reads `precompiled_charsmap`, whose layout `detail::is_sound_character_map` describes. Threads: immutable.
class CharacterMap {
 public:
  struct Match {
    std::size_t length = 0;  ///< bytes of the text that are replaced; 0: no rule is for them
    std::string_view replacement;
  };

  CharacterMap() = default;  ///< no rules

  /// Errors: malformed for a map with references outside itself, or with unreasonably long replacements.
  CharacterMap(std::string_view bytes, std::string_view where) {
    if (bytes.empty()) return;
    std::uint32_t trie_bytes = 0;
    if (!detail::is_sound_character_map(bytes)) fail(ErrorCode::malformed, where, ": its character map is broken");
    std::memcpy(&trie_bytes, bytes.data(), sizeof trie_bytes);
    units_.resize(trie_bytes / sizeof(std::uint32_t));
    std::memcpy(units_.data(), bytes.data() + sizeof trie_bytes, units_.size() * sizeof(std::uint32_t));
    strings_ = bytes.substr(sizeof trie_bytes + trie_bytes);
    for (std::size_t begin = 0; begin < strings_.size();) {
      const std::size_t end = strings_.find('\0', begin);
      if (end - begin > longest) fail(ErrorCode::malformed, where, ": a replacement of ", end - begin, " bytes");
      begin = end + 1;
    }
  }

  /// The rule for the longest string that `text` begins with.
  Match longest_prefix(std::string_view text) const noexcept {
    Match match;
    if (units_.empty()) return match;
    std::size_t node = offset(units_[0]);
    for (std::size_t at = 0; at < text.size() && at < longest; ++at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      node ^= byte;
      if (node >= units_.size() || (units_[node] & 0x800000FFu) != byte) break;
      const std::uint32_t unit = units_[node];
      node ^= offset(unit);
      const bool has_leaf = (unit & 0x100u) != 0 && node < units_.size();
      const std::size_t place = has_leaf ? units_[node] & 0x7FFFFFFFu : strings_.size();
      if (place < strings_.size()) match = {at + 1, strings_.data() + place};
    }
    return match;
  }

 private:
  static constexpr std::size_t longest = 1024;  // bytes of a rule; real ones have up to some 50

  static std::size_t offset(std::uint32_t unit) noexcept { return (unit >> 10) << ((unit & 0x200u) >> 6); }

  std::vector<std::uint32_t> units_;  // a double array
  std::string strings_;               // each with its NUL
};

}  // namespace tulle
