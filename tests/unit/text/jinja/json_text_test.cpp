// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/json_text.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

std::string json(const Value& value, JsonStyle style = {}) {
  Budget budget{Limits{}};
  return JsonWriter(budget, std::move(style)).write(value);
}

JsonStyle sorted_keys() {
  JsonStyle style;
  style.sorted = true;
  return style;
}

JsonStyle ascii_only() {
  JsonStyle style;
  style.ascii = true;
  return style;
}

JsonStyle indented() {
  JsonStyle style;
  style.lines = true;
  style.indent = std::string("  ");
  style.item_separator = std::string(",");
  return style;
}

}  // namespace

TEST_CASE("JSON is written with Python's separators and without HTML escapes", "[text][jinja_json_text]") {
  const Value value = Value::mapping({{Value("b"), Value::sequence({std::int64_t{1}, 2.5, None{}, true})},
                                      {Value("a"), Value("<&> \"\\\n\x01\xC3\xA9")}});
  CHECK(json(value) == "{\"b\": [1, 2.5, null, true], \"a\": \"<&> \\\"\\\\\\n\\u0001\xC3\xA9\"}");
  CHECK(json(Value("")) == "\"\"");
  CHECK(json(value, sorted_keys()).starts_with("{\"a\""));
}

TEST_CASE("an indent puts every item on its line", "[text][jinja_json_text]") {
  const Value value = Value::mapping({{Value("k"), Value::sequence({std::int64_t{1}, Value::sequence({})})}});
  CHECK(json(value, indented()) == "{\n  \"k\": [\n    1,\n    []\n  ]\n}");
  CHECK(json(Value::mapping({}), indented()) == "{}");
}

TEST_CASE("ASCII output escapes everything else, with surrogate pairs", "[text][jinja_json_text]") {
  CHECK(json(Value("\xC3\xA9\xF0\x9F\x98\x80"), ascii_only()) == "\"\\u00e9\\ud83d\\ude00\"");
}

TEST_CASE("keys become strings", "[text][jinja_json_text]") {
  CHECK(json(Value::mapping({{std::int64_t{1}, None{}}, {true, None{}}, {None{}, None{}}, {1.5, None{}}})) ==
        "{\"1\": null, \"true\": null, \"null\": null, \"1.5\": null}");
}

TEST_CASE("what JSON cannot say is refused", "[text][jinja_json_text]") {
  CHECK_THROWS_AS(json(Value()), Error);
  CHECK_THROWS_AS(json(Value::callable("f", {})), Error);
  CHECK_THROWS_AS(json(Value::sequence({}, Flavor::generator)), Error);
  CHECK_THROWS_AS(json(Value::mapping({{Value::sequence({}, Flavor::tuple), None{}}})), Error);
}
