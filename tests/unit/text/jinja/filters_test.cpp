// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/filters.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value number(std::int64_t value) {
  return value;
}

Value row(const char* key, std::int64_t value) {
  return Value::mapping({{Value("k"), Value(key)}, {Value("v"), value}});
}

std::string shown(const Value& value) {
  return to_text(budget, Value::sequence(value.items()));
}

const Value rows = Value::sequence({row("x", 1), row("y", 2)});

}  // namespace

TEST_CASE("map takes an attribute or a filter", "[text][jinja_filters]") {
  CHECK(shown(apply_filter(budget, "map", rows, {{}, {{"attribute", Value("v")}}})) == "[1, 2]");
  CHECK(shown(apply_filter(budget, "map", rows, {{}, {{"attribute", Value("q")}, {"default", number(0)}}})) ==
        "[0, 0]");
  CHECK(shown(apply_filter(budget, "map", Value("ab"), {{Value("replace"), Value("a"), Value("c")}, {}})) ==
        "['c', 'b']");
  CHECK_THROWS_AS(apply_filter(budget, "map", rows, {}), Error);
  CHECK_THROWS_AS(apply_filter(budget, "map", rows, {{Value("nope")}, {}}), Error);
}

TEST_CASE("select and reject take a test, alone or on an attribute", "[text][jinja_filters]") {
  const Value numbers = Value::sequence({number(0), number(1), number(2)});
  CHECK(shown(apply_filter(budget, "select", numbers, {})) == "[1, 2]");
  CHECK(shown(apply_filter(budget, "reject", numbers, {{Value("gt"), number(1)}, {}})) == "[0, 1]");
  const Arguments by_key{{Value("k"), Value("equalto"), Value("y")}, {}};
  CHECK(apply_filter(budget, "selectattr", rows, by_key).items().size() == 1);
  CHECK(same(apply_filter(budget, "rejectattr", rows, by_key).items()[0], rows.items()[0]));
  CHECK_THROWS_AS(apply_filter(budget, "selectattr", rows, {}), Error);
  CHECK_THROWS_AS(apply_filter(budget, "select", numbers, {{number(1)}, {}}), Error);
}

TEST_CASE("what is false maps and selects to nothing, None too", "[text][jinja_filters]") {
  CHECK(apply_filter(budget, "map", Value(None{}), {{Value("upper")}, {}}).items().empty());
  CHECK(apply_filter(budget, "selectattr", Value(None{}), {{Value("k")}, {}}).items().empty());
  CHECK_THROWS_AS(apply_filter(budget, "map", number(1), {{Value("upper")}, {}}), Error);
}

TEST_CASE("filters keep markup where markupsafe keeps it", "[text][jinja_filters]") {
  CHECK(apply_filter(budget, "upper", Value::markup("<"), {}).is_markup());
  CHECK_FALSE(apply_filter(budget, "title", Value::markup("<"), {}).is_markup());
  CHECK(apply_filter(budget, "format", Value::markup("<%s"), {{Value("<")}, {}}).text() == "<&lt;");
}

TEST_CASE("default replaces what is undefined, and what is false where asked to", "[text][jinja_filters]") {
  CHECK(apply_filter(budget, "default", Value(), {{Value("d")}, {}}).text() == "d");
  CHECK(apply_filter(budget, "d", Value(""), {{Value("d")}, {}}).text().empty());
  CHECK(apply_filter(budget, "d", Value(""), {{Value("d"), true}, {}}).text() == "d");
  CHECK(apply_filter(budget, "d", Value(None{}), {{Value("d")}, {}}).is(Kind::none));
}

TEST_CASE("errors carry the name of the filter", "[text][jinja_filters]") {
  CHECK_THROWS_WITH(apply_filter(budget, "nope", Value(), {}), "there is no filter named 'nope'");
  CHECK_THROWS_WITH(apply_filter(budget, "length", number(1), {}),
                    "filter 'length': a value of type int has no length");
  for (const char* name : {"map", "join", "tojson", "abs"}) CHECK(find_filter(name) != nullptr);
}
