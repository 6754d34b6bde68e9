// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/formatting.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value tuple(Items items) {
  return Value::sequence(std::move(items), Flavor::tuple);
}

}  // namespace

TEST_CASE("percent formats fill values in", "[text][jinja_formatting]") {
  CHECK(format_percent(budget, "%s-%d-%%", tuple({Value("a"), std::int64_t{-42}})) == "a--42-%");
  CHECK(format_percent(budget, "%(k)s", Value::mapping({{Value("k"), Value("v")}})) == "v");
}

TEST_CASE("brace formats fill values in", "[text][jinja_formatting]") {
  const Arguments arguments{{Value("a"), 1.239}, {{"x", Value(std::int64_t{7})}}};
  CHECK(format_braces(budget, "{}{}", arguments) == "a1.239");
  CHECK(format_braces(budget, "{1}{0}{x}{{}}", arguments) == "1.239a7{}");
}

TEST_CASE("formats that do not fit their values are refused", "[text][jinja_formatting]") {
  for (const char* wrong : {"%", "%s%s%s", "%d", "%(k)s", "%(", "%q", "%5s", "%r", "%.2f", "x"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(format_percent(budget, wrong, tuple({Value("a"), Value("b")})), Error);
  }
  for (const char* wrong : {"{", "}", "{0", "{5}", "{name}", "{:5}", "{0:d}", "{0.a}", "{!r}", "{-1}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(format_braces(budget, wrong, Arguments{{Value("a")}, {}}), Error);
  }
  CHECK_THROWS_AS(format_percent(budget, "%d", Value(1e300)), Error);
}
