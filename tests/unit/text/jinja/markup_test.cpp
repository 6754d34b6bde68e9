// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/markup.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

namespace {

Budget budget{Limits{}};

}  // namespace

TEST_CASE("text is escaped for HTML once", "[text][jinja_markup]") {
  CHECK(escape(budget, "<a b=\"c\">&'") == "&lt;a b=&#34;c&#34;&gt;&amp;&#39;");
  const Value once = escaped(budget, Value("<"));
  CHECK(once.is_markup());
  CHECK(escaped(budget, once).text() == "&lt;");
  CHECK(escaped(budget, Value(std::int64_t{1})).is(Kind::integer));
  CHECK(escaped(budget, Value::sequence({Value("<")})).text() == "[&#39;&lt;&#39;]");
}

TEST_CASE("results of methods become markup, in lists too", "[text][jinja_markup]") {
  const Value list = as_markup(Value::sequence({Value("<"), Value(std::int64_t{1})}));
  CHECK(list.items()[0].is_markup());
  CHECK_FALSE(list.items()[1].is_markup());
}

TEST_CASE("only arguments that become part of the result are escaped", "[text][jinja_markup]") {
  const Arguments arguments{{Value("<"), Value("<")}, {}};
  const Arguments replaced = escaped_arguments(budget, "replace", arguments);
  CHECK(replaced.positional[0].text() == "<");
  CHECK(replaced.positional[1].text() == "&lt;");
  CHECK(escaped_arguments(budget, "format", arguments).positional[0].text() == "&lt;");
  CHECK(escaped_arguments(budget, "split", arguments).positional[0].text() == "<");
  const Arguments list{{Value::sequence({Value("<"), Value(std::int64_t{1})})}, {}};
  CHECK(escaped_arguments(budget, "join", list).positional[0].items()[1].text() == "1");
}

TEST_CASE("escaping counts against the budget", "[text][jinja_markup]") {
  Budget small(Limits{.steps = 10, .bytes = 8, .levels = 1});
  CHECK_THROWS_AS(escape(small, "<<<"), tulle::Error);
}
