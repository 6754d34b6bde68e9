// SPDX-License-Identifier: Apache-2.0
/// \file A place in a template's tokens, and the errors that name its line (L2, text).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/jinja/lexer.hpp>
#include <tulle/text/jinja/limits.hpp>

namespace tulle::jinja {

/// Reads tokens one by one; at the end it stays on the end token.
class TokenCursor {
 public:
  explicit TokenCursor(std::vector<SyntaxToken> tokens) : tokens_(std::move(tokens)) {}

  const SyntaxToken& peek(std::size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  std::size_t line() const { return peek().line; }
  /// Of the token taken last.
  std::size_t last_line() const { return at_ == 0 ? line() : tokens_[at_ - 1].line; }

  bool sees(TokenKind kind, std::size_t ahead = 0) const { return peek(ahead).kind == kind; }
  bool sees_sign(std::string_view sign) const { return sees(TokenKind::sign) && peek().text == sign; }
  bool sees_name(std::string_view name, std::size_t ahead = 0) const {
    return sees(TokenKind::name, ahead) && peek(ahead).text == name;
  }

  SyntaxToken take() {
    SyntaxToken token = peek();
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }

  bool take_sign(std::string_view sign) { return sees_sign(sign) && (take(), true); }
  bool take_name(std::string_view name) { return sees_name(name) && (take(), true); }

  void expect_sign(std::string_view sign) {
    if (!take_sign(sign)) refuse("expected '", sign, "', got ", shown());
  }

  SyntaxToken expect(TokenKind kind, std::string_view what) {
    if (!sees(kind)) unexpected(what);
    return take();
  }

  /// Errors: malformed, always: the token that was found and the one that was expected.
  [[noreturn]] void unexpected(std::string_view wanted) const { refuse("expected ", wanted, ", got ", shown()); }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail(ErrorCode::malformed, "chat template, line ", line(), ": ", parts...);
  }

  /// The levels of the tree that a part of the parser adds, until it returns.
  class Nesting {
   public:
    explicit Nesting(TokenCursor& cursor) : cursor_(cursor) {}
    ~Nesting() { cursor_.levels_ -= added_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

    /// Errors: malformed when the tree becomes too deep.
    void add() {
      if (cursor_.levels_ >= Limits::syntax_levels) {
        cursor_.refuse("blocks or expressions nested deeper than ", Limits::syntax_levels, " levels");
      }
      ++cursor_.levels_;
      ++added_;
    }

   private:
    TokenCursor& cursor_;
    int added_ = 0;
  };

 private:
  std::string shown() const {
    if (sees(TokenKind::end)) return "the end of the template";
    std::string text(1, '\'');
    return text.append(peek().text).append(1, '\'');
  }

  std::vector<SyntaxToken> tokens_;
  std::size_t at_ = 0;
  int levels_ = 0;
};

}  // namespace tulle::jinja
