// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/numbers.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

TEST_CASE("floats are written as Python's repr writes them", "[text][jinja_numbers]") {
  CHECK(real_text(1.0) == "1.0");
  CHECK(real_text(-0.0) == "-0.0");
  CHECK(real_text(0.1 + 0.2) == "0.30000000000000004");
  CHECK(real_text(1e15) == "1000000000000000.0");
  CHECK(real_text(1e16) == "1e+16");
  CHECK(real_text(0.0001) == "0.0001");
  CHECK(real_text(1.5e-5) == "1.5e-05");
  CHECK(real_text(1e300) == "1e+300");
  CHECK(real_text(INFINITY) == "inf");
  CHECK(real_text(NAN) == "nan");
}

TEST_CASE("integers are read as Python's int reads them", "[text][jinja_numbers]") {
  CHECK(parse_integer(" -1_000 ") == -1000);
  CHECK(parse_integer("+7") == 7);
  CHECK(parse_integer("9223372036854775807") == INT64_MAX);
  for (const char* wrong :
       {"", " ", "-", "--1", "+-1", "1__0", "_1", "1_", "1.5", "0x1", "9223372036854775808", "1 2"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_integer(wrong).has_value());
  }
}

TEST_CASE("floats are read as Python's float reads them", "[text][jinja_numbers]") {
  CHECK(parse_real(" 1e3 ") == 1000.0);
  CHECK(parse_real("-2.5") == -2.5);
  CHECK(parse_real("-Infinity") == -INFINITY);
  for (const char* wrong : {"", "x", "0x10", "1e", "1.2.3", "nan(1)", "1 2", "--1"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_real(wrong).has_value());
  }
}
