// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/tekken.hpp>

#include <catch2/catch_all.hpp>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "unit/text/golden_texts.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

using Tokens = std::vector<Token>;

std::string to_base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = bits << 8 | (at + i < bytes.size() ? bytes[at + i] & 0xFFU : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= bytes.size() - at ? digits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

/// Four special tokens, every byte, and 260 to 264; the last entry is beyond the vocabulary.
Json file() {
  Json entries = Json::array();
  const auto add = [&entries](const std::string& bytes) {
    entries.push_back({{"rank", entries.size()}, {"token_bytes", to_base64(bytes)}, {"token_str", nullptr}});
  };
  for (int byte = 0; byte < 256; ++byte) add(std::string(1, static_cast<char>(byte)));
  for (const char* bytes : {"ab", "bc", "aa", "aaa", "bb", "abc"}) add(bytes);
  return {{"config",
           {{"pattern", R"(\p{L}+|[^\p{L}\s]+|\s+)"},
            {"default_vocab_size", 265},
            {"default_num_special_tokens", 4},
            {"version", "v3"}}},
          {"vocab", entries}};
}

/// A value that some file might have in place of another.
Json other_value(std::mt19937& random) {
  const std::vector<Json> values{nullptr, true, -1,  0,         1,     255,    4294967296,    1e300,         "", "AA==",
                                 "////",  "=",  "(", "\\p{L}+", "<s>", "YWI=", Json::array(), Json::object()};
  return values[random() % values.size()];
}

/// Removes, repeats or changes values anywhere in `json`, the more of them the more there are.
void mutate(Json& json, std::mt19937& random) {
  if (random() % 100 == 0) json = other_value(random);
  if (!json.is_structured() || json.empty()) return;
  const std::size_t at = random() % json.size();
  const auto element = std::next(json.begin(), static_cast<std::ptrdiff_t>(at));
  switch (random() % 8) {
    case 0: json.erase(element); return;
    case 1: *element = other_value(random); return;
    case 2: *element = *json.begin(); return;
    default: mutate(*element, random);
  }
}

}  // namespace

TEST_CASE("ids and texts of a tekken.json are those of mistral_common", "[text][tekken]") {
  const auto tokenizer = tokenizer_from_tekken(golden::read_json("tekken/tekken.json"), "tekken.json");
  golden::compare(*tokenizer, "tekken", {.parse_special_tokens = false});
}

TEST_CASE("a tekken.json changed anywhere becomes a tokenizer or is refused", "[text][tekken]") {
  std::mt19937 random(20240718);
  const Json original = file();
  std::size_t made = 0, refused = 0;
  for (int i = 0; i < 300; ++i) {
    Json json = original;
    for (std::size_t change = 0; change <= random() % 3; ++change) mutate(json, random);
    try {
      const auto tokenizer = tokenizer_from_tekken(json, "tekken.json");
      tokenizer->decode(tokenizer->encode("abc <s>[INST]\xFF", {.add_special_tokens = true}));
      ++made;
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(made > 30);
  CHECK(refused > 100);
}

TEST_CASE("tekken.json: bytes merge by the rank of what they make", "[text][tekken]") {
  const auto tokenizer = tokenizer_from_tekken(file(), "tekken.json");
  CHECK(tokenizer->encode("abc") == Tokens{260, 4 + 'c'});  // "abc" is beyond the vocabulary
  CHECK(tokenizer->encode("aaaa") == Tokens{262, 262});
  CHECK(tokenizer->encode("aaa") == Tokens{263});  // a whole word
  CHECK(tokenizer->encode("\u00E9") == Tokens{4 + 0xC3, 4 + 0xA9});
  CHECK(tokenizer->decode(tokenizer->encode("a \u00E9bc")) == "a \u00E9bc");
  CHECK(tokenizer->vocabulary_size() == 265);
}

TEST_CASE("tekken.json: special tokens come first, under their usual names or those listed", "[text][tekken]") {
  Json json = file();
  const auto tokenizer = tokenizer_from_tekken(json, "tekken.json");
  CHECK(tokenizer->encode("<s>ab[INST]") == Tokens{1, 260, 3});
  CHECK(tokenizer->encode("ab", {.add_special_tokens = true}) == Tokens{1, 260});
  CHECK(tokenizer->eos_token() == 2);
  json["special_tokens"] = {{{"rank", 0}, {"token_str", "ab"}, {"is_control", true}}};
  const auto listed = tokenizer_from_tekken(json, "tekken.json");
  CHECK(listed->encode("ab<SPECIAL_3>") == Tokens{0, 3});
  CHECK(listed->encode("ab", {.parse_special_tokens = false}) == Tokens{260});  // plain text of the same letters
}

TEST_CASE("a tekken.json that does not fit together is an error", "[text][tekken]") {
  const auto broken = [](auto change) {
    Json json = file();
    change(json);
    return tokenizer_from_tekken(json, "tekken.json");
  };
  CHECK_THROWS_WITH(broken([](Json& json) { json["config"]["default_vocab_size"] = 267; }),
                    ContainsSubstring("262 entries in \"vocab\" for 267 tokens"));
  CHECK_THROWS_WITH(broken([](Json& json) {
                      json["config"]["default_vocab_size"] = 1 << 23;
                      json["config"]["default_num_special_tokens"] = 1 << 23;
                    }),
                    ContainsSubstring("8388608 of them special"));
  CHECK_THROWS_WITH(broken([](Json& json) { json["vocab"][7]["rank"] = 8; }), ContainsSubstring("entry 7"));
  for (const char* text : {"YQ=", "Y!==", "Y=Q="}) {
    CHECK_THROWS_WITH(broken([&](Json& json) { json["vocab"][9]["token_bytes"] = text; }),
                      ContainsSubstring("is not base64"));
  }
  CHECK_THROWS_WITH(broken([](Json& json) { json["config"].erase("pattern"); }), ContainsSubstring("\"pattern\""));
  CHECK_THROWS_WITH(broken([](Json& json) { json["vocab"] = 1; }), ContainsSubstring("\"vocab\""));
}
