// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/vocabulary_of_json.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include <tulle/format/export/gguf_tokenizer_json.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

VocabularySpec byte_level_spec(const std::string& pre) {
  VocabularySpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.push_back(to_byte_level(std::string(1, static_cast<char>(byte))));
  for (const char* token : {"ab", "<|end|>", "user"}) spec.tokens.emplace_back(token);
  spec.types.assign(spec.tokens.size(), VocabularySpec::normal);
  spec.types[257] = VocabularySpec::control;
  spec.types[258] = VocabularySpec::user_defined;
  spec.merges = {"a b"};
  spec.pre = pre;
  spec.bos = spec.eos = 257;
  spec.add_bos = true;
  return spec;
}

VocabularySpec read_again(const VocabularySpec& spec) {
  return vocabulary_of_json(tokenizer_json_of(spec), tokenizer_config_of(spec, nullptr), "tokenizer.json");
}

}  // namespace

TEST_CASE("the lists of a byte-level tokenizer come back from its tokenizer.json", "[format][export]") {
  for (const char* pre : {"smollm", "gpt-2", "llama-bpe", "qwen2", "default", "falcon", "tekken"}) {
    const VocabularySpec spec = byte_level_spec(pre), copy = read_again(spec);
    CHECK(copy.tokens == spec.tokens);
    CHECK(copy.types == spec.types);
    CHECK(copy.merges == spec.merges);
    CHECK(copy.pre == spec.pre);
    CHECK((copy.bos == spec.bos && copy.eos == spec.eos && copy.add_bos && copy.model == "gpt2"));
  }
}

TEST_CASE("a pre-tokenizer is known in the form of its model's file", "[format][export]") {
  Json json = tokenizer_json_of(byte_level_spec("gpt-2"));
  const Json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}};
  const auto name = [&] { return vocabulary_of_json(json, nullptr, "t").pre; };
  json["pre_tokenizer"] = byte_level;
  CHECK(name() == "gpt-2");
  json["pre_tokenizer"] = {{"type", "Sequence"},
                           {"pretokenizers", {{{"type", "Digits"}, {"individual_digits", true}}, byte_level}}};
  CHECK(name() == "smollm");
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "Whitespace"}}, byte_level}}};
  CHECK(test::error_of([&] { (void)name(); }) == ErrorCode::unsupported);
  json["pre_tokenizer"]["pretokenizers"] = {{{"type", "Digits"}, {"individual_digits", true}}};
  CHECK(test::error_of([&] { (void)name(); }) == ErrorCode::unsupported);
}

TEST_CASE("byte fallback becomes scores in the order of the merges", "[format][export]") {
  VocabularySpec spec;
  spec.model = "llama";
  spec.tokens = {"<unk>", "<0x41>", "a", "b", "c", "ab", "bc", "abc"};
  spec.types = {2, 6, 1, 1, 1, 1, 1, 1};
  spec.scores = {0, 0, -10, -11, -12, -2, -1, -3};
  spec.unk = 0;
  spec.spaces.adds_one = true;
  const VocabularySpec copy = read_again(spec);
  CHECK((copy.model == "llama" && copy.spaces.adds_one && copy.unk == 0));
  CHECK(copy.types == spec.types);
  CHECK((copy.scores[6] > copy.scores[5] && copy.scores[5] > copy.scores[7] && copy.scores[7] > copy.scores[2]));
  for (const char* text : {"abc", "abab bc", "cab"}) {
    CHECK(tokenizer_from_vocabulary(copy)->encode(text) == tokenizer_from_vocabulary(spec)->encode(text));
  }
}

TEST_CASE("ids that no token has are unused, and other models are refused", "[format][export]") {
  Json json = tokenizer_json_of(byte_level_spec("gpt-2"));
  json["added_tokens"].push_back({{"id", 262}, {"content", "<late>"}, {"special", false}});
  const VocabularySpec spec = vocabulary_of_json(json, nullptr, "t");
  CHECK(spec.tokens.size() == 263);
  CHECK((spec.tokens[260] == "[PAD260]" && spec.types[260] == VocabularySpec::unused));
  CHECK((spec.tokens[262] == "<late>" && spec.types[262] == VocabularySpec::user_defined));
  json["added_tokens"].push_back({{"id", 2000000000}, {"content", "<far>"}});
  CHECK(test::error_of([&] { (void)vocabulary_of_json(json, nullptr, "t"); }) == ErrorCode::malformed);
  json["model"]["type"] = "Unigram";
  CHECK(test::error_of([&] { (void)vocabulary_of_json(json, nullptr, "t"); }) == ErrorCode::unsupported);
}
