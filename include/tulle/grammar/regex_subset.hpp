// SPDX-License-Identifier: Apache-2.0
/// \file Regular expressions that a grammar can follow (L3).
#pragma once

#include <cctype>
#include <cstddef>
#include <string_view>

#include <tulle/core/error.hpp>

namespace tulle {

/// Errors: invalid_argument for what would be ignored or read as something else: assertions, flags, back references and
/// unknown escapes. Other errors are left to the engine.
inline void check_regex(std::string_view pattern) {
  const auto refuse = [&](std::string_view what, std::size_t at) {
    fail(ErrorCode::invalid_argument, "the expression ", pattern, " has ", what, " at ", at + 1,
         ", which a grammar cannot follow");
  };
  if (pattern.size() > 4096) fail(ErrorCode::invalid_argument, "a regular expression has at most 4096 bytes");
  bool in_class = false;
  std::size_t depth = 0;  // of groups: an anchor stands at the ends of an alternative of the whole
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\') {
      constexpr std::string_view known = "ntrfv0dDwWsSxuc";
      const bool is_name = std::isalnum(static_cast<unsigned char>(next)) != 0;
      if (is_name && known.find(next) == std::string_view::npos) refuse("an unknown escape", i);
      ++i;
    } else if (in_class) {
      in_class = c != ']';
    } else if (c == '[') {
      in_class = true;
      if (next == '^') ++i;
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
  }
}

}  // namespace tulle
