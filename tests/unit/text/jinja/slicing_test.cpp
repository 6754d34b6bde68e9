// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/slicing.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};

std::string cut(const char* text, const Value& start, const Value& stop, const Value& step = None{}) {
  return slice(budget, Value(text), start, stop, step).text();
}

Value number(std::int64_t value) {
  return value;
}

}  // namespace

TEST_CASE("slices are Python's", "[text][jinja_slicing]") {
  const Value none = None{};
  CHECK(cut("abcdef", number(1), number(3)) == "bc");
  CHECK(cut("abcdef", number(-2), none) == "ef");
  CHECK(cut("abcdef", none, number(-2)) == "abcd");
  CHECK(cut("abcdef", none, none, number(2)) == "ace");
  CHECK(cut("abcdef", none, none, number(-1)) == "fedcba");
  CHECK(cut("abcdef", number(4), number(1), number(-2)) == "ec");
  CHECK(cut("abcdef", number(3), number(1)).empty());
  CHECK(cut("\xC3\xA4"
            "b\xE4\xB8\x96",
            number(0), number(1)) == "\xC3\xA4");
  CHECK(cut("\xC3\xA4"
            "b",
            none, none, number(-1)) == "b\xC3\xA4");
}

TEST_CASE("bounds far outside are clamped", "[text][jinja_slicing]") {
  const Value none = None{};
  CHECK(cut("abc", Value(INT64_MIN), Value(INT64_MAX)) == "abc");
  CHECK(cut("abc", Value(INT64_MAX), none).empty());
  CHECK(cut("abc", none, none, Value(INT64_MAX)) == "a");
  CHECK(cut("abc", none, none, Value(INT64_MIN)) == "c");
  CHECK(cut("", none, none, number(-1)).empty());
}

TEST_CASE("slices that make no sense are refused", "[text][jinja_slicing]") {
  const Value none = None{};
  CHECK_THROWS_AS(cut("abc", none, none, number(0)), Error);
  CHECK_THROWS_AS(cut("abc", Value("a"), none), Error);
  CHECK_THROWS_AS(cut("abc", none, none, Value(1.5)), Error);
  CHECK_THROWS_AS(slice(budget, Value(), none, none, none), Error);
  CHECK_THROWS_WITH(slice(budget, Value::mapping({}), none, none, none), "a value of type dict has no slices");
}

TEST_CASE("a path follows names and indices, with a fallback for what is missing", "[text][jinja_slicing]") {
  const Value value = Value::mapping({{Value("a"), Value::sequence({Value("x"), Value("y")})}});
  CHECK(follow(budget, value, Value("a.1")).text() == "y");
  CHECK(follow(budget, value, Value("b"), Value("d")).text() == "d");
  CHECK(follow(budget, value, Value("b")).is(Kind::undefined));
  CHECK(follow(budget, Value::sequence({number(4)}), number(0)).integer() == 4);
  CHECK_THROWS_AS(follow(budget, value, Value("b.c")), Error);
}
