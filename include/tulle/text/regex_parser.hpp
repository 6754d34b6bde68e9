// SPDX-License-Identifier: Apache-2.0
/// \file Compiles the regular expressions of tokenizer files (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/text/regex_program.hpp>
#include <tulle/text/unicode.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle::detail {

/// A recursive-descent parser for the part of Oniguruma's syntax that tokenizers use: literals, `.`, classes with ranges,
/// nesting, `&&`, \s \d \w \p{..}, groups (plain, `(?:`, `(?i:`), alternation, greedy and lazy quantifiers, possessive
/// ones and lookahead on one character, `^` `$` `\A` `\z`. As there, `{m,n}+` is a repeated interval, and `^` and `$`
/// are of lines.
/// Errors: unsupported, with the construct and its byte; malformed for what does not end.
class RegexParser {
 public:
  RegexParser(std::string_view pattern, std::string_view where) : pattern_(pattern), where_(where) {
    if (!is_valid_utf8(pattern)) fail(ErrorCode::malformed, where_, ": the regular expression is not UTF-8");
  }

  RegexProgram parse() {
    program_.code = parse_alternatives();
    if (!at_end()) reject("an unmatched \")\"");
    program_.code.push_back({});
    return std::move(program_);
  }

 private:
  using Op = RegexInstruction::Op;
  static constexpr std::size_t longest_program = 20000;
  static constexpr int deepest = 50;

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
      ++at_;
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
    ++at_;
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
    if (accept("?=") || accept("?!")) {
      const bool is_negated = pattern_[at_ - 1] == '!';
      const std::optional<std::int32_t> set = parse_set();
      if (!set) reject("a lookahead that is not one character or class");
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
    if (next == '\\' && at_ + 1 < pattern_.size() && (pattern_[at_ + 1] == 'A' || pattern_[at_ + 1] == 'z')) {
      return std::nullopt;
    }
    if (accept(".")) return add(CodePointSet({{'\n', '\n'}}).complement());
    if (accept("[")) return add(parse_class());
    return add(parse_item().set);
  }

  struct Item {
    CodePointSet set;
    std::optional<char32_t> single;  ///< of a literal: it may begin a range
  };

  /// After the opening bracket, through the closing one.
  CodePointSet parse_class() {
    if (++depth_ > deepest) reject("nesting deeper than 50 classes");
    const bool is_negated = accept("^");
    CodePointSet all, part;
    bool has_all = false;
    const auto close_part = [&] {
      all = has_all ? all.intersected(part) : part;
      has_all = true;
      part = CodePointSet();
    };
    if (!at_end() && peek() == ']') reject("an empty class");
    while (!accept("]")) {
      if (accept("&&")) {
        close_part();
      } else if (pattern_.substr(at_).starts_with("[:")) {
        reject("a POSIX bracket");
      } else if (accept("[")) {
        part = part.united(parse_class());
      } else {
        part = part.united(parse_range());
      }
    }
    close_part();
    --depth_;
    return is_negated ? all.complement() : all;
  }

  /// `a`, `a-z`, `\s`, ... inside a class.
  CodePointSet parse_range() {
    const Item first = parse_item();
    const bool is_range = at_ + 1 < pattern_.size() && peek() == '-' && pattern_[at_ + 1] != ']';
    if (!first.single || !is_range) return first.set;
    ++at_;
    const Item last = parse_item();
    if (!last.single || *last.single < *first.single) reject("a range that is not from lower to higher");
    return folded(CodePointSet({{*first.single, *last.single}}));
  }

  /// A literal or an escape.
  Item parse_item() {
    if (at_end()) reject("a class that does not end");
    if (peek() != '\\') return literal(next_code_point());
    ++at_;
    if (at_end()) reject("a backslash at the end");
    const char kind = pattern_[at_++];
    switch (kind) {
      case 'n': return literal('\n');
      case 'r': return literal('\r');
      case 't': return literal('\t');
      case 'f': return literal('\f');
      case 'v': return literal('\v');
      case 's': return {white_space_set(), {}};
      case 'S': return {white_space_set().complement(), {}};
      case 'd': return {*category_set("Nd"), {}};
      case 'D': return {category_set("Nd")->complement(), {}};
      case 'w': return {word_set(), {}};
      case 'W': return {word_set().complement(), {}};
      case 'p': return {parse_property(false), {}};
      case 'P': return {parse_property(true), {}};
      case 'x': return literal(parse_hexadecimal(accept("{") ? 0 : 2));
      case 'u': return literal(parse_hexadecimal(4));
      default: break;
    }
    --at_;
    const bool is_word = (kind >= '0' && kind <= '9') || (kind >= 'a' && kind <= 'z') || (kind >= 'A' && kind <= 'Z');
    if (is_word) reject("the escape \\", pattern_.substr(at_, 1));
    return literal(next_code_point());
  }

