// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/arguments.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

TEST_CASE("arguments are bound by position and by name", "[text][jinja_arguments]") {
  const Arguments arguments{{Value(std::int64_t{4})}, {{"blank", Value(true)}}};
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  CHECK(bound.integer(0, 9) == 4);
  CHECK_FALSE(bound.has(1));
  CHECK(bound.truth(1, true));
  CHECK(bound.truth(2, false));
  CHECK(bound.text(1, "fallback") == "fallback");
  CHECK(bound.value(1, Value("d")).text() == "d");
}

TEST_CASE("wrong arguments are refused with the function's name", "[text][jinja_arguments]") {
  using Catch::Matchers::ContainsSubstring;
  using Catch::Matchers::MessageMatches;
  const Arguments two{{Value("a"), Value("b")}, {}};
  CHECK_THROWS_MATCHES(Bound("f", two, {"x"}), Error, MessageMatches(ContainsSubstring("f() takes at most 1")));
  const Arguments unknown{{}, {{"q", Value()}}};
  CHECK_THROWS_MATCHES(Bound("f", unknown, {"x"}), Error, MessageMatches(ContainsSubstring("'q'")));
  const Arguments twice{{Value("a")}, {{"x", Value()}}};
  CHECK_THROWS_MATCHES(Bound("f", twice, {"x"}), Error, MessageMatches(ContainsSubstring("two values")));
  const Bound bound("f", two, {"x", "y", "z"});
  CHECK_THROWS_MATCHES(bound.integer(0, 1), Error, MessageMatches(ContainsSubstring("an integer as 'x', not str")));
  CHECK_THROWS_MATCHES(bound.required(2), Error, MessageMatches(ContainsSubstring("needs the argument 'z'")));
}
