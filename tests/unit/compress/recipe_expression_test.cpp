// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/recipe_expression.hpp>

#include <string>
#include <string_view>

#include <catch2/catch_all.hpp>

#include "unit/compress/tiny_modules.hpp"

using namespace tulle;

namespace {

double value(std::string text) {
  const auto lookup = [](std::string_view name) { return name == "two" ? 2.0 : 10.0; };
  text += ")";
  return detail::RecipeExpression(text, "r.yaml", 3, lookup).evaluate();
}

std::string error(const std::string& text) {
  return error_of([&] { value(text); });
}

}  // namespace

TEST_CASE("arithmetic has Python's precedence", "[compress][recipe_expression]") {
  CHECK(value("1 + 2 * 3") == 7);
  CHECK(value("(1 + 2) * 3") == 9);
  CHECK(value("7 // 2 - 7 % 4") == 0);
  CHECK(value("-7 // 2") == -4);
  CHECK(value("-7 % 4") == 1);
  CHECK(value("7 % -4") == -1);
  CHECK(value("1 // 0.1") == 9);  // 0.1 is a little more than a tenth
  CHECK(value("-2 ** 2") == -4);
  CHECK(value("2 ** -1") == 0.5);
  CHECK(value("1 / 4") == 0.25);
  CHECK(value("--3") == 3);
  CHECK(value("1e-2 + .5") == 0.51);
  CHECK(value("two * ten") == 20);
  CHECK(value("$two + <ten>") == 12);
}

TEST_CASE("the length ends at the closing parenthesis", "[compress][recipe_expression]") {
  const auto lookup = [](std::string_view) { return 0.0; };
  detail::RecipeExpression expression("(1 + 2)) tail", "r", 1, lookup);
  CHECK(expression.evaluate() == 3);
  CHECK(expression.length() == 8);
}

TEST_CASE("what is no arithmetic is malformed", "[compress][recipe_expression]") {
  for (const char* text : {"", "1 +", "1 2", "(1", "1 / 0", "1 // 0", "1 % 0", "10 ** 10 ** 10", "1e308 * 10", "<two",
                           "<1>", "import os", "a.b", "two(1)", "'x'", "1e999"}) {
    INFO(text);
    CHECK(error(text).starts_with("malformed: r.yaml, line 3: eval(...): "));
  }
  CHECK(error(std::string(100000, '(')).find("nested deeper than 50") != std::string::npos);
  CHECK(value(std::string(100000, '-') + "1") == 1);
}

TEST_CASE("numbers are written as short as they can be read back", "[compress][recipe_expression]") {
  CHECK(detail::number_text(0.5) == "0.5");
  CHECK(detail::number_text(128) == "128");
  CHECK(detail::number_text(0.1 + 0.2) == "0.30000000000000004");
}
