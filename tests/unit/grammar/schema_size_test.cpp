// SPDX-License-Identifier: Apache-2.0
#include <tulle/grammar/schema_size.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/grammar/json_schema.hpp>

namespace {

using namespace tulle;

TEST_CASE("a schema has at most so many values and names of properties", "[grammar][schema_size]") {
  const auto values = [](std::size_t count, std::size_t bytes) {
    Json listed = Json::array();
    for (std::size_t i = 0; i < count; ++i) {
      std::string value = std::to_string(i);
      listed.push_back(value + std::string(bytes - value.size(), 'x'));
    }
    return listed;
  };
  const auto properties = [&](std::size_t count, std::size_t bytes) {
    Json named = Json::object();
    for (const Json& name : values(count, bytes)) named[name.get<std::string>()] = {{"type", "null"}};
    return Json{{"type", "object"}, {"properties", named}, {"required", values(count, bytes)}};
  };
  const auto refused = [](const Json& schema) {
    try {
      (void)understood_schema(schema.dump());
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::invalid_argument);
      return std::string_view(error.what()).find("is too large") != std::string_view::npos;
    }
    return false;
  };
  CHECK_FALSE(refused({{"enum", values(5000, 5)}}));
  CHECK(refused({{"enum", values(5001, 5)}}));
  CHECK_FALSE(refused({{"enum", values(1000, 118)}}));  // with their quotes
  CHECK(refused({{"enum", values(1000, 119)}}));
  CHECK_FALSE(refused(properties(1000, 120)));  // a name that is required, too, counts once
  CHECK(refused(properties(1000, 121)));
  Json optional = properties(501, 5);
  optional["required"] = {"0xxxx"};
  CHECK_NOTHROW(understood_schema(optional.dump()));
  optional.erase("required");
  CHECK_THROWS_WITH(understood_schema(optional.dump()), Catch::Matchers::ContainsSubstring("may be left out"));
  CHECK(refused({{"const", std::string(120'000, 'x')}}));
  CHECK(refused({{"type", "object"}, {"required", values(5001, 5)}}));
  Json together = properties(100, 100);  // of all parts of a schema
  together["properties"]["other"] = {{"enum", values(4900, 5)}};
  CHECK(refused(together));
}

}  // namespace
