// SPDX-License-Identifier: Apache-2.0
/// \file Compiles the regular expressions of tokenizer files (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <tulle/text/regex_program.hpp>
#include <tulle/text/regex_set_parser.hpp>

namespace tulle::detail {

/// A recursive-descent parser for the part of Oniguruma's syntax that tokenizers use: literals, `.`, classes with
/// ranges, nesting, `&&`, \s \d \w \p{..}, groups (plain, `(?:`, `(?i:`), alternation, greedy and lazy quantifiers,
/// possessive ones and lookahead on one character, `^` `$` `\A` `\z`. As there, `{m,n}+` is a repeated interval, and
/// `^` and `$` are of lines. Errors: unsupported, with the construct and its byte; malformed for what does not end.
class RegexParser : private RegexSetParser {
 public:
  using RegexSetParser::RegexSetParser;

  RegexProgram parse() {
    program_.code = parse_alternatives();
    if (!at_end()) reject("an unmatched \")\"");
    program_.code.push_back({});
    return std::move(program_);
  }

 private:
  using Op = RegexInstruction::Op;
  static constexpr std::size_t longest_program = 20000;

  RegexFragment parse_alternatives() {
    if (++depth_ > deepest) reject("nesting deeper than 50 groups");
    std::vector<RegexFragment> alternatives{parse_sequence()};
    while (accept("|")) alternatives.push_back(parse_sequence());
    RegexFragment code = std::move(alternatives.back());
    for (alternatives.pop_back(); !alternatives.empty(); alternatives.pop_back()) {
      code = alternate(alternatives.back(), code);
      check_length(code.size());
    }
    --depth_;
    return code;
  }

  RegexFragment parse_sequence() {
    RegexFragment code;
    while (!at_end() && peek() != '|' && peek() != ')') {
      append(code, parse_quantified());
      check_length(code.size());
    }
    return code;
  }

  RegexFragment parse_quantified() {
    const std::optional<std::int32_t> set = parse_set();
    RegexFragment code = set ? RegexFragment{{Op::consume, *set, 0}} : parse_group_or_anchor();
    for (bool is_single = set.has_value(); !at_end(); is_single = false) {
      if (peek() == '{') {
        code = parse_interval(code);
        continue;
      }
      const char kind = peek();
      if (kind != '?' && kind != '*' && kind != '+') break;
      skip();
      const bool is_lazy = accept("?");
      // Possessive: the loop may only end where no further body could follow.
      RegexFragment end;
      if (!is_lazy && accept("+")) {
        if (!is_single) reject("a possessive quantifier on more than one character");
        end = {{Op::look_not, *set, 0}};
      }
      if (kind == '?') {
        code = optional_of(code, is_lazy, end);
      } else {
        RegexFragment loop = star_of(code, is_lazy, end);
        if (kind == '+') loop.insert(loop.begin(), code.begin(), code.end());
        code = std::move(loop);
      }
      check_length(code.size());
    }
    return code;
  }

  RegexFragment parse_interval(const RegexFragment& body) {
    skip();
    const std::size_t lowest = parse_number().value_or(0);
    const bool has_comma = accept(",");
    const std::optional<std::size_t> highest = has_comma ? parse_number() : lowest;
    if (!accept("}") || (highest && *highest < lowest)) reject("an interval that is not {m}, {m,} or {m,n}");
    const bool is_lazy = has_comma && accept("?");
    const std::size_t copies = highest.value_or(lowest + 1);
    check_length((copies + 1) * (body.size() + 1));
    RegexFragment tail;
    if (!highest) {
      tail = star_of(body, is_lazy);
    } else {
      for (std::size_t count = lowest; count < *highest; ++count) {
        RegexFragment inner = body;
        append(inner, tail);
        tail = optional_of(inner, is_lazy);
      }
    }
    RegexFragment code;
    for (std::size_t count = 0; count < lowest; ++count) append(code, body);
    append(code, tail);
    return code;
  }

  RegexFragment parse_group_or_anchor() {
    if (accept("^")) return {{Op::line_begin, 0, 0}};
    if (accept("$")) return line_end();
    if (accept("\\A")) return {{Op::text_begin, 0, 0}};
    if (accept("\\z")) return {{Op::look_not, add(CodePointSet().complement()), 0}};
    if (!accept("(")) reject("this construct");
    const bool was_folding = is_folding_;
    RegexFragment code;
    if (const bool is_negated = sees("?!"); accept("?=") || accept("?!")) {
      const std::optional<std::int32_t> set = parse_set();
      if (!set || !sees(")")) reject("a lookahead that is not one character or class");
      code = {{is_negated ? Op::look_not : Op::look, *set, 0}};
    } else {
      if (accept("?i:")) {
        is_folding_ = true;
      } else if (!accept("?:") && !at_end() && peek() == '?') {
        reject("this kind of group");
      }
      code = parse_alternatives();
    }
    is_folding_ = was_folding;
    if (!accept(")")) reject("a group or lookahead that does not end here");
    return code;
  }

  /// `$`: before a line feed or at the end.
  RegexFragment line_end() {
    const RegexFragment before_feed{{Op::look, add(CodePointSet({{'\n', '\n'}})), 0}};
    return alternate(before_feed, {{Op::look_not, add(CodePointSet().complement()), 0}});
  }

  /// One character or class as an index into the sets, or nothing when something else comes next.
  std::optional<std::int32_t> parse_set() {
    if (at_end()) return std::nullopt;
    const char next = peek();
    if (next == '(' || next == ')' || next == '|' || next == '^' || next == '$') return std::nullopt;
    if (next == '*' || next == '+' || next == '?' || next == '{') reject("a quantifier with nothing before it");
    if (sees("\\A") || sees("\\z")) return std::nullopt;
    if (accept(".")) return add(CodePointSet({{'\n', '\n'}}).complement());
    if (accept("[")) return add(parse_class());
    return add(parse_item().set);
  }

  std::optional<std::size_t> parse_number() {
    std::optional<std::size_t> value;
    for (; !at_end() && peek() >= '0' && peek() <= '9'; skip()) {
      value = value.value_or(0) * 10 + static_cast<std::size_t>(peek() - '0');
      if (*value > longest_program) reject("an interval above ", longest_program);
    }
    return value;
  }

  std::int32_t add(CodePointSet set) {
    program_.sets.push_back(std::move(set));
    return static_cast<std::int32_t>(program_.sets.size() - 1);
  }

  void check_length(std::size_t instructions) const {
    if (instructions > longest_program) reject("a program of more than ", longest_program, " instructions");
  }

  int depth_ = 0;  // of groups
  RegexProgram program_;
};

}  // namespace tulle::detail
