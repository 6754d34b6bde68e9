// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/number_filters.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

Value filter(const Value& input, std::string_view name, Items positional = {}) {
  const Arguments arguments{std::move(positional), {}};
  for (const NamedFilter& candidate : detail::number_filters) {
    if (candidate.name == name) return candidate.function(budget, input, arguments);
  }
  FAIL("no such filter");
  return {};
}

Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("int and float read what they can and fall back otherwise", "[text][jinja_number_filters]") {
  CHECK(filter(Value(" 12 "), "int").integer() == 12);
  CHECK(filter(Value("3.9"), "int").integer() == 3);
  CHECK(filter(Value(-3.9), "int").integer() == -3);
  CHECK(filter(Value("x"), "int", {number(9)}).integer() == 9);
  CHECK(filter(Value(None{}), "int").integer() == 0);
  CHECK(filter(Value("x"), "float").real() == 0.0);
  CHECK(filter(Value("1e3"), "float").real() == 1000.0);
}

TEST_CASE("numbers that do not fit are refused", "[text][jinja_number_filters]") {
  CHECK_THROWS_AS(filter(Value(1e300), "int"), Error);
  CHECK_THROWS_AS(filter(Value(INT64_MIN), "abs"), Error);
  CHECK_THROWS_AS(filter(Value("a"), "abs"), Error);
  CHECK_THROWS_AS(filter(Value(), "int"), Error);
}
