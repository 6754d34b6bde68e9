// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/comparison.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};
Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("numbers are equal by value across their types, other types never", "[text][jinja_comparison]") {
  CHECK(equal(budget, number(1), Value(1.0)));
  CHECK(equal(budget, Value(true), number(1)));
  CHECK_FALSE(equal(budget, Value("1"), number(1)));
  CHECK_FALSE(equal(budget, Value(None{}), Value()));
  CHECK_FALSE(equal(budget, Value::sequence({}), Value::sequence({}, Flavor::tuple)));
  CHECK(equal(budget, Value(INT64_MAX), Value(INT64_MAX)));
  CHECK_FALSE(equal(budget, Value(INT64_MAX), Value(INT64_MAX - 1)));
}

TEST_CASE("dicts are equal in any order", "[text][jinja_comparison]") {
  const Value ab = Value::mapping({{Value("a"), number(1)}, {Value("b"), number(2)}});
  CHECK(equal(budget, ab, Value::mapping({{Value("b"), number(2)}, {Value("a"), number(1)}})));
  CHECK_FALSE(equal(budget, ab, Value::mapping({{Value("b"), number(2)}, {Value("a"), number(3)}})));
  CHECK_FALSE(equal(budget, ab, Value::mapping({{Value("a"), number(1)}, {Value("c"), number(2)}})));
}

TEST_CASE("order is Python's, and mixed types have none", "[text][jinja_comparison]") {
  CHECK(compare(budget, Value("Z"), Value("a")) < 0);
  CHECK(compare(budget, number(2), Value(1.5)) > 0);
  CHECK(compare(budget, Value::sequence({number(1), number(2)}), Value::sequence({number(1), number(3)})) < 0);
  CHECK(compare(budget, Value::sequence({number(1)}), Value::sequence({number(1), number(0)})) < 0);
  CHECK_THROWS_AS(compare(budget, number(1), Value("a")), Error);
  CHECK_THROWS_AS(compare(budget, Value::mapping({}), Value::mapping({})), Error);
  CHECK_THROWS_AS(compare(budget, Value(), number(1)), Error);
}

TEST_CASE("membership looks at keys, items and parts of strings", "[text][jinja_comparison]") {
  CHECK(contains(budget, Value::mapping({{Value("a"), number(1)}}), Value("a")));
  CHECK(contains(budget, Value::sequence({Value(1.0)}), number(1)));
  CHECK(contains(budget, Value("abc"), Value("bc")));
  CHECK_FALSE(contains(budget, Value(), Value("a")));
  CHECK_THROWS_AS(contains(budget, Value("abc"), number(1)), Error);
  CHECK_THROWS_AS(contains(budget, number(1), number(1)), Error);
}

TEST_CASE("comparing shared trees ends, however often their parts repeat", "[text][jinja_comparison]") {
  Value a = Value::sequence({number(1)}), b = Value::sequence({number(1)});
  for (int i = 0; i < 60; ++i) {
    a = Value::sequence({a, a});
    b = Value::sequence({b, b});
  }
  Budget small(Limits{.steps = 10'000, .bytes = 100, .levels = 500});
  CHECK_THROWS_AS(equal(small, a, b), Error);
}

TEST_CASE("containers are the same only as one object, scalars by value and type", "[text][jinja_comparison]") {
  const Value list = Value::sequence({});
  CHECK(same(list, Value(list)));
  CHECK_FALSE(same(list, Value::sequence({})));
  CHECK(same(Value("a"), Value("a")));
  CHECK_FALSE(same(Value(true), Value(std::int64_t{1})));
}
