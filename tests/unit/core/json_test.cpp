// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/json.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace tulle;

namespace {

std::optional<ErrorCode> code_of(std::string_view text) {
  try {
    parse_json(text, "f.json");
  } catch (const Error& error) {
    CHECK(std::string_view(error.what()).starts_with("f.json: "));
    return error.code();
  }
  return std::nullopt;
}

std::string nested(std::size_t depth) {
  return std::string(depth, '[') + std::string(depth, ']');
}

}  // namespace

TEST_CASE("JSON is parsed whole", "[core][json]") {
  CHECK(parse_json(R"({"a": [1, -2, 0.5, true, null, "é"]})", "f") == Json{{"a", {1, -2, 0.5, true, nullptr, "é"}}});
  CHECK(parse_json("  7 \n", "f") == 7);
}

TEST_CASE("what is no JSON is malformed", "[core][json]") {
  for (const char* text : {"", "{", "{}x", "{'a':1}", "[1,]", "nul", "// c\n1", "\"\xFF\"", "{\"a\" 1}", "NaN"}) {
    INFO(text);
    CHECK(code_of(text) == ErrorCode::malformed);
  }
}

TEST_CASE("a number that no double holds is malformed", "[core][json]") {
  CHECK(code_of(R"({"a": 1e999})") == ErrorCode::malformed);
}

TEST_CASE("a NUL byte is malformed, not the end of the text", "[core][json]") {
  CHECK(code_of(std::string_view("{}\0", 3)) == ErrorCode::malformed);
  CHECK(code_of(std::string_view("{\"a\": 1\0}", 9)) == ErrorCode::malformed);
}

TEST_CASE("a key that appears twice is malformed, at any depth", "[core][json]") {
  CHECK(code_of(R"({"a": 1, "a": 1})") == ErrorCode::malformed);
  CHECK(code_of(R"([{"b": {"a": 1, "c": 2, "a": 1}}])") == ErrorCode::malformed);
  CHECK(code_of(R"([{"a": 1}, {"a": {"a": 1}}])") == std::nullopt);
}

TEST_CASE("deep nesting is malformed, not a stack overflow", "[core][json]") {
  CHECK(code_of(nested(60)) == std::nullopt);
  CHECK(code_of(nested(70)) == ErrorCode::malformed);
  CHECK(code_of(nested(1000000)) == ErrorCode::malformed);
}

TEST_CASE("a value has its type, or its fallback where it is absent or null", "[core][json]") {
  const Json object{{"number", 3}, {"text", "x"}, {"nothing", nullptr}};
  CHECK(json_value(object, "number", 1, "f") == 3);
  CHECK(json_value(object, "absent", 1, "f") == 1);
  CHECK(json_value(object, "nothing", 1, "f") == 1);
  CHECK(json_value(object, "text", std::string(), "f") == "x");
  CHECK_THROWS_AS(json_value(object, "text", 1, "f"), Error);
  CHECK_THROWS_AS(json_value(object, "number", std::string(), "f"), Error);
  CHECK_THROWS_AS(json_value(object, "number", false, "f"), Error);
}

TEST_CASE("a value is never cut, wrapped or counted as another type", "[core][json]") {
  const Json object{
      {"real", 1.5}, {"big", std::uint64_t{1} << 40}, {"negative", -1}, {"flag", true}, {"list", {1, -1}}};
  CHECK(json_value(object, "real", 0.0, "f") == 1.5);
  CHECK(json_value(object, "big", 0.0f, "f") == 0x1p40f);
  CHECK(json_value(object, "list", std::vector<int>(), "f") == std::vector<int>{1, -1});
  CHECK_THROWS_AS(json_value(object, "real", 1, "f"), Error);
  CHECK_THROWS_AS(json_value(object, "big", 1, "f"), Error);
  CHECK_THROWS_AS(json_value(object, "negative", std::size_t{1}, "f"), Error);
  CHECK_THROWS_AS(json_value(object, "flag", 1, "f"), Error);
  CHECK_THROWS_AS(json_value(object, "list", std::vector<unsigned>(), "f"), Error);
}

TEST_CASE("an ordered document has the keys in their order, however many", "[core][json]") {
  std::string text = R"({"b": [1, {"z": null, "a": 0.5}], "a": true)";
  for (int key = 100'000; key > 0; --key) text += ", \"" + std::to_string(key) + "\": 0";
  const OrderedJson object = parse_ordered_json(text + "}", "f");
  CHECK(object.size() == 100'002);
  CHECK(object.front().dump() == R"([1,{"z":null,"a":0.5}])");
  CHECK(object.items().begin().key() == "b");
  CHECK_THROWS_AS(parse_ordered_json(R"({"a": 1, "a": 1})", "f"), Error);
}
