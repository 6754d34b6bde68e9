// SPDX-License-Identifier: Apache-2.0
/// \file Regular expressions that a grammar can follow (L3).
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/grammar/regex_characters.hpp>
#include <tulle/text/code_point_set.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {
namespace detail {

/// Rewrites an expression of ECMA-262 in few forms: letters, digits, \u{...}, groups, alternatives, repetitions, and
/// classes of code points.
class RegexRewriter {
 public:
  /// `is_open`: where an alternative has one of the anchors ^ and $, anything may stand at its other end.
  RegexRewriter(std::string_view pattern, bool in_json, bool is_open = false)
      : pattern_(pattern), characters_(in_json), in_json_(in_json), is_open_(is_open) {}

  std::string read() {
    if (pattern_.size() > 4096) fail(ErrorCode::invalid_argument, "a regular expression has at most 4096 bytes");
    if (!is_valid_utf8(pattern_)) fail(ErrorCode::invalid_argument, "the regular expression is not UTF-8");
    while (at_ < pattern_.size()) {
      begin_ = at_;
      read_one();
    }
    end_alternative();
    // xgrammar makes a state for every repeated character of a pattern in JSON, which takes seconds and fails beyond 128,
    // unless something in it is not ASCII: this, which stands for nothing.
    return in_json_ ? result_ + "\xC3\xA9{0}" : result_;
  }

 private:
  struct Item {
    CodePointSet set;
    std::optional<char32_t> single;
  };

  [[noreturn]] void refuse(std::string_view what) const {
    fail(ErrorCode::invalid_argument, "the expression ", pattern_, " has ", what, " at ", begin_ + 1,
         ", which a grammar cannot follow");
  }

  char peek() const { return at_ < pattern_.size() ? pattern_[at_] : '\0'; }

  char32_t next() {
    if (at_ >= pattern_.size()) refuse("a part that does not end");
    const Utf8Step step = decode_utf8(pattern_, at_);
    at_ += step.length;
    return step.code_point;
  }

  void read_one() {
    const char c = peek();
    const bool ends = at_ + 1 == pattern_.size() || pattern_[at_ + 1] == '|';
    if (c == '[') {
      ++at_;
      write(read_class());
    } else if (c == '.') {
      ++at_;
      write(CodePointSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).complement());
    } else if (c == '^') {  // of the whole, as is an alternative of it
      if (depth() != 0 || !begins_alternative_) refuse("an anchor in the middle");
      has_begin_ = true;
      ++at_;
    } else if (c == '$') {
      if (depth() != 0 || !ends) refuse("an anchor in the middle");
      has_end_ = true;
      ++at_;
    } else if (c == '{') {
      const std::size_t end = std::min(pattern_.find('}', at_), pattern_.size() - 1);
      read_count(pattern_.substr(at_, end + 1 - at_));
      at_ = end + 1;
    } else if (std::string_view("()|*+?").find(c) != std::string_view::npos) {
      if (c == '(' && pattern_.substr(at_, 2) == "(?" && pattern_.substr(at_, 3) != "(?:") {
        refuse("an assertion or a flag");
      }
      if (c == '|' && depth() == 0) end_alternative();
      follow_group(c);
      const std::size_t length = c == '(' && pattern_.substr(at_, 3) == "(?:" ? 3 : 1;
      result_ += pattern_.substr(at_, length);
      at_ += length;
    } else {
      const Item item = read_item(false);
      item.single ? write(*item.single) : write(item.set);
    }
    begins_alternative_ = c == '|';
    if (std::string_view("()|*+?{^$").find(c) == std::string_view::npos) begin_part(false);
  }

  /// Of the whole.
  void end_alternative() {
    if (is_open_ && has_begin_ != has_end_) {
      const std::string any = characters_.any_of(CodePointSet().complement()).value_or("") + "*";
      result_.insert(has_begin_ ? result_.size() : alternative_, any);
    }
    has_begin_ = has_end_ = false;
    alternative_ = result_.size() + 1;  // behind the bar
  }

  /// What the next repetition repeats.
  void begin_part(bool may_be_empty) {
    groups_.back().may_end = groups_.back().may_end && part_may_be_empty_;
    part_may_be_empty_ = may_be_empty;
    is_repeated_ = false;
  }

  void follow_group(char c) {
    if (c == '(') {
      begin_part(true);
      groups_.emplace_back();
    } else if (c == '|' || (c == ')' && depth() != 0)) {
      begin_part(true);
      Group& group = groups_.back();
      group.may_be_empty = group.may_be_empty || std::exchange(group.may_end, true);
      if (c == '|') return;
      part_may_be_empty_ = group.may_be_empty;
      groups_.pop_back();
    } else if (c == '*' || c == '+' || c == '?') {
      const bool is_lazy = std::exchange(is_repeated_, true) && c == '?';
      if (c != '+' && !is_lazy) part_may_be_empty_ = true;
    }
  }

  /// "{2,5}". What may be empty is not counted: a grammar would follow every way to divide a text.
  void read_count(std::string_view text) {
    std::size_t digits = 0, last = 0;
    for (const char c : text) {
      const bool is_digit = c >= '0' && c <= '9';
      digits = is_digit ? digits + 1 : 0;
      if (digits > 6) refuse("a count above 999999");
      last = is_digit ? (digits == 1 ? 0 : 10 * last) + static_cast<std::size_t>(c - '0') : last;
    }
    if (part_may_be_empty_ && (last > 1 || text.ends_with(",}"))) refuse("a count of what may be empty");
    if (text.starts_with("{0")) part_may_be_empty_ = true;
    is_repeated_ = true;
    result_ += text;
  }

