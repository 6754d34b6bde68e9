// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/sentencepiece_normalizer.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "unit/text/golden_texts.hpp"
#include "unit/text/sentencepiece_models.hpp"

using namespace tulle;

namespace {

/// With the character map of spm-unigram; "_" stands for U+2581 in what comes back.
std::string normalized(const SpaceRules& spaces, std::string_view text, ByteTrie user_defined = {}) {
  const CharacterMap map(test::character_map_of(golden::read("spm-unigram/tokenizer.model")), "m");
  std::string result = SentencePieceNormalizer(spaces, map, std::move(user_defined)).apply(text);
  for (std::size_t at = 0; (at = result.find(SpaceRules::symbol, at)) != std::string::npos; ++at) {
    result.replace(at, SpaceRules::symbol.size(), "_");
  }
  return result;
}

}  // namespace

TEST_CASE("a space is added, or not, or at the end", "[text][sentencepiece_normalizer]") {
  CHECK(normalized({}, " a  b ") == "__a__b_");
  CHECK(normalized({}, "") == "");
  CHECK(normalized({.adds_one = false}, " a b") == "_a_b");
  CHECK(normalized({.is_suffix = true}, "a b") == "a_b_");
  CHECK(normalized({.escapes = false}, "a b") == " a b");
}

TEST_CASE("spaces are squeezed after the character map made them", "[text][sentencepiece_normalizer]") {
  const SpaceRules squeezed{.squeezes = true};
  CHECK(normalized(squeezed, " \t\u3000a \n b\u00A0 ") == "_a_b");
  CHECK(normalized(squeezed, " \n ") == "");
  CHECK(normalized(squeezed, "\u00AD") == "");
  CHECK(normalized(squeezed, "a\u2581\u2581") == "_a");
  CHECK(normalized({.is_suffix = true, .squeezes = true}, " a b ") == "a_b_");
  CHECK(normalized({.squeezes = true, .escapes = false}, " a  b ") == " a b");
}

TEST_CASE("the longest rule wins, and bytes that are not UTF-8 become U+FFFD each",
          "[text][sentencepiece_normalizer]") {
  const SpaceRules none{.adds_one = false};
  CHECK(normalized(none, "e\u0301e\u2026\uFB01") == "\u00E9e...fi");
  CHECK(normalized(none, "a\xFF\xE2\x96z") == "a\uFFFD\uFFFD\uFFFDz");
  CHECK(normalized(none, "\xED\xA0\x80\xC0\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST_CASE("user-defined pieces stay as they are", "[text][sentencepiece_normalizer]") {
  CHECK(normalized({}, "\uFB01e\u0301", ByteTrie({{"\uFB01e", 0}})) == "_\uFB01e\u0301");
  CHECK(normalized({.squeezes = true}, "x  y", ByteTrie({{"  y", 0}})) == "_x__y");
}
