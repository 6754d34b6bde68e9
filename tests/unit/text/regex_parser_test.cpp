// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/regex_parser.hpp>

#include <catch2/catch_all.hpp>
#include <string>

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {
void parse(const std::string& pattern) {
  detail::RegexParser(pattern, "dir/tokenizer.json").parse();
}
}  // namespace

TEST_CASE("what the parser does not know is named with its place", "[text][regex_parser]") {
  CHECK_THROWS_WITH(parse("abc(?<=x)"), ContainsSubstring("dir/tokenizer.json") && ContainsSubstring("kind of group") &&
                                            ContainsSubstring("byte 4"));
  CHECK_THROWS_WITH(parse("\\p{Han}"), ContainsSubstring("the property \"Han\""));
  CHECK_THROWS_WITH(parse("\\bfoo"), ContainsSubstring("the escape \\b"));
  CHECK_THROWS_WITH(parse("(?!ab)"), ContainsSubstring("lookahead"));
  CHECK_THROWS_WITH(parse("(?:ab)++"), ContainsSubstring("possessive"));
  CHECK_THROWS_WITH(parse("(?i:\u00E9)"), ContainsSubstring("other than ASCII"));
  CHECK_THROWS_WITH(parse("[[:alpha:]]"), ContainsSubstring("POSIX"));
}

TEST_CASE("broken patterns are errors, not crashes", "[text][regex_parser]") {
  for (const char* pattern : {"(",     ")",       "(a",          "a)",    "[",        "[a",         "[]",
                              "[z-a]", "[a-\\s]", "*",           "+a",    "a{",       "a{x}",       "a{3,2}",
                              "a{2",   "\\",      "\\p",         "\\p{",  "\\p{L",    "\\x",        "\\x4",
                              "\\x{",  "\\x{}",   "\\x{110000}", "\\xZZ", "\\u12",    "a||*",       "(?",
                              "(?i",   "(?i:",    "(?=",         "(?=a",  "a{99999}", "a{1,99999}", "(?:a{1000}){1000}",
                              "[a&&",  "\xFF"}) {
    INFO(pattern);
    CHECK_THROWS_AS(parse(pattern), Error);
  }
  CHECK_THROWS_AS(parse(std::string(100000, '(')), Error);
  CHECK_THROWS_AS(parse(std::string(100000, '[')), Error);
}

TEST_CASE("many alternatives are not deep", "[text][regex_parser]") {
  std::string pattern = "a";
  for (int index = 0; index < 500; ++index) pattern += "|b";
  CHECK_NOTHROW(parse(pattern));
}
