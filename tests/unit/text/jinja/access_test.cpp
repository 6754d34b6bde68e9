// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/access.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};
Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("a dict's methods come before its keys with a dot, behind them with brackets", "[text][jinja_access]") {
  const Value dict = Value::mapping({{Value("items"), number(3)}, {Value("a"), number(1)}});
  CHECK(attribute(budget, dict, "items").is(Kind::callable));
  CHECK(item(budget, dict, Value("items")).integer() == 3);
  CHECK(attribute(budget, dict, "a").integer() == 1);
  CHECK(item(budget, dict, Value("keys")).is(Kind::callable));
  CHECK(attribute(budget, dict, "b").why_undefined() == "'dict object' has no attribute 'b'");
}

TEST_CASE("an undefined value has no attributes", "[text][jinja_access]") {
  CHECK_THROWS_WITH(attribute(budget, Value::undefined("'x' is undefined"), "y"), "'x' is undefined");
  CHECK_THROWS_AS(item(budget, Value(), number(0)), Error);
}

TEST_CASE("indices count from both ends and by code points", "[text][jinja_access]") {
  const Value list = Value::sequence({number(7), number(8)});
  CHECK(item(budget, list, number(-1)).integer() == 8);
  CHECK(item(budget, list, number(2)).is(Kind::undefined));
  CHECK(item(budget, list, Value(INT64_MIN)).is(Kind::undefined));
  CHECK(item(budget,
             Value("\xC3\xA4"
                   "b"),
             number(0))
            .text() == "\xC3\xA4");
  CHECK(item(budget, Value("ab"), number(2)).is(Kind::undefined));
  CHECK(item(budget, Value::sequence({number(1)}, Flavor::generator), number(0)).is(Kind::undefined));
}

TEST_CASE("methods that would change a value are refused with the reason", "[text][jinja_access]") {
  CHECK(attribute(budget, Value::sequence({}), "append").why_undefined().find("would change a list") !=
        std::string::npos);
  CHECK(attribute(budget, Value::mapping({{Value("pop"), number(1)}}), "pop").is(Kind::undefined));
  CHECK(attribute(budget, Value("s"), "append").is(Kind::undefined));
}

TEST_CASE("iteration visits items, keys and code points", "[text][jinja_access]") {
  CHECK(iterate(budget, Value("\xC3\xA4"
                              "b"))
            .items()
            .size() == 2);
  CHECK(iterate(budget, Value::mapping({{Value("k"), number(1)}})).items()[0].text() == "k");
  CHECK(iterate(budget, Value()).items().empty());
  CHECK_THROWS_AS(iterate(budget, number(1)), Error);
  CHECK_THROWS_AS(iterate(budget, Value(None{})), Error);
}

TEST_CASE("lengths are of what has one", "[text][jinja_access]") {
  CHECK(length(budget, Value("\xC3\xA4"
                             "b")) == 2);
  CHECK(length(budget, Value()) == 0);
  CHECK_THROWS_AS(length(budget, number(1)), Error);
  CHECK_THROWS_AS(length(budget, Value::sequence({}, Flavor::generator)), Error);
}
