// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/arithmetic.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;
using tulle::Error;

namespace {

Budget budget{Limits{}};
Value number(std::int64_t value) {
  return value;
}
std::int64_t integer(std::string_view sign, std::int64_t a, std::int64_t b) {
  return arithmetic(sign, a, b).integer();
}

}  // namespace

TEST_CASE("division and remainder round down", "[text][jinja_arithmetic]") {
  CHECK(integer("//", -7, 2) == -4);
  CHECK(integer("%", -7, 2) == 1);
  CHECK(integer("%", 7, -2) == -1);
  CHECK(integer("//", 7, -2) == -4);
  CHECK(arithmetic("%", -7.5, 2.0).real() == 0.5);
  CHECK(arithmetic("//", 7.5, -2.0).real() == -4.0);
  CHECK(arithmetic("//", 1.0, 0.1).real() == 9.0);
  CHECK(arithmetic("/", number(6), number(3)).is(Kind::real));
}

TEST_CASE("integers beyond 64 bits and divisions by zero are refused", "[text][jinja_arithmetic]") {
  CHECK_THROWS_AS(add(budget, Value(INT64_MAX), number(1)), Error);
  CHECK_THROWS_AS(multiply(budget, Value(INT64_MAX), number(2)), Error);
  CHECK_THROWS_AS(arithmetic("-", Value(INT64_MIN), number(1)), Error);
  CHECK_THROWS_AS(arithmetic("//", Value(INT64_MIN), number(-1)), Error);
  CHECK(integer("%", INT64_MIN, -1) == 0);
  for (const char* sign : {"/", "//", "%"}) {
    CHECK_THROWS_AS(arithmetic(sign, number(1), number(0)), Error);
    CHECK_THROWS_AS(arithmetic(sign, number(1), Value(0.0)), Error);
  }
}

TEST_CASE("strings and lists are added and repeated", "[text][jinja_arithmetic]") {
  CHECK(add(budget, Value("a"), Value("b")).text() == "ab");
  CHECK(add(budget, Value::sequence({number(1)}), Value::sequence({number(2)})).items().size() == 2);
  CHECK(multiply(budget, Value("ab"), number(2)).text() == "abab");
  CHECK(multiply(budget, number(-1), Value("ab")).text().empty());
  CHECK(multiply(budget, Value::sequence({}), Value(INT64_MAX)).items().empty());
  CHECK_THROWS_AS(multiply(budget, Value("ab"), Value(INT64_MAX)), Error);
}

TEST_CASE("what is added to markup is escaped", "[text][jinja_arithmetic]") {
  CHECK(add(budget, Value::markup("<a>"), Value("<")).text() == "<a>&lt;");
  CHECK(add(budget, Value("<"), Value::markup("<a>")).text() == "&lt;<a>");
  CHECK(add(budget, Value::markup("<"), Value::markup(">")).text() == "<>");
  CHECK(multiply(budget, Value::markup("<"), number(2)).is_markup());
}

TEST_CASE("operands that do not fit are refused", "[text][jinja_arithmetic]") {
  CHECK_THROWS_AS(add(budget, Value("a"), number(1)), Error);
  CHECK_THROWS_AS(add(budget, Value::sequence({}), Value::sequence({}, Flavor::tuple)), Error);
  CHECK_THROWS_AS(multiply(budget, Value("a"), Value("b")), Error);
  CHECK_THROWS_AS(arithmetic("-", Value("a"), Value("b")), Error);
  CHECK_THROWS_WITH(add(budget, Value::undefined("'x' is undefined"), number(1)), "'x' is undefined");
}
