// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/lexer.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

/// The data of a template, with | for every tag.
std::string data(std::string_view source) {
  std::string text;
  for (const SyntaxToken& token : Lexer(source).run()) {
    if (token.kind == TokenKind::data) text += token.text;
    if (token.kind == TokenKind::block_begin || token.kind == TokenKind::print_begin) text += '|';
  }
  return text;
}

}  // namespace

TEST_CASE("a tag on a line of its own leaves nothing of the line", "[text][jinja_lexer]") {
  CHECK(data("a\n  {% x %}\nb") == "a\n|b");
  CHECK(data("a\n  {# c #}\nb") == "a\nb");
  CHECK(data("a\n  {{ x }}\nb") == "a\n  |\nb");
  CHECK(data("a {% x %}\nb") == "a |b");
  CHECK(data("{% x %}  {% y %}") == "|  |");
}

TEST_CASE("signs take or keep white space", "[text][jinja_lexer]") {
  CHECK(data("a \n {%- x -%} \n b") == "a|b");
  CHECK(data("  {%+ x +%}\nb") == "  |\nb");
  CHECK(data("a \xE3\x80\x80{{- x -}}\xC2\xA0 b") == "a|b");
  CHECK(data("a {#- c -#} b") == "ab");
}

TEST_CASE("raw blocks are refused by their name", "[text][jinja_lexer]") {
  CHECK_THROWS_WITH(Lexer("a\n{%- raw %}{{ ? }}{% endraw %}").run(), "chat template, line 2: 'raw' is not supported");
}

TEST_CASE("line ends are one kind and the last one goes", "[text][jinja_lexer]") {
  CHECK(data("a\r\nb\rc\n") == "a\nb\nc");
  CHECK(data("a\n\n") == "a\n");
}

TEST_CASE("the end of a tag inside brackets and strings is none", "[text][jinja_lexer]") {
  const auto tokens = Lexer("{{ {'a': {'}}': 1}} }}").run();
  CHECK(tokens.size() == 12);
  CHECK(tokens[10].kind == TokenKind::print_end);
}

TEST_CASE("tokens know their line", "[text][jinja_lexer]") {
  const auto tokens = Lexer("a\n{{\n x }}").run();
  CHECK(tokens[0].line == 1);
  CHECK(tokens[1].line == 2);
  CHECK(tokens[2].line == 3);
}

TEST_CASE("what is not closed or unknown is refused with its line", "[text][jinja_lexer]") {
  for (const char* wrong : {"\n{{", "\n{{ x }", "\n{% x", "\n{# c", "\n{{ 'x }}", "\n{{ ( }}", "\n{{ ) }}",
                            "\n{{ (] }}", "\n{{ ? }}", "\n{{ '\\x' }}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(Lexer(wrong).run(), Catch::Matchers::ContainsSubstring("line 2"));
  }
  CHECK_THROWS_AS(Lexer(std::string(Limits::source_bytes + 1, 'a')), Error);
}
