// SPDX-License-Identifier: Apache-2.0
/// \file A template's source to tokens, with Jinja's rules of white space (L2, text).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/jinja/limits.hpp>
#include <tulle/text/jinja/literals.hpp>
#include <tulle/text/jinja/strings.hpp>

namespace tulle::jinja {

enum class TokenKind : std::uint8_t {
  data,
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  text,
  number,
  sign,
  end
};

struct SyntaxToken {
  TokenKind kind;
  std::string text;  ///< data and strings as they are meant, everything else as written
  std::size_t line;  ///< from 1
};

/// Cuts a template into tokens as jinja2 does with trim_blocks and lstrip_blocks: a tag of its own line takes the
/// blanks in front and the line end behind; `-` takes all white space on its side, `+` keeps it.
/// Errors: malformed, with the line; capacity for a source that is too long.
class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalized(source)) {}

  std::vector<SyntaxToken> run() {
    while (at_ < source_.size()) lex_data();
    put(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  /// Line ends as \n, and none at the end of the last line.
  static std::string normalized(std::string_view source) {
    if (source.size() > Limits::source_bytes) fail(ErrorCode::capacity, "chat template: longer than 1 MiB");
    std::string text;
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\r' && i + 1 < source.size() && source[i + 1] == '\n') continue;
      text += source[i] == '\r' ? '\n' : source[i];
    }
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::malformed, "chat template, line ", line_, ": ", parts...);
  }

  void put(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  void advance(std::size_t count) {
    line_ += static_cast<std::size_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 source_.begin() + static_cast<std::ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }

  void skip_space() {
    const std::string_view rest = std::string_view(source_).substr(at_);
    advance(rest.size() - strip(rest, Side::left).size());
  }

  /// Text up to the next tag, then that tag.
  void lex_data() {
    std::size_t begin = at_;
    while ((begin = source_.find('{', begin)) != std::string::npos) {
      const char next = begin + 1 < source_.size() ? source_[begin + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++begin;
    }
    if (begin == std::string::npos) {
      const std::string rest = source_.substr(at_);
      put(TokenKind::data, rest);
      return advance(rest.size());
    }
    const char tag = source_[begin + 1];
    put_data(begin, tag != '{');
    const char sign = peek(2);
    advance(sign == '-' || sign == '+' ? 3 : 2);
    if (tag == '#') return skip_comment();
    if (tag == '{') {
      put(TokenKind::print_begin, "{{");
      return lex_expression(TokenKind::print_end, "}}");
    }
    if (strip(std::string_view(source_).substr(at_), Side::left).starts_with("raw")) refuse("'raw' is not supported");
    put(TokenKind::block_begin, "{%");
    lex_expression(TokenKind::block_end, "%}");
  }

  /// The text from here to the tag at `end`, without the white space that belongs to the tag.
  void put_data(std::size_t end, bool is_block) {
    std::string_view text = std::string_view(source_).substr(at_, end - at_);
    const char sign = end + 2 < source_.size() ? source_[end + 2] : '\0';
    if (sign == '-') {
      text = strip(text, Side::right);
    } else if (sign != '+' && is_block) {
      const std::size_t line_begin = text.rfind('\n') + 1;  // 0 where there is no line end
      if ((line_begin > 0 || starts_line_) && strip(text.substr(line_begin)).empty()) text = text.substr(0, line_begin);
    }
    if (!text.empty()) put(TokenKind::data, std::string(text));
    advance(end - at_);
    starts_line_ = false;
  }

  /// Behind the end of a block or comment: `-` takes all white space, `+` nothing, else one line end goes.
  void end_tag(char sign) {
    if (sign == '-') {
      skip_space();
    } else if (sign != '+' && peek() == '\n') {
      advance(1);
    }
    starts_line_ = source_[at_ - 1] == '\n';
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment is not closed; '#}' is missing");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    advance(end + 2 - at_);
    end_tag(sign);
  }

  /// The inside of a tag, up to its end; inside of brackets the end's characters are signs.
  void lex_expression(TokenKind end_kind, std::string_view end) {
    std::string brackets;
    for (;;) {
      skip_space();
      if (at_ >= source_.size()) refuse("a tag is not closed; '", end, "' is missing");
      if (brackets.empty()) {
        const bool signed_end = peek() == '-' || (peek() == '+' && end == "%}");
        if (std::string_view(source_).substr(at_ + (signed_end ? 1 : 0)).starts_with(end)) {
          const char sign = signed_end ? peek() : '\0';
          put(end_kind, std::string(end));
          advance(signed_end ? 3 : 2);
          if (end == "%}" || sign == '-') return end_tag(sign);
          starts_line_ = false;
          return;
        }
      }
      lex_token(brackets);
    }
  }

  void lex_token(std::string& brackets) {
    const std::string_view rest = std::string_view(source_).substr(at_);
    std::size_t size = 0;
    if (rest[0] == '\'' || rest[0] == '"') {
      size = text_literal_size(rest);
      if (size == 0) refuse("a string is not closed");
      put(TokenKind::text, unescape(rest.substr(1, size - 2), line_));
    } else if (is_digit(static_cast<unsigned char>(rest[0]))) {
      const bool after_dot = !tokens_.empty() && tokens_.back().kind == TokenKind::sign && tokens_.back().text == ".";
      size = number_literal_size(rest, !after_dot);
      put(TokenKind::number, std::string(rest.substr(0, size)));
    } else if ((size = name_size(rest)) > 0) {
      put(TokenKind::name, std::string(rest.substr(0, size)));
    } else {
      size = sign_size(rest);
      if (size == 0) refuse("unexpected character '", rest.substr(0, code_point_size(rest, 0)), "'");
      const char sign = rest[0];
      if (sign == '(' || sign == '[' || sign == '{') brackets += sign == '(' ? ')' : sign == '[' ? ']' : '}';
      if (sign == ')' || sign == ']' || sign == '}') {
        if (!brackets.ends_with(sign)) refuse("unexpected '", rest.substr(0, 1), "'");
        brackets.pop_back();
      }
      put(TokenKind::sign, std::string(rest.substr(0, size)));
    }
    advance(size);
  }

  std::string source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool starts_line_ = true;  // the text from here begins a line
  std::vector<SyntaxToken> tokens_;
};

}  // namespace tulle::jinja
