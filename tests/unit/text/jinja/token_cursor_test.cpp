// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/token_cursor.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

TokenCursor cursor(std::string_view source) {
  return TokenCursor(Lexer(source).run());
}

}  // namespace

TEST_CASE("a cursor stays at the end", "[text][jinja_token_cursor]") {
  TokenCursor tokens = cursor("{{ a }}");
  for (int i = 0; i < 10; ++i) tokens.take();
  CHECK(tokens.sees(TokenKind::end));
  CHECK(tokens.sees(TokenKind::end, 5));
}

TEST_CASE("tokens are taken only when they are the ones wanted", "[text][jinja_token_cursor]") {
  TokenCursor tokens = cursor("{{ a +\n b }}");
  tokens.take();
  CHECK_FALSE(tokens.take_name("b"));
  CHECK(tokens.take_name("a"));
  CHECK_FALSE(tokens.take_sign("-"));
  CHECK(tokens.take_sign("+"));
  CHECK(tokens.last_line() == 1);
  CHECK(tokens.line() == 2);
  CHECK_THROWS_WITH(tokens.expect_sign("+"), "chat template, line 2: expected '+', got 'b'");
}

TEST_CASE("nesting is bounded and given back", "[text][jinja_token_cursor]") {
  TokenCursor tokens = cursor("x");
  for (int round = 0; round < 2; ++round) {
    TokenCursor::Nesting nesting(tokens);
    for (int i = 0; i < Limits::syntax_levels; ++i) nesting.add();
    CHECK_THROWS_AS(nesting.add(), Error);
  }
}
