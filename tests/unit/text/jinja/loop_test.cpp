// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/loop.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

TEST_CASE("a loop knows its place", "[text][jinja_loop]") {
  Loop loop;
  loop.items = {std::int64_t{5}, std::int64_t{6}};
  loop.index = 1;
  CHECK(loop_attribute(loop, "index").integer() == 2);
  CHECK(loop_attribute(loop, "index0").integer() == 1);
  CHECK(loop_attribute(loop, "revindex").integer() == 1);
  CHECK(loop_attribute(loop, "length").integer() == 2);
  CHECK_FALSE(loop_attribute(loop, "first").boolean());
  CHECK(loop_attribute(loop, "last").boolean());
  CHECK(loop_attribute(loop, "previtem").integer() == 5);
  CHECK(loop_attribute(loop, "nextitem").is(Kind::undefined));
  for (const char* none : {"nothing", "depth", "changed"}) CHECK_THROWS_AS(loop_attribute(loop, none), Error);
}

TEST_CASE("a loop looks ahead no further than it is asked to", "[text][jinja_loop]") {
  Loop loop;
  loop.items = {std::int64_t{0}};
  loop.pull = [&] {
    if (loop.items.size() < 5) return loop.items.emplace_back(static_cast<std::int64_t>(loop.items.size())), true;
    return false;
  };
  CHECK(loop_attribute(loop, "first").boolean());
  CHECK(loop.items.size() == 1);
  CHECK_FALSE(loop_attribute(loop, "last").boolean());
  CHECK(loop_attribute(loop, "nextitem").integer() == 1);
  CHECK(loop.items.size() == 2);
  CHECK(loop_attribute(loop, "revindex0").integer() == 4);
  CHECK(loop.items.size() == 5);
}

TEST_CASE("cycle goes round", "[text][jinja_loop]") {
  Budget budget{Limits{}};
  Loop loop;
  loop.items = {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}};
  loop.index = 2;
  const Value cycle = loop_attribute(loop, "cycle");
  CHECK(cycle.callable().function(budget, {{Value("a"), Value("b")}, {}}).text() == "a");
  CHECK_THROWS_AS(cycle.callable().function(budget, {}), Error);
}
