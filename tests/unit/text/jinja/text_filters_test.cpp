// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/text_filters.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value filter(const Value& input, std::string_view name, Items positional = {}) {
  const Arguments arguments{std::move(positional), {}};
  for (const NamedFilter& candidate : detail::text_filters) {
    if (candidate.name == name) return candidate.function(budget, input, arguments);
  }
  FAIL("no such filter");
  return {};
}

Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("text filters take anything as text", "[text][jinja_text_filters]") {
  CHECK(filter(Value(None{}), "upper").text() == "NONE");
  CHECK(filter(Value(), "trim").text().empty());
  CHECK(filter(number(55), "replace", {number(5), number(6)}).text() == "66");
  CHECK(filter(Value("xxaxx"), "trim", {Value("x")}).text() == "a");
  CHECK(filter(Value("<a href=\"x\">&'"), "e").text() == "&lt;a href=&#34;x&#34;&gt;&amp;&#39;");
}

TEST_CASE("safe and escape make markup, once", "[text][jinja_text_filters]") {
  CHECK(filter(Value("<"), "safe").is_markup());
  const Value escaped_once = filter(Value("<"), "e");
  CHECK(filter(escaped_once, "e").text() == "&lt;");
}

TEST_CASE("indent leaves the first and empty lines unchanged by default", "[text][jinja_text_filters]") {
  CHECK(filter(Value("a\n\nb\n"), "indent", {number(2)}).text() == "a\n\n  b\n");
  CHECK(filter(Value("a\n\nb"), "indent", {Value("> "), true, true}).text() == "> a\n> \n> b");
}

TEST_CASE("widths beyond the budget are refused", "[text][jinja_text_filters]") {
  CHECK_THROWS_AS(filter(Value("ab"), "indent", {Value(INT64_MAX)}), Error);
  CHECK_THROWS_AS(filter(Value::sequence({number(1)}), "tojson", {false, Value(INT64_MAX)}), Error);
}

TEST_CASE("tojson refuses separators that are not two strings", "[text][jinja_text_filters]") {
  CHECK(filter(Value("a"), "tojson").text() == "\"a\"");
  CHECK_THROWS_AS(filter(Value("a"), "tojson", {false, None{}, Value(",")}), Error);
}
