// SPDX-License-Identifier: Apache-2.0
/// \file The characters and classes of regular expressions (L2).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/text/code_point_set.hpp>
#include <tulle/text/unicode.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle::detail {

/// A place in a pattern, and the parts of the syntax that mean a set of code points.
/// Errors: unsupported, with the construct and its byte; malformed for a pattern that is not UTF-8.
class RegexSetParser {
 public:
  RegexSetParser(std::string_view pattern, std::string_view where) : pattern_(pattern), where_(where) {
    if (pattern.size() > longest_pattern) {
      fail(ErrorCode::unsupported, where_, ": a regular expression of more than ", longest_pattern, " bytes");
    }
    if (!is_valid_utf8(pattern)) fail(ErrorCode::malformed, where_, ": the regular expression is not UTF-8");
  }

 protected:
  static constexpr int deepest = 50;
  static constexpr std::size_t longest_pattern = 20000;  // the longest known one has about 1000

  struct Item {
    CodePointSet set;
    std::optional<char32_t> single;  ///< of a literal: it may begin a range
  };

  /// After the opening bracket, through the closing one.
  CodePointSet parse_class() {
    if (++class_depth_ > deepest) reject("nesting deeper than 50 classes");
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
      } else if (sees("[:")) {
        reject("a POSIX bracket");
      } else if (accept("[")) {
        part = part.united(parse_class());
      } else {
        part = part.united(parse_range());
      }
    }
    close_part();
    --class_depth_;
    return is_negated ? all.complement() : all;
  }

  /// `a`, `a-z`, `\s`, ... inside a class.
  CodePointSet parse_range() {
    const Item first = parse_item();
    const bool is_range = sees("-") && !sees("-]");
    if (!first.single || !is_range) return first.set;
    skip();
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
      case 'd': return {category_set("Nd"), {}};
      case 'D': return {category_set("Nd").complement(), {}};
      case 'w': return {regex_word_set(class_depth_ > 0), {}};
      case 'W': return {regex_word_set(class_depth_ > 0).complement(), {}};
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
    const CodePointSet set = category_set(name);
    if (set.ranges().empty()) reject("the property \"", name, "\" (general categories such as L, Lu, N are known)");
    at_ = end + 1;
    return is_negated ? set.complement() : set;
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

  char32_t next_code_point() {
    const Utf8Step step = decode_utf8(pattern_, at_);
    at_ += step.length;
    return step.code_point;
  }

  bool at_end() const { return at_ == pattern_.size(); }
  char peek() const { return pattern_[at_]; }
  bool sees(std::string_view expected) const { return pattern_.substr(at_).starts_with(expected); }
  void skip() { ++at_; }

  bool accept(std::string_view expected) {
    if (!sees(expected)) return false;
    at_ += expected.size();
    return true;
  }

  template <class... Parts>
  [[noreturn]] void reject(const Parts&... parts) const {
    fail(ErrorCode::unsupported, where_, ": the regular expression has ", parts..., " at byte ", at_, " of ", pattern_);
  }

  bool is_folding_ = false;  // inside (?i:

 private:
  std::string_view pattern_;
  std::string_view where_;
  std::size_t at_ = 0;
  int class_depth_ = 0;
};

}  // namespace tulle::detail