  std::size_t depth() const noexcept { return groups_.size() - 1; }

  /// After the opening bracket, through the closing one.
  CodePointSet read_class() {
    const bool is_negated = peek() == '^';
    if (is_negated) ++at_;
    CodePointSet all;
    while (peek() != ']' || at_ >= pattern_.size()) {
      Item item = read_item(is_negated);
      const bool is_range = item.single && peek() == '-' && pattern_.substr(at_, 2) != "-]";
      if (is_range) {
        ++at_;
        const Item last = read_item(is_negated);
        if (!last.single || *last.single < *item.single) refuse("a range that is not from lower to higher");
        item.set = CodePointSet({{*item.single, *last.single}});
      }
      all = all.united(item.set);
    }
    ++at_;
    return is_negated ? all.complement() : all;
  }

  /// A character or an escape.
  Item read_item(bool is_negated) {
    const char32_t c = next();
    if (c != '\\') return one(c);
    const char32_t kind = next();
    const CodePointSet digits({{'0', '9'}}), words({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}});
    switch (kind) {
      case 'n': return one('\n');
      case 'r': return one('\r');
      case 't': return one('\t');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case '0': return one(0);
      case 'x': return one(hexadecimal(2));
      case 'u': return one(hexadecimal(4));
      case 'c': return one(next() & 0x1F);
      case 'd': return {digits, {}};
      case 'D': return {digits.complement(), {}};
      case 'w': return {words, {}};
      case 'W': return {words.complement(), {}};
      case 's': return {spaces(is_negated), {}};
      case 'S': return {spaces(!is_negated).complement(), {}};
      default: break;
    }
    if (RegexCharacters::is_word(kind)) refuse("an unknown escape");
    return one(kind);
  }

  static Item one(char32_t c) { return {CodePointSet({{c, c}}), c}; }

  /// What is never one, of the standard; and what is written, of ASCII alone.
  static CodePointSet spaces(bool all) {
    std::vector<CodePointSet::Range> ranges{{'\t', '\r'}, {' ', ' '}};
    if (all) {
      ranges.insert(ranges.end(), {{0xA0, 0xA0},
                                   {0x1680, 0x1680},
                                   {0x2000, 0x200A},
                                   {0x2028, 0x2029},
                                   {0x202F, 0x202F},
                                   {0x205F, 0x205F},
                                   {0x3000, 0x3000},
                                   {0xFEFF, 0xFEFF}});
    }
    return CodePointSet(std::move(ranges));
  }

  /// So many digits, or any in braces.
  char32_t hexadecimal(std::size_t digits) {
    const bool has_braces = digits == 4 && peek() == '{';
    if (has_braces) ++at_;
    const std::size_t end = has_braces ? std::min(pattern_.find('}', at_), pattern_.size()) : at_ + digits;
    std::uint32_t value = 0;
    const std::string_view text = pattern_.substr(at_, end - at_);
    const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    const bool is_whole = error == std::errc() && last == text.data() + text.size() &&
                          (has_braces ? end < pattern_.size() : text.size() == digits);
    if (!is_whole || value > CodePointSet::largest) refuse("an escape without hexadecimal digits");
    at_ = end + (has_braces ? 1 : 0);
    return value;
  }

  void write(char32_t c) {
    const std::optional<std::string> text = characters_.one(c);
    if (!text) refuse("half of a surrogate pair");
    result_ += *text;
  }

  void write(const CodePointSet& set) {
    const std::optional<std::string> text = characters_.any_of(set);
    if (!text) refuse("a class without a character");
    result_ += *text;
  }

  std::string_view pattern_;
  RegexCharacters characters_;
  bool in_json_, is_open_;
  std::size_t at_ = 0, begin_ = 0, alternative_ = 0;  // the last: where the present one begins in `result_`
  bool has_begin_ = false, has_end_ = false;          // its anchors
  struct Group {  // the whole, or one that is open: whether an alternative may be empty, and the present one so far
    bool may_be_empty = false, may_end = true;
  };
  std::vector<Group> groups_ = std::vector<Group>(1);
  bool begins_alternative_ = true, part_may_be_empty_ = true, is_repeated_ = false;
  std::string result_;
};

}  // namespace detail

/// The expression as a grammar follows it: a text that matches it as a whole, of whole characters.
/// Errors: invalid_argument for what would be ignored or read as something else: assertions, flags, back references and
/// unknown escapes. Other errors are left to the engine.
inline std::string followed_regex(std::string_view pattern) {
  return detail::RegexRewriter(pattern, false).read();
}

/// The same for what stands in a JSON string: a character that needs an escape is written as one where the expression
/// names it alone, and is in no class.
inline std::string followed_json_regex(std::string_view pattern) {
  return detail::RegexRewriter(pattern, true).read();
}

/// The `pattern` of a schema, which holds where it is found in a text: behind "^https?://" anything may follow, in front of
/// "\\.com$" anything may stand. What has no anchor is written as a whole, as other tools do.
inline std::string followed_schema_pattern(std::string_view pattern) {
  return detail::RegexRewriter(pattern, true, true).read();
}

}  // namespace tulle
