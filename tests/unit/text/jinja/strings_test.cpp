// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/jinja/strings.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle::jinja;

namespace {

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for_each_line(text, false, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

}  // namespace

TEST_CASE("length counts code points, and ill-formed bytes once", "[text][jinja_strings]") {
  CHECK(text_length("") == 0);
  CHECK(text_length("\xC3\xA4\xE4\xB8\x96\xF0\x9F\x98\x80") == 3);
  CHECK(text_length("\xFF\xFF") == 2);
  CHECK(text_length("a\xE4\xB8") == 2);
}

TEST_CASE("strip removes Python's white space at either side", "[text][jinja_strings]") {
  CHECK(strip(" \t\xC2\xA0x y\xE3\x80\x80\n") == "x y");
  CHECK(strip(" x ", Side::left) == "x ");
  CHECK(strip(" x ", Side::right) == " x");
  CHECK(strip("\x1C x\x1F") == "x");
  CHECK(strip(" \n ").empty());
  CHECK(strip("x\xE3\x80") == "x\xE3\x80");
  CHECK(strip("\x85") == "\x85");  // a lone byte is no U+0085
}

TEST_CASE("strip removes the code points of a set", "[text][jinja_strings]") {
  CHECK(strip("xyaxy", Side::both, "yx") == "a");
  CHECK(strip("\xC3\xA4"
              "a\xC3\xA4",
              Side::right, "\xC3\xA4") ==
        "\xC3\xA4"
        "a");
  CHECK(strip("\xC3\xA5", Side::both, "\xC3\xA4").size() == 2);
}

TEST_CASE("case changes letters and keeps the rest", "[text][jinja_strings]") {
  CHECK(upper("a\xC3\xA4\xCF\x89\xD1\x8F\xE4\xB8\x96"
              "1") ==
        "A\xC3\x84\xCE\xA9\xD0\xAF\xE4\xB8\x96"
        "1");
  CHECK(lower("A\xC3\x84\xCE\xA9\xD0\xAF") == "a\xC3\xA4\xCF\x89\xD1\x8F");
  CHECK(upper("a\xFF"
              "b") ==
        "A\xFF"
        "B");
  CHECK(upper("\u010Daj \u0142\u017E\u0131\u0138") == "\u010CAJ \u0141\u017DI\u0138");
  CHECK(lower("\u010CAJ \u0141\u017D\u0178") == "\u010Daj \u0142\u017E\u00FF");
  CHECK(capitalize("hELLO wORLD") == "Hello world");
  CHECK(title("they're bill's") == "They'Re Bill'S");
  CHECK(title_words("they're bill's (x-y") == "They're Bill's (X-Y");
}

TEST_CASE("lines end at every line end of Python and none follows the last", "[text][jinja_strings]") {
  CHECK(lines_of("a\nb\r\nc\rd\x0B"
                 "e\xE2\x80\xA8"
                 "f") == std::vector<std::string>{"a", "b", "c", "d", "e", "f"});
  CHECK(lines_of("a\n\n") == std::vector<std::string>{"a", ""});
  CHECK(lines_of("").empty());
}
