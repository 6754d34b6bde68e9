// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/renderer.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/text/jinja/parser.hpp>

using namespace tulle::jinja;
using tulle::Error;
using tulle::ErrorCode;

namespace {

std::string rendered(std::string_view source, const Limits& limits = {}) {
  const Body body = Parser(source).parse();
  Renderer renderer(limits, local_time);
  renderer.set("l", Value::sequence({std::int64_t{3}, std::int64_t{1}, std::int64_t{2}}));
  return renderer.render(body);
}

ErrorCode code_of(std::string_view source) {
  try {
    rendered(source, Limits{.steps = 100'000, .bytes = 1'000'000});
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::state;
}

}  // namespace

TEST_CASE("what a loop sets is gone after each turn, unless it is in a namespace", "[text][jinja_renderer]") {
  CHECK(rendered("{% set x = 0 %}{% for i in l %}{{ x }}{% set x = i %}{{ x }} {% endfor %}{{ x }}") == "03 01 02 0");
  CHECK(rendered("{% set n = namespace(x=0) %}{% for i in l %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}") == "6");
  CHECK(rendered("{% if true %}{% set x = 1 %}{% endif %}{{ x }}") == "1");
}

TEST_CASE("break and continue leave the innermost loop, also out of blocks", "[text][jinja_renderer]") {
  CHECK(rendered("{% for i in l %}{% for j in l %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }} {% endfor %}{% "
                 "endfor %}") == "33 13 23 ");
  CHECK(rendered("{% for i in l %}{% generation %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endgeneration %}{% "
                 "endfor %}") == "32");
}

TEST_CASE("the condition of a loop is tested when its item is asked for", "[text][jinja_renderer]") {
  CHECK(rendered("{% set n = namespace(done=false) %}{% for i in l if not n.done %}{{ i }}{% if i == 1 %}"
                 "{% set n.done = true %}{% endif %}{% endfor %}") == "31");
  CHECK(rendered("{% for i in l if i > 1 %}{{ i }}{{ loop.last }}{{ loop.length }} {% endfor %}") == "3False2 2True2 ");
  CHECK(rendered("{% for i in l if i > 1 %}{{ loop.index }}{{ loop.nextitem }}{% endfor %}") == "122");
}

TEST_CASE("a loop without a whole turn has an else", "[text][jinja_renderer]") {
  CHECK(rendered("{% for i in [] %}x{% else %}none{% endfor %}") == "none");
  CHECK(rendered("{% for i in l %}{% break %}{% else %}none{% endfor %}") == "none");
  CHECK(rendered("{% for i in l %}{% continue %}{% else %}none{% endfor %}") == "none");
  CHECK(rendered("{% for i in l %}{% if i == 1 %}{% break %}{% endif %}{{ i }}{% else %}none{% endfor %}") == "3");
  CHECK(rendered("{% for a in l %}{% for b in [] %}{% else %}{% break %}{% endfor %}{{ a }}{% endfor %}").empty());
}

TEST_CASE("a macro sees its parameters and the variables where it was defined", "[text][jinja_renderer]") {
  CHECK(
      rendered(
          "{% macro m(a, b=a) %}{{ a }}{{ b }}{{ late }}{% endmacro %}{% set late = '!' %}{{ m(1) }}{{ m(1, b=2) }}") ==
      "11!12!");
  CHECK_THROWS_AS(rendered("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}"), Error);
}

TEST_CASE("errors name the line", "[text][jinja_renderer]") {
  CHECK_THROWS_WITH(rendered("a\n{% if true %}\n{{ x.y }}{% endif %}"), "chat template, line 3: 'x' is undefined");
  CHECK_THROWS_WITH(rendered("\n{% set q.x = 1 %}"),
                    "chat template, line 2: 'q' is no namespace; its attribute cannot be set");
  CHECK_THROWS_WITH(rendered("\n{% set a, b = l %}"), "chat template, line 2: cannot unpack 3 values into 2 names");
  CHECK_THROWS_WITH(rendered("\n{{ raise_exception('own words') }}"), "own words");
}

TEST_CASE("no template hangs, overflows the stack or fills the memory", "[text][jinja_renderer]") {
  for (const char* hostile : {
           "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
           "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
           "{% set n = namespace(x='aaaa') %}{% for i in range(99) %}{% set n.x = n.x ~ n.x %}{% endfor %}",
           "{% set n = namespace(x=[]) %}{% for i in range(999) %}{% set n.x = [n.x] %}{% endfor %}",
           "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}",
           "{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | "
           "tojson }}",
           "{% set n = namespace(f=[1]) %}{% for i in range(999) %}{% set n.f = [n.f.count] %}{% endfor %}",
           "{% set n = namespace() %}{% set n.x = n %}{{ n }}",
           "{% for i in range(99999) %}{% set x = namespace(a=1) %}{% endfor %}",
           "{% set s = 'a' * 900000 %}{% for i in range(9999) %}{% set x = s | upper %}{% endfor %}",
       }) {
    CAPTURE(hostile);
    CHECK(code_of(hostile) == ErrorCode::capacity);
  }
}