  CodePointSet parse_property(bool is_negated) {
    const std::size_t end = pattern_.find('}', at_);
    if (!accept("{") || end == std::string_view::npos) reject("\\p without {name}");
    if (accept("^")) is_negated = !is_negated;
    const std::string_view name = pattern_.substr(at_, end - at_);
    const std::optional<CodePointSet> set = category_set(name);
    if (!set) reject("the property \"", name, "\" (general categories such as L, Lu, N are known)");
    at_ = end + 1;
    return is_negated ? set->complement() : *set;
  }

  /// `digits` hexadecimal digits, or with 0: up to a closing brace.
  char32_t parse_hexadecimal(std::size_t digits) {
    const std::size_t end = digits == 0 ? pattern_.find('}', at_) : at_ + digits;
    if (end > pattern_.size() || end == at_) reject("an escape without hexadecimal digits");
    char32_t value = 0;
    for (; at_ < end; ++at_) {
      const char digit = static_cast<char>(peek() | 0x20);
      const bool is_letter = digit >= 'a' && digit <= 'f';
      if (!is_letter && (peek() < '0' || peek() > '9')) reject("an escape with other than hexadecimal digits");
      value = value * 16 + static_cast<char32_t>(is_letter ? digit - 'a' + 10 : digit - '0');
      if (value > CodePointSet::largest) reject("a code point above U+10FFFF");
    }
    if (digits == 0) ++at_;
    return value;
  }

  std::optional<std::size_t> parse_number() {
    const std::size_t begin = at_;
    std::size_t value = 0;
    for (; !at_end() && peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + static_cast<std::size_t>(peek() - '0');
      if (value > longest_program) reject("an interval above ", longest_program);
    }
    return at_ == begin ? std::nullopt : std::optional(value);
  }

  Item literal(char32_t code_point) { return {folded(CodePointSet({{code_point, code_point}})), code_point}; }

  /// Inside (?i: ASCII letters match both cases; U+017F and U+212A fold to s and k (Unicode's CaseFolding.txt).
  CodePointSet folded(const CodePointSet& set) {
    if (!is_folding_) return set;
    std::vector<CodePointSet::Range> more = set.ranges();
    if (!more.empty() && more.back().last >= 0x80) reject("other than ASCII inside (?i:...)");
    for (char32_t upper = 'A'; upper <= 'Z'; ++upper) {
      const char32_t lower = upper | 0x20;
      if (!set.contains(upper) && !set.contains(lower)) continue;
      more.insert(more.end(), {{upper, upper}, {lower, lower}});
      if (lower == 's') more.push_back({0x17F, 0x17F});
      if (lower == 'k') more.push_back({0x212A, 0x212A});
    }
    return CodePointSet(std::move(more));
  }

  std::int32_t add(CodePointSet set) {
    program_.sets.push_back(std::move(set));
    return static_cast<std::int32_t>(program_.sets.size() - 1);
  }

  char32_t next_code_point() {
    const Utf8Step step = decode_utf8(pattern_, at_);
    at_ += step.length;
    return step.code_point;
  }

  bool at_end() const { return at_ == pattern_.size(); }
  char peek() const { return pattern_[at_]; }

  bool accept(std::string_view expected) {
    if (!pattern_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }

  void check_length(std::size_t instructions) const {
    if (instructions > longest_program) reject("a program of more than ", longest_program, " instructions");
  }

  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorCode::unsupported, where_, ": the regular expression has ", parts..., " at byte ", at_, " of ", pattern_);
  }

  std::string_view pattern_;
  std::string_view where_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool is_folding_ = false;
  RegexProgram program_;
};

}  // namespace tulle::detail
