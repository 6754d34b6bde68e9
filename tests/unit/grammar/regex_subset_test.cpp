// SPDX-License-Identifier: Apache-2.0
#include <tulle/grammar/regex_subset.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>

namespace {

using namespace tulle;

TEST_CASE("an expression is written in few forms", "[grammar][regex_subset]") {
  CHECK(followed_regex("^ab|c$") == "ab|c");
  CHECK(followed_regex("(?:a{2,3}?|b*)+") == "(?:a{2,3}?|b*)+");
  CHECK(followed_regex(R"(é\.\x41\u0042\u{1f600}\cJ)") == R"(\u{e9}\u{2e}AB\u{1f600}\u{a})");
  CHECK(followed_regex(R"([\da-c_-])") == R"([\u{2d}\u{30}-\u{39}\u{5f}\u{61}-\u{63}])");
  CHECK(followed_regex(R"([\^a])") == R"([\u{61}\u{5e}])");
  CHECK(followed_regex(".") == R"([^\u{a}\u{d}\u{2028}-\u{2029}\u{d800}-\u{dfff}])");
  CHECK(followed_regex("[^a]") == R"([^\u{61}\u{d800}-\u{dfff}])");
}

TEST_CASE("in JSON a character that needs an escape is written as one, or is in no class", "[grammar][regex_subset]") {
  const auto in_json = [](std::string_view pattern) {
    const std::string whole = followed_json_regex(pattern);
    REQUIRE(whole.ends_with("\u00E9{0}"));
    return whole.substr(0, whole.size() - 5);
  };
  CHECK(in_json("a") == "a");
  CHECK(in_json("\"") == R"((\u{5c}\u{22}))");
  CHECK(in_json(R"(\\)") == R"((\u{5c}\u{5c}))");
  CHECK(in_json(R"(\t\x01)") == R"((\u{5c}\u{74})(\u{5c}u0001))");
  CHECK(in_json("[^a]") == R"([^\u{0}-\u{1f}\u{22}\u{5c}\u{61}\u{d800}-\u{dfff}])");
  CHECK(in_json("[\"a]") == R"([\u{61}])");
  CHECK_THROWS_AS(followed_json_regex("[\"\\n]"), Error);
}

TEST_CASE("the pattern of a schema is open where it has no anchor beside one", "[grammar][regex_subset]") {
  const std::string any = R"([^\u{0}-\u{1f}\u{22}\u{5c}\u{d800}-\u{dfff}]*)", end = "\u00E9{0}";
  CHECK(followed_schema_pattern("^ab") == "ab" + any + end);
  CHECK(followed_schema_pattern("ab$") == any + "ab" + end);
  for (const char* whole : {"^ab$", "ab"}) CHECK(followed_schema_pattern(whole) == "ab" + end);
  CHECK(followed_schema_pattern("^a|(b|c)$|d") == "a" + any + "|" + any + "(b|c)|d" + end);
}

TEST_CASE("what a grammar cannot follow is refused with its place", "[grammar][regex_subset]") {
  CHECK_THROWS_WITH(followed_regex("ab(?=c)"), Catch::Matchers::ContainsSubstring("an assertion or a flag at 3"));
  for (const char* pattern :
       {"a^b", "(^a)", "a$b", R"(\1)", R"(\b)", R"(\p{L})", "[b-a]", "[a", "a\\", R"(\x4)", R"(\u{110000})", R"(\u{41)",
        R"(\ud800)", "\xFF", R"(a\|^b)", "a{1000000}", "a{1,4294967297}"}) {
    CAPTURE(pattern);
    CHECK_THROWS_AS(followed_regex(pattern), Error);
  }
}
TEST_CASE("what may be empty is not counted", "[grammar][regex_subset]") {
  for (const char* pattern :
       {"(a*){3}", "(a|b?){0,9}", "(|a){2,}", "((a?){0,1}b?){2}", "(a{0,5}){5}", "(a|(b*|c)){7}"}) {
    CAPTURE(pattern);
    CHECK_THROWS_WITH(followed_regex(pattern), Catch::Matchers::ContainsSubstring("a count of what may be empty"));
  }
  for (const char* pattern :
       {"(a+?){3}", "(a*b){3}", "(a|bc){0,9}", "(a?){0,1}", "((a?b)c*){2}", "a{3}{2}", "(a{1,5}?){5}", "^a{2}|b{3}$"}) {
    CAPTURE(pattern);
    CHECK_NOTHROW(followed_regex(pattern));
  }
}

}  // namespace
