// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/utf8.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;

namespace {
const std::string mark(replacement_utf8);
}

TEST_CASE("every scalar value survives encoding and decoding", "[text][utf8]") {
  std::size_t wrong = 0;
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point < 0xE000) continue;
    const std::string text = to_utf8(code_point);
    const Utf8Step step = decode_utf8(text, 0);
    wrong += step.code_point != code_point || step.length != text.size() || step.kind != Utf8Step::Kind::valid;
  }
  CHECK(wrong == 0);
}

TEST_CASE("ill-formed bytes become one replacement for each maximal subpart", "[text][utf8]") {
  // Unicode 16.0, tables 3-8 to 3-11.
  CHECK(repair_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41") ==
        mark + mark + mark + mark + mark + mark + mark + mark + "A");
  CHECK(repair_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41") ==
        mark + mark + mark + mark + mark + mark + mark + mark + "A");
  CHECK(repair_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42") ==
        mark + mark + mark + mark + mark + "A" + mark + mark + "B");
  CHECK(repair_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41") == mark + mark + mark + mark + "A");
  CHECK(repair_utf8("x\xF0\x9F\x98") == "x" + mark);
}

TEST_CASE("repair by bytes marks each byte of a subpart", "[text][utf8]") {
  CHECK(repair_utf8("\xF0\x9F\x98!\xFF", Repair::per_byte) == mark + mark + mark + "!" + mark);
}

TEST_CASE("an incomplete tail is handed out and nothing else is", "[text][utf8]") {
  std::string tail = "old";
  CHECK(repair_utf8("a\xF0\x9F\x98", Repair::per_subpart, &tail) == "a");
  CHECK(tail == "\xF0\x9F\x98");
  CHECK(repair_utf8(tail + "\x80!", Repair::per_subpart, &tail) == "\xF0\x9F\x98\x80!");
  CHECK(tail.empty());
  CHECK(repair_utf8("\xE0\x80", Repair::per_subpart, &tail) == mark + mark);
  CHECK(tail.empty());
}

TEST_CASE("validation accepts what decodes and nothing else", "[text][utf8]") {
  CHECK(is_valid_utf8(""));
  CHECK(is_valid_utf8(std::string("\0\x7F\xC2\x80\xEF\xBF\xBF\xF4\x8F\xBF\xBF", 11)));
  for (const char* text : {"\x80", "\xC3", "\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80"}) {
    CHECK_FALSE(is_valid_utf8(text));
  }
}
