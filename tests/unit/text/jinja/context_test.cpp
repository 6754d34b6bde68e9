// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/context.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

template <class AnyJson>
Value value_of(const AnyJson& json) {
  std::size_t bytes = 0;
  return from_json(json, bytes);
}

}  // namespace

TEST_CASE("JSON becomes the values Python has for it", "[text][jinja_context]") {
  const Value value = value_of(tulle::Json::parse(R"({"a": [null, true, -1, 2.5, "s"]})"));
  const Items& items = value.entries().front().second.items();
  CHECK(items[0].is(Kind::none));
  CHECK(items[1].is(Kind::boolean));
  CHECK(items[2].integer() == -1);
  CHECK(items[3].real() == 2.5);
  CHECK(items[4].text() == "s");
}

TEST_CASE("integers up to 63 bits stay exact, larger ones become floats", "[text][jinja_context]") {
  CHECK(value_of(tulle::Json(INT64_MAX)).integer() == INT64_MAX);
  CHECK(value_of(tulle::Json(UINT64_MAX)).is(Kind::real));
}

TEST_CASE("ordered JSON keeps its order", "[text][jinja_context]") {
  const auto json = nlohmann::ordered_json::parse(R"({"z": 1, "a": 2})");
  CHECK(value_of(json).entries().front().first.text() == "z");
}

TEST_CASE("the size of the value is counted", "[text][jinja_context]") {
  std::size_t small = 0, large = 0;
  from_json(tulle::Json("a"), small);
  from_json(tulle::Json(std::string(1000, 'a')), large);
  CHECK(large == small + 999);
}

TEST_CASE("what nests too deeply or is binary is refused", "[text][jinja_context]") {
  tulle::Json deep = tulle::Json::array();
  for (int i = 0; i < 5000; ++i) deep = tulle::Json::array({std::move(deep)});
  CHECK_THROWS_AS(value_of(deep), Error);
  CHECK_THROWS_AS(value_of(tulle::Json::binary({1, 2})), Error);
}
