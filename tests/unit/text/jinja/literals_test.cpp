// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/literals.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

TEST_CASE("a string literal ends at its own quote", "[text][jinja_literals]") {
  CHECK(text_literal_size("'a\\'b' c") == 6);
  CHECK(text_literal_size("\"it's\"") == 6);
  CHECK(text_literal_size("'open") == 0);
  CHECK(text_literal_size("'open\\'") == 0);
  CHECK(text_literal_size("'\\") == 0);
}

TEST_CASE("escapes are Python's", "[text][jinja_literals]") {
  CHECK(unescape("\\n\\t\\\\\\'\\x41\\101\\u00e9\\U0001F600", 1) == "\n\t\\'AA\xC3\xA9\xF0\x9F\x98\x80");
  CHECK(unescape("un\\known \\", 1) == "un\\known \\");
  CHECK(unescape("a\\\nb", 1) == "ab");
  for (const char* wrong : {"\\x4", "\\xZZ", "\\u12", "\\ud800", "\\U00110000", "\\UFFFFFFFF"}) {
    CAPTURE(wrong);
    CHECK_THROWS_WITH(unescape(wrong, 7), Catch::Matchers::ContainsSubstring("line 7"));
  }
}

TEST_CASE("numbers end where Jinja ends them", "[text][jinja_literals]") {
  CHECK(number_literal_size("12.5e-3x", true) == 7);
  CHECK(number_literal_size("1.x", true) == 1);
  CHECK(number_literal_size("1e", true) == 1);
  CHECK(number_literal_size("1.2", false) == 1);
}

TEST_CASE("names and signs end where Jinja ends them", "[text][jinja_literals]") {
  CHECK(name_size("a_1\xC3\xA4-b") == 5);
  CHECK(name_size("-a") == 0);
  CHECK(sign_size("**") == 2);
  CHECK(sign_size("!x") == 0);
  CHECK(sign_size("~") == 1);
  CHECK(sign_size("?") == 0);
}
