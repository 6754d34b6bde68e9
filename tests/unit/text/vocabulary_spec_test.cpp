// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/vocabulary_spec.hpp>

#include <catch2/catch_all.hpp>
#include <limits>
#include <string>
#include <vector>

#include "unit/text/golden_texts.hpp"

#include <tulle/text/tokenizer_json.hpp>

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

using Tokens = std::vector<Token>;

/// The golden tokenizer as a GGUF file would hold it.
VocabularySpec spec_of(const std::string& name, const std::string& pre) {
  const Json json = golden::read_json(name + "/tokenizer.json");
  VocabularySpec spec;
  spec.pre = pre;
  std::size_t size = json["model"]["vocab"].size();
  for (const Json& token : json["added_tokens"]) size = std::max(size, token["id"].get<std::size_t>() + 1);
  spec.tokens.resize(size);
  spec.types.assign(size, VocabularySpec::normal);
  for (const auto& [content, id] : json["model"]["vocab"].items()) spec.tokens[id.get<std::size_t>()] = content;
  for (const Json& token : json["added_tokens"]) {
    const auto id = token["id"].get<std::size_t>();
    spec.tokens[id] = token["content"].get<std::string>();
    spec.types[id] = token["special"].get<bool>() ? VocabularySpec::control : VocabularySpec::user_defined;
  }
  for (const Json& merge : json["model"]["merges"]) {
    spec.merges.push_back(merge.is_string() ? merge.get<std::string>()
                                            : merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  return spec;
}

/// Pieces of sentencepiece's BPE over the letters a, b, c.
VocabularySpec scored() {
  VocabularySpec spec;
  spec.model = "llama";
  spec.tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "b", "c", "ab", "bc", "\u2581a", "abc"};
  spec.types = {2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1};
  spec.scores = {0, 0, 0, -9, -10, -11, -12, -2, -1, -3, -4};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    spec.tokens.push_back(std::string("<0x") + digits[static_cast<std::size_t>(byte) >> 4] + digits[byte & 15] + ">");
    spec.types.push_back(VocabularySpec::byte);
    spec.scores.push_back(0);
  }
  spec.bos = 1;
  spec.eos = 2;
  spec.unk = 0;
  spec.add_bos = true;
  return spec;
}

}  // namespace

TEST_CASE("lists of tokens and merges give the ids of tokenizer.json", "[text][vocabulary_spec]") {
  golden::compare(*tokenizer_from_vocabulary(spec_of("llama3-style", "llama-bpe")), "llama3-style");
  golden::compare(*tokenizer_from_vocabulary(spec_of("qwen-style", "qwen2")), "qwen-style");
}

TEST_CASE("pieces with scores merge the best first", "[text][vocabulary_spec]") {
  const auto tokenizer = tokenizer_from_vocabulary(scored());
  CHECK(tokenizer->encode("abc") == Tokens{9, 8});  // bc before ab, then the prefix with a
  CHECK(tokenizer->encode("ab") == Tokens{3, 7});   // ab before _a
  CHECK(tokenizer->encode("a a") == Tokens{9, 9});
  CHECK(tokenizer->encode("\u00E9") == Tokens{3, 11 + 0xC3, 11 + 0xA9});
  CHECK(tokenizer->encode("<s>a") == Tokens{1, 9});
  CHECK(tokenizer->encode("a", {.add_special_tokens = true}) == Tokens{1, 9});
  CHECK(tokenizer->encode("").empty());
  CHECK(tokenizer->decode(tokenizer->encode(" a \u00E9b")) == " a \u00E9b");
  CHECK(tokenizer->decode(Tokens{1, 9}, true) == "a");
}

TEST_CASE("pieces of equal scores merge leftmost first", "[text][vocabulary_spec]") {
  VocabularySpec spec = scored();
  spec.scores[7] = spec.scores[8] = -1;
  spec.types[10] = VocabularySpec::unused;
  spec.spaces.adds_one = false;
  CHECK(tokenizer_from_vocabulary(spec)->encode("abcbc") == Tokens{7, 6, 8});
  CHECK(tokenizer_from_vocabulary(spec)->decode(Tokens{3, 4}) == " a");
}

TEST_CASE("padding ids stand for nothing", "[text][vocabulary_spec]") {
  VocabularySpec spec = spec_of("llama3-style", "llama-bpe");
  spec.tokens.push_back("[PAD]");
  spec.types.push_back(VocabularySpec::unused);
  const auto tokenizer = tokenizer_from_vocabulary(spec);
  const auto padding = static_cast<Token>(spec.tokens.size() - 1);
  CHECK(tokenizer->piece(padding) == "");
  CHECK_FALSE(tokenizer->find("[PAD]"));
  CHECK(tokenizer->vocabulary_size() == spec.tokens.size());
}

TEST_CASE("lists that do not fit together are errors", "[text][vocabulary_spec]") {
  const auto breaks = [](auto change, const char* message) {
    VocabularySpec spec = scored();
    spec.where = "m.gguf";
    change(spec);
    CHECK_THROWS_WITH(tokenizer_from_vocabulary(spec), ContainsSubstring("m.gguf") && ContainsSubstring(message));
  };
  breaks([](VocabularySpec& spec) { spec.model = "t5"; }, "\"t5\"");
  breaks([](VocabularySpec& spec) { spec.tokens.clear(); }, "0 tokens");
  breaks([](VocabularySpec& spec) { spec.types.pop_back(); }, "token types");
  breaks([](VocabularySpec& spec) { spec.scores.pop_back(); }, "scores");
  breaks([](VocabularySpec& spec) { spec.scores[4] = std::numeric_limits<float>::quiet_NaN(); }, "not a number");
  breaks([](VocabularySpec& spec) { spec.eos = 5000; }, "5000");
  breaks([](VocabularySpec& spec) { spec.bos = -1; }, "-1");
  breaks(
      [](VocabularySpec& spec) {
        spec.model = "gpt2";
        spec.pre = "nonsense";
      },
      "nonsense");
  breaks(
      [](VocabularySpec& spec) {
        spec.model = "gpt2";
        spec.merges = {"ab"};
      },
      "merge 0");
  breaks(
      [](VocabularySpec& spec) {
        spec.model = "gpt2";
        spec.merges = {" "};
      },
      "merge 0");
  breaks(
      [](VocabularySpec& spec) {
        spec.model = "gpt2";
        spec.merges = {""};
      },
      "merge 0");
  breaks(
      [](VocabularySpec& spec) {
        spec.model = "gpt2";
        spec.merges = {"c c"};
      },
      "\"cc\"");
}

TEST_CASE("tokens that are not UTF-8 do no harm", "[text][vocabulary_spec]") {
  VocabularySpec spec = scored();
  spec.tokens[3] = "\xE2\x96";
  spec.tokens[2] = "\xFF";
  CHECK(tokenizer_from_vocabulary(spec)->decode(Tokens{3, 2, 4}) == "\uFFFD\uFFFD\uFFFDa");
}
