// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/regex.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;

namespace {

/// All matches from left to right.
std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  const Regex regex(pattern, "test");
  Regex::Scratch scratch;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const auto match = regex.search(text, at, scratch);
    if (!match) break;
    found.emplace_back(text.substr(match->begin, match->end - match->begin));
    at = match->end > match->begin ? match->end : match->end + 1;
  }
  return found;
}

using Parts = std::vector<std::string>;

}  // namespace

TEST_CASE("the first alternative wins, not the longest", "[text][regex]") {
  CHECK(matches("a|ab|abc", "abc") == Parts{"a"});
  CHECK(matches("(?:a|ab)c", "abc") == Parts{"abc"});
  CHECK(matches("ab|a", "aab") == Parts{"a", "ab"});
}

TEST_CASE("quantifiers take as much or as little as written", "[text][regex]") {
  CHECK(matches("a+", "aaab") == Parts{"aaa"});
  CHECK(matches("a+?", "aa") == Parts{"a", "a"});
  CHECK(matches("a{2,3}", "aaaaaaa") == Parts{"aaa", "aaa"});
  CHECK(matches("a{2}", "aaaaa") == Parts{"aa", "aa"});
  CHECK(matches("a{2,}", "aaaaa") == Parts{"aaaaa"});
  CHECK(matches("ba?", "bab") == Parts{"ba", "b"});
  CHECK(matches("(?:ab)*c", "ababcc") == Parts{"ababc", "c"});
  CHECK(matches("<.*?>", "<a><b>") == Parts{"<a>", "<b>"});
  CHECK(matches("<.*>", "<a><b>\n>") == Parts{"<a><b>"});
}

TEST_CASE("a possessive quantifier gives nothing back", "[text][regex]") {
  CHECK(matches("a*+a", "aaa").empty());
  CHECK(matches("a++b", "aab") == Parts{"aab"});
  CHECK(matches("a?+a", "a").empty());
  CHECK(matches("a?+a", "aa") == Parts{"aa"});
}

TEST_CASE("an interval with a plus repeats, as in Oniguruma", "[text][regex]") {
  CHECK(matches("\\p{N}{1,3}+", "1234567") == Parts{"1234567"});
}

TEST_CASE("classes hold ranges, escapes, nested classes and intersections", "[text][regex]") {
  CHECK(matches("[a-c]+", "abcd") == Parts{"abc"});
  CHECK(matches("[^a-c\\s]+", "ab de fc") == Parts{"de", "f"});
  CHECK(matches("[\\p{Lu}0-9_]+", "aBC_1d") == Parts{"BC_1"});
  CHECK(matches("[a\\-z-]+", "a-z") == Parts{"a-z"});
  CHECK(matches("[\\p{L}&&[^a-m]]+", "anzb") == Parts{"nz"});
  CHECK(matches("[\\]\\[]", "[]") == Parts{"[", "]"});
  CHECK(matches("[\\x41\\u0042\\x{43}]+", "ABCD") == Parts{"ABC"});
  CHECK(matches("\\P{L}+|\\p{^N}", "12a") == Parts{"12", "a"});
  CHECK(matches("[一-龥]+", "a中文b") == Parts{"中文"});
}

TEST_CASE("lookahead and anchors consume nothing", "[text][regex]") {
  CHECK(matches("\\s+(?!\\S)", "a   b ") == Parts{"  ", " "});
  CHECK(matches("a(?=b)", "acab") == Parts{"a"});
  CHECK(matches("^\\s*", "a\n").size() == 1);  // no line begins behind the last line feed
  CHECK(matches("^a|b$", "a\na b\nb") == Parts{"a", "a", "b", "b"});
  CHECK(matches("\\Aa", "aa") == Parts{"a"});
  CHECK(matches("a\\z", "a\na") == Parts{"a"});
}

TEST_CASE("case is folded inside (?i: only", "[text][regex]") {
  CHECK(matches("(?i:'s|'ll)", "'S 's 'Ll '\u017F") == Parts{"'S", "'s", "'Ll", "'\u017F"});
  CHECK(matches("(?i:[sd])d", "Sd sD") == Parts{"Sd"});
}

TEST_CASE("a literal matches itself, whatever it means as a pattern", "[text][regex]") {
  const std::string text = "a.*+?()[]{}|^$\\ \xE2\x96\x81";
  const Regex regex = Regex::literal(text, "test");
  Regex::Scratch scratch;
  const auto match = regex.search("xx" + text, 0, scratch);
  REQUIRE(match);
  CHECK(match->begin == 2);
  CHECK(match->end == 2 + text.size());
}

TEST_CASE("patterns that are exponential for a backtracking engine are not", "[text][regex]") {
  const std::string text(20000, 'a');
  CHECK(matches("\\A(?:a+)+b", text).empty());
  CHECK(matches("\\A(?:a|a)*b", text).empty());
  CHECK(matches("\\A(?:a?){50}a{50}\\z", std::string(50, 'a')).size() == 1);
}

TEST_CASE("an empty loop body ends", "[text][regex]") {
  CHECK(matches("(?:a*)*b", "aab") == Parts{"aab"});
  CHECK(matches("(?:|a)+b", "ab").size() == 1);
}
