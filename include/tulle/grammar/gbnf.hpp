// SPDX-License-Identifier: Apache-2.0
/// \file Grammars as llama.cpp writes them, in the words that xgrammar reads (L3).
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace tulle {

namespace detail {

/// Where the text or the class of characters that begins at `at` ends, or the text's end.
inline std::size_t end_of_quoted(std::string_view rules, std::size_t at) noexcept {
  const char end = rules[at] == '[' ? ']' : '"';
  for (++at; at < rules.size() && rules[at] != end; ++at) at += rules[at] == '\\' ? 1 : 0;
  return std::min(at + 1, rules.size());
}

/// Whether a rule begins there: a name and "::=".
inline bool begins_rule(std::string_view rules, std::size_t at) noexcept {
  while (at < rules.size() &&
         (std::isalnum(static_cast<unsigned char>(rules[at])) != 0 || rules[at] == '-' || rules[at] == '_')) {
    ++at;
  }
  while (at < rules.size() && (rules[at] == ' ' || rules[at] == '\t')) ++at;
  return rules.substr(at).starts_with("::=");
}

}  // namespace detail

/// The same rules with "" for alternatives that are left empty (`ws ::= | " " ws`), as json_schema_to_grammar writes them,
/// and with a class of all characters for a dot (llama.cpp, grammars/README.md).
inline std::string explicit_gbnf(std::string_view rules) {
  constexpr std::string_view any = "[\\u0000-\\U0010FFFF]";
  std::string result;
  bool is_open = false, is_first = false;  // an alternative has begun and has nothing yet; the first of a rule
  std::size_t begun = 0;                   // where that stands in `result`
  const auto close = [&] {
    if (is_open) result.insert(begun, " \"\"");
    is_open = false;
  };
  for (std::size_t at = 0; at < rules.size();) {
    const char c = rules[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      result += c;
      ++at;
      continue;
    }
    if (c == '#') {
      const std::size_t end = std::min(rules.find('\n', at), rules.size());
      result += rules.substr(at, end - at);
      at = end;
      continue;
    }
    const std::string_view rest = rules.substr(at);
    const bool is_definition = rest.starts_with("::=");
    if (c == '|' || c == ')' || (!is_first && is_open && detail::begins_rule(rules, at))) close();
    std::size_t end = at + (is_definition ? 3 : 1);
    if (c == '"' || c == '[') end = detail::end_of_quoted(rules, at);
    result += c == '.' ? any : rules.substr(at, end - at);
    is_open = is_definition || c == '|' || c == '(';
    begun = result.size();
    is_first = is_definition;
    at = end;
  }
  if (!is_first) close();  // a rule that says nothing stays an error
  return result;
}

}  // namespace tulle
