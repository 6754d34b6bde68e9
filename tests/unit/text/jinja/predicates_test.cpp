// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/predicates.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

namespace {

bool is(const Value& value, std::string_view name, Items positional = {}) {
  Budget budget{Limits{}};
  return apply_predicate(budget, name, value, Arguments{std::move(positional), {}});
}

Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("types are distinguished as in Jinja", "[text][jinja_predicates]") {
  CHECK(is(Value(true), "boolean"));
  CHECK(is(Value(true), "number"));
  CHECK_FALSE(is(Value(true), "integer"));
  CHECK(is(Value("s"), "sequence"));
  CHECK(is(Value::mapping({}), "sequence"));
  CHECK_FALSE(is(Value::sequence({}, Flavor::generator), "sequence"));
  CHECK(is(Value::sequence({}, Flavor::generator), "iterable"));
  CHECK(is(Value(), "undefined"));
  CHECK_FALSE(is(Value(None{}), "undefined"));
  CHECK(is(Value(None{}), "none"));
  CHECK_FALSE(is(number(1), "true"));
}

TEST_CASE("values are compared by name and by sign", "[text][jinja_predicates]") {
  CHECK(is(number(5), "odd"));
  CHECK(is(number(-5), "odd"));
  CHECK(is(number(-4), "even"));
  CHECK(is(number(5), "equalto", {Value(5.0)}));
  CHECK(is(number(5), ">=", {number(5)}));
  CHECK(is(number(5), "in", {Value::sequence({number(5)})}));
}

TEST_CASE("wrong uses are refused with the name of the test", "[text][jinja_predicates]") {
  using Catch::Matchers::ContainsSubstring;
  CHECK_THROWS_WITH(is(number(1), "nope"), ContainsSubstring("no test named 'nope'"));
  CHECK_THROWS_WITH(is(number(1), "eq"), "test 'eq': wants one argument");
  CHECK_THROWS_WITH(is(Value("a"), "odd"), ContainsSubstring("test 'odd'"));
}
