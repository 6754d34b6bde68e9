// SPDX-License-Identifier: Apache-2.0
/// \file Characters and classes of them as the expressions of a grammar write them (L3).
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/code_point_set.hpp>

namespace tulle::detail {

/// Letters and digits of ASCII stand for themselves, all others are \u{...}.
class RegexCharacters {
 public:
  /// `in_json`: of a JSON string, in which some need an escape.
  explicit RegexCharacters(bool in_json) : in_json_(in_json) {
    std::vector<CodePointSet::Range> never{{0xD800, 0xDFFF}};  // halves of surrogate pairs are no characters
    if (in_json) never.insert(never.end(), {{0, 0x1F}, {'"', '"'}, {'\\', '\\'}});
    writable_ = CodePointSet(std::move(never)).complement();
  }

  static bool is_word(char32_t c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  /// A character, in JSON with the escape that it needs. Nothing for half of a surrogate pair.
  std::optional<std::string> one(char32_t c) const {
    if (writable_.contains(c)) return is_word(c) ? std::string(1, static_cast<char>(c)) : escaped(c);
    if (!in_json_ || c > 0x7F) return std::nullopt;
    constexpr std::string_view named = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs: a character, and what its escape names
    std::size_t at = 0;
    while (at < named.size() && named[at] != static_cast<char>(c)) at += 2;
    std::string text = "(" + escaped('\\');
    if (at < named.size()) {
      text += escaped(static_cast<unsigned char>(named[at + 1]));
    } else {
      text += "u00";
      text += c < 0x10 ? "0" : "1";
      text += "0123456789abcdef"[c & 0xF];
    }
    return text + ")";
  }

  /// A class, without what needs an escape. Nothing where that leaves none.
  std::optional<std::string> any_of(const CodePointSet& set) const {
    const CodePointSet written = set.intersected(writable_);
    if (written.ranges().empty()) return std::nullopt;
    // What lies on both sides of the surrogates is written by what it is not: xgrammar loses other forms of it when they
    // are repeated.
    const bool is_negated = written.ranges().back().last > 0xDFFF;
    const CodePointSet named = is_negated ? written.complement() : written;
    std::string ranges = is_negated ? "^" : "", late;
    for (auto [first, last] : named.ranges()) {
      if (first == '^') {  // at the beginning it would be a negation
        late = escaped(first++);
        if (first > last) continue;
      }
      ranges += escaped(first);
      if (last != first) ranges += "-" + escaped(last);
    }
    return ranges.empty() ? late : "[" + ranges + late + "]";
  }

 private:
  static std::string escaped(char32_t c) {
    char digits[8];
    return "\\u{" + std::string(digits, std::to_chars(digits, digits + 8, static_cast<std::uint32_t>(c), 16).ptr) + "}";
  }

  bool in_json_;
  CodePointSet writable_;
};

}  // namespace tulle::detail
