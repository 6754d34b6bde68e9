// SPDX-License-Identifier: Apache-2.0
#include <tulle/grammar/schema_place.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/grammar/json_schema.hpp>

namespace {

using namespace tulle;

TEST_CASE("a place in a schema may be named with percent signs", "[grammar][schema_place]") {
  for (const auto& [name, uri] : std::vector<std::pair<std::string, std::string>>{
           {"a%b", "a%25b"}, {"a%b", "a%b"}, {"a b/\u00e9", "a%20b~1%C3%A9"}, {"a%25b", "a%2525b"}, {"%", "%"}}) {
    CAPTURE(uri);
    Json schema{{"type", "object"}};
    schema["properties"] = {{name, {{"type", "null"}}}, {"c", {{"$ref", "#/properties/" + uri}}}};
    CHECK_NOTHROW(understood_schema(schema.dump()));
  }
  const std::string missing = R"({"properties": {"a%25b": {}, "c": {"$ref": "#/properties/a%25b"}}})";
  CHECK_THROWS_WITH(understood_schema(missing), Catch::Matchers::ContainsSubstring("is not there"));
}

}  // namespace
