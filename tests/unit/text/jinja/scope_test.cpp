// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/scope.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

TEST_CASE("names are looked up in the parents and set in the scope itself", "[text][jinja_scope]") {
  Scope outer(nullptr), inner(&outer);
  outer.set("a", Value("outer"));
  CHECK(inner.find("a")->text() == "outer");
  inner.set("a", Value("inner"));
  inner.set("a", Value("again"));
  CHECK(inner.find("a")->text() == "again");
  CHECK(outer.find("a")->text() == "outer");
  inner.clear();
  CHECK(inner.find("a")->text() == "outer");
  CHECK(inner.find("b") == nullptr);
}

TEST_CASE("what an arena made stays in place, on a budget", "[text][jinja_scope]") {
  Budget budget(Limits{.steps = 1, .bytes = 4096, .levels = 1});
  Arena arena(budget);
  Namespace& first = arena.name_space();
  first.attributes.emplace_back("self", Value(&first));  // a circle that must not leak
  const auto fill = [&] {
    for (int i = 0; i < 1000; ++i) arena.scope(nullptr).set("space", Value(&first));
  };
  CHECK_THROWS_AS(fill(), Error);
  CHECK(first.attributes.size() == 1);
}
