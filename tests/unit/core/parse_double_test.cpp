// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/parse_double.hpp>

#include <clocale>
#include <cmath>
#include <string>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("a text is a number as a whole or not at all", "[core]") {
  CHECK(parse_double("0.25") == 0.25);
  CHECK(parse_double("-1e-3") == -0.001);
  CHECK(std::isinf(parse_double("1e999").value()));
  for (const char* other : {"", "0,25", "1.5x", "x", "1.5 "}) CHECK_FALSE(parse_double(other));
}

TEST_CASE("numbers have a point in every locale", "[core]") {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  bool has_comma = false;
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, name) == nullptr) continue;
    has_comma = true;
    CAPTURE(name);
    CHECK(parse_double("0.25") == 0.25);
    CHECK_FALSE(parse_double("0,25"));
  }
  std::setlocale(LC_NUMERIC, before.c_str());
  if (!has_comma) SKIP("this machine has no locale with a comma");
}
