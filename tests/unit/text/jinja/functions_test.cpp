// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/functions.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

struct World {
  Budget budget{Limits{}};
  Arena arena{budget};
  Scope scope{nullptr};

  World() {
    define_functions(scope, arena, [] {
      std::tm time{};
      time.tm_year = 126, time.tm_mon = 10, time.tm_mday = 1, time.tm_wday = 0, time.tm_hour = 9, time.tm_min = 5;
      return time;
    });
  }

  Value call(const char* name, Items positional = {}, std::vector<std::pair<std::string, Value>> named = {}) {
    return scope.find(name)->callable().function(budget, Arguments{std::move(positional), std::move(named)});
  }
};

Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("range counts up and down, up to the sandbox's length", "[text][jinja_functions]") {
  World world;
  CHECK(world.call("range", {number(3)}).items().size() == 3);
  CHECK(world.call("range", {number(5), number(0), number(-2)}).items()[2].integer() == 1);
  CHECK(world.call("range", {number(3), number(1)}).items().empty());
  CHECK(world.call("range", {number(0), Value(INT64_MAX), Value(INT64_MAX - 1)}).items().size() == 2);
  CHECK_THROWS_AS(world.call("range", {number(100'001)}), Error);
  CHECK_THROWS_AS(world.call("range", {number(0), number(1), number(0)}), Error);
  CHECK_THROWS_AS(world.call("range"), Error);
}

TEST_CASE("namespace and dict take a dict and names", "[text][jinja_functions]") {
  World world;
  const Value base = Value::mapping({{Value("a"), number(1)}});
  const Value space = world.call("namespace", {base}, {{"a", number(2)}, {"b", number(3)}});
  CHECK(attribute(world.budget, space, "a").integer() == 2);
  CHECK(attribute(world.budget, space, "b").integer() == 3);
  CHECK(world.call("dict", {}, {{"x", number(1)}}).entries().size() == 1);
  CHECK_THROWS_AS(world.call("dict", {number(1)}), Error);
}

TEST_CASE("raise_exception throws the template's own words", "[text][jinja_functions]") {
  World world;
  CHECK_THROWS_AS(world.call("raise_exception", {Value("no")}), RaisedError);
  CHECK_THROWS_WITH(world.call("raise_exception", {Value("no")}), "no");
}

TEST_CASE("time is formatted by known directives only", "[text][jinja_functions]") {
  World world;
  CHECK(world.call("strftime_now", {Value("%d %b %Y %-d %H:%M %% %Q %")}).text() == "01 Nov 2026 1 09:05 % %Q %");
  CHECK(world.call("strftime_now", {Value("[%Z%z] %f %n%t%C")}).text() == "[] 000000 \n\t20");
  CHECK(world.call("strftime_now", {Value("%999999999d")}).text() == "%999999999d");
  CHECK(local_time().tm_year >= 120);
}
