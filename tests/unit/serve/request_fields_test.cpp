// SPDX-License-Identifier: Apache-2.0
#include <tulle/serve/request_fields.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <string>

using namespace tulle;
using namespace tulle::serve;

namespace {

/// The field that is refused, with status 400.
template <class Read>
std::string refused(Read&& read) {
  try {
    read();
  } catch (const ApiError& error) {
    CHECK(error.status() == 400);
    return error.param();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("Fields have the types and ranges that they must have", "[serve]") {
  const Json body{{"text", "a"},  {"count", 3},      {"negative", -1}, {"part", 1.5},
                  {"flag", true}, {"null", nullptr}, {"huge", 1e300},  {"list", {"a", "b"}}};
  const RequestFields fields(body);
  CHECK(fields.text("text", "") == "a");
  CHECK(fields.text("none", "b") == "b");
  CHECK(fields.text("null", "b") == "b");
  CHECK(fields.count("count", 0, 1, 3) == 3);
  CHECK(fields.number("part", 0, 0, 2) == 1.5f);
  CHECK(fields.boolean("flag", false));
  CHECK(fields.texts("list") == std::vector<std::string>{"a", "b"});
  CHECK(fields.texts("text") == std::vector<std::string>{"a"});
  CHECK(fields.seed("negative") == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(fields.seed("none"));
  for (const char* name : {"negative", "part", "flag", "text", "huge"}) {
    CHECK(refused([&] { (void)fields.count(name, 0, 0, 10); }) == name);
  }
  CHECK(refused([&] { (void)fields.count("count", 0, 4, 10); }) == "count");
  CHECK(refused([&] { (void)fields.number("part", 0, 0, 1); }) == "part");
  CHECK(refused([&] { (void)fields.number("huge", 0, 0, 1e308); }) == "huge");
  CHECK(refused([&] { (void)fields.text("count", ""); }) == "count");
  CHECK(refused([&] { (void)fields.boolean("count", true); }) == "count");
  CHECK(refused([&] { (void)fields.seed("part"); }) == "part");
}

TEST_CASE("A body is a JSON object that is not too deep", "[serve]") {
  CHECK(RequestFields::parse(R"({"a": [1]})")["a"][0] == 1);
  for (const std::string& body : {std::string(), std::string("{"), std::string("{\"a\": nan}"),
                                  std::string(60000, '[') + std::string(60000, ']')}) {
    CHECK(refused([&] { (void)RequestFields::parse(body); }).empty());
  }
  CHECK(refused([&] { (void)RequestFields(Json::array()); }).empty());
  try {
    (void)RequestFields::parse("{");
  } catch (const ApiError& error) {
    CHECK_THAT(error.what(), Catch::Matchers::StartsWith("the body of the request: not valid JSON") &&
                                 !Catch::Matchers::ContainsSubstring("file"));
  }
}
