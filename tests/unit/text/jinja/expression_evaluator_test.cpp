// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/expression_evaluator.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/text/jinja/expression_parser.hpp>

using namespace tulle::jinja;
using tulle::Error;
using tulle::ErrorCode;

namespace {

struct World {
  Budget budget{Limits{.steps = 5000, .bytes = 100'000, .levels = 60}};
  Scope scope{nullptr};
  ExpressionEvaluator evaluator{budget};

  Value value(const std::string& source) {
    TokenCursor cursor(Lexer("{{ " + source + " }}").run());
    cursor.take();
    const ExpressionPtr expression = ExpressionParser(cursor).parse_tuple();
    return evaluator.evaluate(*expression, scope);
  }

  std::string text(const std::string& source) { return to_text(budget, value(source)); }
};

}  // namespace

TEST_CASE("logic gives back operands and stops early", "[text][jinja_expression_evaluator]") {
  World world;
  CHECK(world.text("'' or 'x'") == "x");
  CHECK(world.text("0 and missing.x") == "0");
  CHECK(world.text("1 if true or missing.x else missing.y") == "1");
  CHECK(world.text("2 < 1 < missing.x") == "False");
}

TEST_CASE("literals, operators and accesses work together", "[text][jinja_expression_evaluator]") {
  World world;
  CHECK(world.text("{'a': [1, (2, 3)], 'a': 'b'}") == "{'a': 'b'}");
  CHECK(world.text("[1, 2][1:] + [none]") == "[2, None]");
  CHECK(world.text("'%s' % 'a' ~ 1 ~ missing") == "a1");
  CHECK(world.text("'a,b'.split(',')[-1].upper() | lower") == "b");
  CHECK(world.text("-0.0") == "-0.0");
}

TEST_CASE("arguments can be spread", "[text][jinja_expression_evaluator]") {
  World world;
  CHECK(world.text("'{}{}{x}'.format(*[1, 2], **{'x': 3})") == "123");
  CHECK_THROWS_AS(world.value("'{}'.format(**[1])"), Error);
  CHECK_THROWS_AS(world.value("'{}'.format(*1)"), Error);
}

TEST_CASE("wrong operations are refused at their line", "[text][jinja_expression_evaluator]") {
  World world;
  CHECK_THROWS_WITH(world.value("\n\nmissing.x"), "'missing' is undefined");
  CHECK(world.evaluator.line() == 3);
  CHECK_THROWS_WITH(world.value("1()"), "a value of type int cannot be called");
  CHECK_THROWS_WITH(world.value("{[1]: 2}"), "a list cannot be a key of a dict");
}

TEST_CASE("steps, bytes and levels are bounded", "[text][jinja_expression_evaluator]") {
  const auto code = [](const std::string& source) {
    World world;
    try {
      world.value(source);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::state;
  };
  CHECK(code("'a' * 100001") == ErrorCode::capacity);
  CHECK(code("('a' * 50000) | list") == ErrorCode::capacity);
  std::string deep = "1";
  for (int i = 0; i < 70; ++i) deep += "+1";
  CHECK(code(deep) == ErrorCode::capacity);
}
