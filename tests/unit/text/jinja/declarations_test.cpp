// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/declarations.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

TokenCursor inside(const std::string& source) {
  TokenCursor cursor(Lexer("{{ " + source + " }}").run());
  cursor.take();
  return cursor;
}

Target target(const std::string& source, bool with_namespace = true) {
  TokenCursor cursor = inside(source);
  Target result = parse_target(cursor, with_namespace);
  cursor.expect(TokenKind::print_end, "'}}'");
  return result;
}

Parameters parameters(const std::string& source) {
  TokenCursor cursor = inside(source);
  ExpressionParser expressions(cursor);
  return parse_parameters(cursor, expressions);
}

}  // namespace

TEST_CASE("targets are one name, several, or attributes of namespaces", "[text][jinja_declarations]") {
  CHECK_FALSE(target("a").unpacks);
  CHECK(target("a, b").parts.size() == 2);
  CHECK(target("(a,)").unpacks);
  CHECK(target("n.x").parts[0].attribute == "x");
  for (const char* wrong : {"1", "a,", "(a", "a b", "()", ""}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(target(wrong), Error);
  }
  CHECK_THROWS_AS(target("n.x", false), Error);
}

TEST_CASE("parameters with defaults come last", "[text][jinja_declarations]") {
  const Parameters list = parameters("(a, b=1,)");
  REQUIRE(list.size() == 2);
  CHECK(list[0].second == nullptr);
  CHECK(list[1].second != nullptr);
  CHECK(parameters("()").empty());
  for (const char* wrong : {"a", "(a=1, b)", "(1)", "(a b)", "(a=)"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(parameters(wrong), Error);
  }
}
