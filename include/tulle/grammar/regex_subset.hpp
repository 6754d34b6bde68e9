// SPDX-License-Identifier: Apache-2.0
/// \file Regular expressions that a grammar can follow (L3).
#pragma once

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>

namespace tulle {

/// The expression with the halves of surrogate pairs, which are no characters, taken out of `.`, \D, \W, \S and [^...].
/// Errors: invalid_argument for what would be ignored or read as something else: assertions, flags, back references and
/// unknown escapes. Other errors are left to the engine.
inline std::string followed_regex(std::string_view pattern) {
  const auto refuse = [&](std::string_view what, std::size_t at) {
    fail(ErrorCode::invalid_argument, "the expression ", pattern, " has ", what, " at ", at + 1,
         ", which a grammar cannot follow");
  };
  if (pattern.size() > 4096) fail(ErrorCode::invalid_argument, "a regular expression has at most 4096 bytes");
  constexpr std::string_view surrogates = "\\ud800-\\udfff]";
  std::string result;
  bool in_class = false, is_negated = false;
  std::size_t depth = 0;  // of groups: an anchor stands at the ends of an alternative of the whole
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\') {
      constexpr std::string_view known = "ntrfv0dDwWsSxuc";
      const bool is_name = std::isalnum(static_cast<unsigned char>(next)) != 0;
      if (is_name && known.find(next) == std::string_view::npos) refuse("an unknown escape", i);
      ++i;
      const bool is_wide = !in_class && (next == 'D' || next == 'W' || next == 'S');
      if (!is_wide) {
        result += pattern.substr(i - 1, 2);
        continue;
      }
      result += next == 'D' ? "[^0-9" : next == 'W' ? "[^0-9A-Za-z_" : "[^\\s";
      result += surrogates;
      continue;
    } else if (in_class) {
      in_class = c != ']';
      if (!in_class && is_negated) {
        result += surrogates;
        continue;
      }
    } else if (c == '[') {
      in_class = true;
      is_negated = next == '^';
    } else if (c == '.') {
      result += "[^\\n\\r";
      result += surrogates;
      continue;
    } else if (c == '^') {
      if (depth != 0 || (i != 0 && pattern[i - 1] != '|')) refuse("an anchor in the middle", i);
    } else if (c == '$') {
      if (depth != 0 || (next != '\0' && next != '|')) refuse("an anchor in the middle", i);
    } else if (c == '(') {
      ++depth;
      if (next == '?' && pattern.substr(i, 3) != "(?:") refuse("an assertion or a flag", i);
    } else if (c == ')' && depth != 0) {
      --depth;
    }
    result += c;
  }
  return result;
}

}  // namespace tulle
