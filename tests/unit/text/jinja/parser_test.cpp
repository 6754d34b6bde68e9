// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/parser.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

template <class Node>
const Node& only(const Body& body) {
  REQUIRE(body.size() == 1);
  return std::get<Node>(body.front().node);
}

}  // namespace

TEST_CASE("every branch of an if is kept in order", "[text][jinja_parser]") {
  const Body body = Parser("{% if a %}1{% elif b %}2{% else %}3{% endif %}").parse();
  const If& statement = only<If>(body);
  REQUIRE(statement.branches.size() == 3);
  CHECK(statement.branches[1].test != nullptr);
  CHECK(statement.branches[2].test == nullptr);
}

TEST_CASE("a loop knows its target, filter and else", "[text][jinja_parser]") {
  const Body body = Parser("{% for a, b in c if d %}x{% else %}y{% endfor %}").parse();
  const For& loop = only<For>(body);
  CHECK(loop.target.unpacks);
  CHECK(loop.target.parts.size() == 2);
  CHECK(loop.filter != nullptr);
  CHECK(loop.otherwise.size() == 1);
}

TEST_CASE("a macro has parameters and a body", "[text][jinja_parser]") {
  const Body body = Parser("{% macro m(a, b=1) %}{{ a }}{% endmacro %}{{ kwargs }}").parse();
  const MacroDefinition& macro = *std::get<Macro>(body.front().node).definition;
  CHECK(macro.parameters.size() == 2);
  CHECK(macro.body.size() == 1);
}

TEST_CASE("malformed blocks are refused with line and construct", "[text][jinja_parser]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(Parser("a\n{% nope %}").parse(), "chat template, line 2: unknown tag 'nope'");
  CHECK_THROWS_WITH(Parser("{% if a %}\n\n{% endfor %}").parse(),
                    "chat template, line 3: unknown tag 'endfor'; the open block is 'if' of line 1");
  CHECK_THROWS_WITH(Parser("\n{% for x in y %}\n").parse(), ContainsSubstring("'for' of line 2 is not closed"));
  CHECK_THROWS_WITH(Parser("{% break %}").parse(), ContainsSubstring("outside of a loop"));
  for (const char* wrong :
       {"{% %}", "{% if %}{% endif %}", "{% for x y %}{% endfor %}", "{% set %}", "{% set 1 = 2 %}", "{% endif %}",
        "{% macro m %}{% endmacro %}", "{% macro m(a=1, b) %}{% endmacro %}", "{% call x %}{% endcall %}",
        "{% filter %}{% endfilter %}", "{% if a %}{% else %}{% else %}{% endif %}", "{% do x %}",
        "{% for x in y %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(Parser(wrong).parse(), Error);
  }
}

TEST_CASE("blocks nested too deeply are refused before the stack ends", "[text][jinja_parser]") {
  std::string source;
  for (int i = 0; i < 20'000; ++i) source += "{% if a %}";
  CHECK_THROWS_WITH(Parser(source).parse(), Catch::Matchers::ContainsSubstring("nested deeper"));
}
