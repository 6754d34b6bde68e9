// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/tokenizer_json.hpp>

#include <catch2/catch_all.hpp>
#include <memory>
#include <string>
#include <vector>

#include "unit/text/golden_texts.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

using Tokens = std::vector<Token>;

std::unique_ptr<Tokenizer> load(const std::string& name, bool has_config = false) {
  return tokenizer_from_json(golden::read_json(name + "/tokenizer.json"),
                             has_config ? golden::read_json(name + "/tokenizer_config.json") : Json(),
                             name + "/tokenizer.json");
}

/// A small byte-level tokenizer to break.
Json small() {
  return parse_json(R"({"added_tokens": [{"id": 3, "content": "<s>", "special": true}],
    "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "decoder": {"type": "ByteLevel"},
    "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                       {"Sequence": {"id": "A"}},
                       {"SpecialToken": {"id": "</s>"}}],
                       "special_tokens": {"<s>": {"ids": [3]}, "</s>": {"ids": [7, 8]}}},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})",
                    "small");
}

std::unique_ptr<Tokenizer> build(const Json& json) {
  return tokenizer_from_json(json, Json(), "dir/tokenizer.json");
}

}  // namespace

TEST_CASE("ids and texts of a Llama-3-style tokenizer are those of tokenizers", "[text][tokenizer_json]") {
  const auto tokenizer = load("llama3-style", true);
  golden::compare(*tokenizer, "llama3-style");
  CHECK(tokenizer->bos_token() == tokenizer->find("<|begin_of_text|>"));
  CHECK(tokenizer->eos_token() == tokenizer->find("<|eot_id|>"));
  CHECK(tokenizer->is_special(*tokenizer->eos_token()));
  CHECK(tokenizer->encode("", {.add_special_tokens = true}) ==
        golden::read_json("llama3-style/golden.json")["added_by_default"].get<Tokens>());
}

TEST_CASE("ids and texts of a Qwen-style tokenizer are those of tokenizers", "[text][tokenizer_json]") {
  golden::compare(*load("qwen-style"), "qwen-style");
}

TEST_CASE("ids and texts of a Llama-2-style tokenizer are those of tokenizers", "[text][tokenizer_json]") {
  golden::compare(*load("llama2-style"), "llama2-style");
}

TEST_CASE("ids and texts of a Metaspace tokenizer with every flag are those of tokenizers", "[text][tokenizer_json]") {
  golden::compare(*load("metaspace", true), "metaspace");
}

