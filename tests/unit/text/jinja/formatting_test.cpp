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
  CHECK(format_percent(budget, "%s-%r-%%", tuple({Value("a"), Value("a")})) == "a-'a'-%");
  CHECK(format_percent(budget, "%5.2f|%-5s|%05d|%x|%+d",
                       tuple({3.14159, Value("ab"), std::int64_t{-42}, std::int64_t{255}, std::int64_t{3}})) ==
        " 3.14|ab   |-0042|ff|+3");
  CHECK(format_percent(budget, "%(k)s", Value::mapping({{Value("k"), Value("v")}})) == "v");
  CHECK(format_percent(budget, "%.2s", Value("\xC3\xA4\xC3\xA4\xC3\xA4")) == "\xC3\xA4\xC3\xA4");
}

TEST_CASE("brace formats fill values in", "[text][jinja_formatting]") {
  const Arguments arguments{{Value("a"), 1.239}, {{"x", Value(std::int64_t{7})}}};
  CHECK(format_braces(budget, "{}{}", arguments) == "a1.239");
  CHECK(format_braces(budget, "{1:.2f}{0}{x:03d}{{}}", arguments) == "1.24a007{}");
  CHECK(format_braces(budget, "{0:>3}|{0:<3}|{0:3}", arguments) == "  a|a  |a  ");
}

TEST_CASE("formats that do not fit their values are refused", "[text][jinja_formatting]") {
  for (const char* wrong : {"%", "%s%s%s", "%d", "%(k)s", "%(", "%q", "%9999d", "%.9999f", "x"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(format_percent(budget, wrong, tuple({Value("a"), Value("b")})), Error);
  }
  for (const char* wrong : {"{", "}", "{0", "{5}", "{name}", "{:q}", "{:9999}", "{0:d}", "{:dd}", "{-1}"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(format_braces(budget, wrong, Arguments{{Value("a")}, {}}), Error);
  }
  CHECK_THROWS_AS(format_percent(budget, "%d", Value(1e300)), Error);
}
