// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/value.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

TEST_CASE("truth is Python's", "[text][jinja_value]") {
  for (const Value& value : {Value(), Value(None{}), Value(false), Value(std::int64_t{0}), Value(0.0), Value(""),
                             Value::sequence({}), Value::mapping({})}) {
    CHECK_FALSE(value.truth());
  }
  for (const Value& value : {Value(true), Value(std::int64_t{-1}), Value(0.5), Value("0"), Value::sequence({Value()}),
                             Value::mapping({{Value("k"), Value()}}), Value::sequence({}, Flavor::generator)}) {
    CHECK(value.truth());
  }
}

TEST_CASE("types have Python's names", "[text][jinja_value]") {
  CHECK(Value(None{}).type_name() == "NoneType");
  CHECK(Value(true).type_name() == "bool");
  CHECK(Value(std::int64_t{1}).type_name() == "int");
  CHECK(Value(1.0).type_name() == "float");
  CHECK(Value("").type_name() == "str");
  CHECK(Value::sequence({}, Flavor::tuple).type_name() == "tuple");
  CHECK(Value::mapping({}).type_name() == "dict");
}

TEST_CASE("a bool is an integer, and an integer a number", "[text][jinja_value]") {
  CHECK(Value(true).is_integral());
  CHECK(Value(true).integer() == 1);
  CHECK(Value(std::int64_t{3}).real() == 3.0);
  CHECK_FALSE(Value(1.0).is_integral());
  CHECK_FALSE(Value("1").is_number());
}

TEST_CASE("nesting is counted and bounded, through bound methods too", "[text][jinja_value]") {
  Value value = Value::sequence({});
  CHECK(value.depth() == 1);
  for (int i = 1; i < Limits::value_levels; ++i) {
    value = i % 2 == 0 ? Value::sequence({value}) : Value::mapping({{Value("k"), value}});
  }
  CHECK(value.depth() == Limits::value_levels);
  CHECK_THROWS_AS(Value::sequence({value}), Error);
  CHECK_THROWS_AS(Value::callable("count", {}, value), Error);
}

TEST_CASE("an undefined value tells why", "[text][jinja_value]") {
  CHECK(Value::undefined("'x' is undefined").why_undefined() == "'x' is undefined");
  CHECK_FALSE(Value().why_undefined().empty());
}