TEST_CASE("a quarter of a megabyte of one character is encoded in n log n", "[text][tokenizer_json]") {
  for (const char* name : {"llama3-style", "llama2-style"}) {
    const auto tokenizer = load(name);
    for (const char* unit : {" ", "a", "\u4E00"}) {
      std::string text;
      while (text.size() < 250'000) text += unit;
      INFO(name << " " << unit);
      CHECK(tokenizer->decode(tokenizer->encode(text)).size() >= text.size() - 1);
    }
  }
}

TEST_CASE("bytes that are not UTF-8 are encoded as U+FFFD is", "[text][tokenizer_json]") {
  for (const char* name : {"llama3-style", "llama2-style"}) {
    const auto tokenizer = load(name);
    CHECK(tokenizer->encode("a\xFF\xE2\x82") == tokenizer->encode("a\uFFFD\uFFFD"));
    CHECK(tokenizer->encode(std::string("a\0b", 3)).size() >= 3);
  }
}

TEST_CASE("ids outside the vocabulary stand for nothing", "[text][tokenizer_json]") {
  const auto tokenizer = build(small());
  CHECK(tokenizer->vocabulary_size() == 4);
  for (const Token token : {-1, 4, 1000000, 2147483647}) {
    CHECK(tokenizer->piece(token) == "");
    CHECK_FALSE(tokenizer->is_special(token));
  }
  CHECK(tokenizer->decode(Tokens{2, 99, -5, 0}) == "aba");
}

TEST_CASE("the template surrounds a text on request", "[text][tokenizer_json]") {
  const auto tokenizer = build(small());
  CHECK(tokenizer->encode("ab") == Tokens{2});
  CHECK(tokenizer->encode("ab", {.add_special_tokens = true}) == Tokens{3, 2, 7, 8});
  CHECK(tokenizer->encode("<s>ab") == Tokens{3, 2});
  CHECK(tokenizer->encode("<s>ab", {.parse_special_tokens = false}) == Tokens{2});
  CHECK(tokenizer->decode(Tokens{3, 2}) == "<s>ab");
  CHECK(tokenizer->decode(Tokens{3, 2}, true) == "ab");
  CHECK(tokenizer->find("<s>") == 3);
  CHECK(tokenizer->find("ab") == 2);
  CHECK_FALSE(tokenizer->find("abc"));
}

TEST_CASE("the tokens of the configuration may be strings or objects", "[text][tokenizer_json]") {
  const Json config = parse_json(R"({"bos_token": {"content": "<s>"}, "eos_token": "ab"})", "test");
  const auto tokenizer = tokenizer_from_json(small(), config, "test");
  CHECK(tokenizer->bos_token() == 3);
  CHECK(tokenizer->eos_token() == 2);
  CHECK_FALSE(build(small())->bos_token());
}

TEST_CASE("special tokens that only the configuration names are found in the text", "[text][tokenizer_json]") {
  Json json = small();
  json["model"]["vocab"]["<|eot|>"] = 20;
  json["model"]["vocab"]["<|tool|>"] = 21;
  const Json config = parse_json(R"({"eos_token": "<|eot|>", "additional_special_tokens": ["<|tool|>", "<|none|>"],
      "added_tokens_decoder": {"3": {"content": "<s>", "special": false},
                               "30": {"content": "<new>", "special": false, "rstrip": true}}})",
                                 "test");
  const auto tokenizer = tokenizer_from_json(json, config, "test");
  CHECK(tokenizer->encode("ab<|eot|>ab<|tool|><s><new> ab") == Tokens{2, 20, 2, 21, 3, 30, 2});
  CHECK(tokenizer->eos_token() == 20);
  CHECK((tokenizer->is_special(20) && tokenizer->is_special(21) && tokenizer->is_special(3)));
  CHECK_FALSE(tokenizer->is_special(30));
  CHECK(tokenizer->decode(Tokens{2, 20, 2}, true) == "abab");
}

TEST_CASE("models that cannot be run are named", "[text][tokenizer_json]") {
  Json json = small();
  json["model"]["type"] = "Unigram";
  CHECK_THROWS_WITH(build(json), ContainsSubstring("dir/tokenizer.json") && ContainsSubstring("Unigram"));
  json = small();
  json["model"]["dropout"] = 0.1;
  CHECK_THROWS_WITH(build(json), ContainsSubstring("dropout"));
  json = small();
  json["model"]["end_of_word_suffix"] = "</w>";
  CHECK_THROWS_WITH(build(json), ContainsSubstring("end_of_word_suffix"));
  json = small();
  json["post_processor"] = {{"type", "BertProcessing"}};
  CHECK_THROWS_WITH(build(json), ContainsSubstring("BertProcessing"));
}

TEST_CASE("files of the wrong form are errors", "[text][tokenizer_json]") {
  const auto breaks = [](const char* path, const Json& value) {
    Json json = small();
    json[Json::json_pointer(path)] = value;
    INFO(path << " = " << value.dump());
    CHECK_THROWS_AS(build(json), Error);
  };
  CHECK_THROWS_AS(build(Json()), Error);
  CHECK_THROWS_AS(build(Json::array()), Error);
  breaks("/model", 3);
  breaks("/model/vocab", Json::array());
  breaks("/model/vocab/ab", -1);
  breaks("/model/vocab/ab", 1.5);
  breaks("/model/vocab/ab", 4000000000u);
  breaks("/model/vocab/ab", 1);
  breaks("/model/merges", 3);
  breaks("/model/merges/0", "ab");
  breaks("/model/merges/0", "a b c");
  breaks("/model/merges/0", Json::array({"a"}));
  breaks("/model/merges/0", Json::array({"b", "a"}));
  breaks("/model/unk_token", "<unk>");
  breaks("/model/byte_fallback", "yes");
  breaks("/added_tokens", 3);
  breaks("/added_tokens/0", 3);
  breaks("/added_tokens/0/id", -3);
  breaks("/added_tokens/0/content", 3);
  breaks("/post_processor/single", 3);
  breaks("/post_processor/single", Json::array());
  breaks("/post_processor/single/0/SpecialToken/id", "<x>");
  breaks("/post_processor/special_tokens/<s>/ids", "x");
  breaks("/decoder", 3);
}
