// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/pre_tokenizer.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;

namespace {

using Parts = std::vector<std::string>;

Parts split(std::vector<PreTokenizerStep> steps, std::string_view text, bool at_start = true) {
  Regex::Scratch scratch;
  Parts parts;
  PreTokenizer(std::move(steps)).split(text, at_start, scratch, [&](std::string_view word) {
    parts.emplace_back(word);
  });
  return parts;
}

Parts split_by(std::string_view pattern, SplitBehavior behavior, std::string_view text, bool invert = false) {
  return split({SplitStep{Regex(pattern, "test"), behavior, invert}}, text);
}

}  // namespace

TEST_CASE("each behavior does with the matches what tokenizers documents", "[text][pre_tokenizer]") {
  const char* text = "the-final--countdown";  // the example of SplitDelimiterBehavior's documentation
  CHECK(split_by("-", SplitBehavior::removed, text) == Parts{"the", "final", "countdown"});
  CHECK(split_by("-", SplitBehavior::isolated, text) == Parts{"the", "-", "final", "-", "-", "countdown"});
  CHECK(split_by("-", SplitBehavior::merged_with_previous, text) == Parts{"the-", "final-", "-", "countdown"});
  CHECK(split_by("-", SplitBehavior::merged_with_next, text) == Parts{"the", "-final", "-", "-countdown"});
  CHECK(split_by("-", SplitBehavior::contiguous, text) == Parts{"the", "-", "final", "--", "countdown"});
}

TEST_CASE("an inverted split exchanges matches and gaps", "[text][pre_tokenizer]") {
  CHECK(split_by("\\w+", SplitBehavior::removed, "a bc, d", true) == Parts{"a", "bc", "d"});
}

TEST_CASE("the GPT-2 pattern splits as GPT-2 does", "[text][pre_tokenizer]") {
  CHECK(split_by(gpt2_pattern, SplitBehavior::isolated, "Hello  world's 12 I'LL\n\n x") ==
        Parts{"Hello", " ", " world", "'s", " 12", " I", "'", "LL", "\n\n", " x"});
}

TEST_CASE("a later split sees only the pieces of the former", "[text][pre_tokenizer]") {
  const std::vector<PreTokenizerStep> steps = {SplitStep{Regex("\\p{N}", "test")},
                                               SplitStep{Regex(gpt2_pattern, "test")}};
  CHECK(split(steps, "a  1 23") == Parts{"a", "  ", "1", " ", "2", "3"});
}

TEST_CASE("a prefix is put where it is missing", "[text][pre_tokenizer]") {
  const std::vector<PreTokenizerStep> always = {SplitStep{Regex("\\|", "test"), SplitBehavior::removed},
                                                PrefixStep{"_"}};
  CHECK(split(always, "a|_b|c") == Parts{"_a", "_b", "_c"});
  const std::vector<PreTokenizerStep> first = {SplitStep{Regex("\\|", "test"), SplitBehavior::removed},
                                               PrefixStep{"_", true}};
  CHECK(split(first, "a|b") == Parts{"_a", "b"});
  CHECK(split(first, "a|b", false) == Parts{"a", "b"});
}

TEST_CASE("bytes and spaces are rewritten", "[text][pre_tokenizer]") {
  CHECK(split({ByteLevelStep{}}, "\u00E9 ") == Parts{"\u00C3\u00A9\u0120"});
  CHECK(split({SpaceStep{"\u2581"}}, " a b") == Parts{"\u2581a\u2581b"});
  CHECK(split({SpaceStep{"\u2581"}}, "") == Parts{});
}

TEST_CASE("an empty match cuts and does not loop", "[text][pre_tokenizer]") {
  CHECK(split_by("x*", SplitBehavior::isolated, "a\u00E9xxb") == Parts{"a", "\u00E9", "xx", "b"});
  CHECK(split_by("x*", SplitBehavior::merged_with_previous, "axb") == Parts{"ax", "b"});
}
