// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/character_map.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

#include "unit/text/golden_texts.hpp"
#include "unit/text/sentencepiece_models.hpp"

using namespace tulle;
using namespace tulle::test;

TEST_CASE("the rule for the longest prefix is found", "[text][character_map]") {
  const CharacterMap map(character_map_of(golden::read("spm-unigram/tokenizer.model")), "m");
  const auto replaced = [&](std::string_view text) {
    const CharacterMap::Match match = map.longest_prefix(text);
    return std::to_string(match.length) + " " + std::string(match.replacement);
  };
  CHECK(replaced("\uFB01x") == "3 fi");
  CHECK(replaced("e\u0301") == "3 \u00E9");
  CHECK(replaced("\u2764\uFE0F!") == "6 \u2764");
  CHECK(replaced("\u00AD") == "2 ");
  CHECK(replaced("\n") == "1  ");
  for (const char* none : {"", "e", "e\u0302", "x", "\xEF\xAC", "\xFF"}) CHECK(replaced(none) == "0 ");
  CHECK(map.longest_prefix(std::string_view("\0e", 2)).length == 0);
  CHECK(CharacterMap().longest_prefix("a").length == 0);
  CHECK(CharacterMap("", "m").longest_prefix("a").length == 0);
}

TEST_CASE("a map of one rule is read", "[text][character_map]") {
  CHECK(CharacterMap(one_rule_map(0), "m").longest_prefix("ab").replacement == "xy");
  CHECK(CharacterMap(one_rule_map(1), "m").longest_prefix("ab").replacement == "y");
  CHECK(CharacterMap(one_rule_map(3), "m").longest_prefix("ab").replacement == "z");
  CHECK(CharacterMap(one_rule_map(4), "m").longest_prefix("ab").length == 1);
}

TEST_CASE("a broken map is an error that names the file", "[text][character_map]") {
  CHECK_THROWS_WITH(CharacterMap("x", "dir/m"), Catch::Matchers::ContainsSubstring("dir/m"));
  CHECK_THROWS_AS(CharacterMap(one_rule_map(5), "m"), Error);
  CHECK_THROWS_AS(CharacterMap(one_rule_map(0).insert(4 + 1024, 5000, 'x'), "m"), Error);
}

TEST_CASE("a map whose walks never end is left", "[text][character_map]") {
  std::string map = one_rule_map(0);
  const std::uint32_t loop = 'a' << 10 | 0x100u | 'a';  // leads to where it is: "aa" and so on are keys, too
  std::memcpy(map.data() + 4 + 'a' * 4, &loop, 4);
  const CharacterMap looped(map, "m");
  CHECK(looped.longest_prefix(std::string(1 << 20, 'a')).length == 1024);
}

TEST_CASE("a map with broken bytes is an error or stays inside", "[text][character_map]") {
  const std::string whole = character_map_of(golden::read("spm-unigram/tokenizer.model"));
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    std::string broken = whole;
    for (int count = 0; count < 3; ++count) broken[random() % broken.size()] = static_cast<char>(random());
    try {
      const CharacterMap map(broken, "m");
      for (int byte = 0; byte < 256; ++byte) {
        const std::string text{static_cast<char>(byte), static_cast<char>(random()), static_cast<char>(random())};
        CHECK(map.longest_prefix(text).length <= 3);
      }
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::malformed);
    }
  }
}
