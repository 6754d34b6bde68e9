// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/gguf_tokenizer_json.hpp>

#include <catch2/catch_all.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include <tulle/text/tokenizer_json.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

const std::vector<std::string> texts{"",          "ab abc  ab", "x = 12", "\n\n a", "caf\xC3\xA9 <|end|>ab",
                                     "<|end|> b", "abab"};

void check_same(const VocabularySpec& spec) {
  const auto from_lists = tokenizer_from_vocabulary(spec);
  const auto from_json = tokenizer_from_json(tokenizer_json_of(spec), tokenizer_config_of(spec, 16), "tokenizer.json");
  CHECK(from_json->bos_token() == from_lists->bos_token());
  CHECK(from_json->eos_token() == from_lists->eos_token());
  for (const std::string& text : texts) {
    CAPTURE(text);
    const std::vector<Token> tokens = from_lists->encode(text, {.add_special_tokens = true});
    CHECK(from_json->encode(text, {.add_special_tokens = true}) == tokens);
    CHECK(from_json->decode(tokens) == from_lists->decode(tokens));
  }
}

/// All bytes, then merges, then a control token and one that no text has.
VocabularySpec byte_level_spec(const std::string& pre) {
  VocabularySpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.push_back(to_byte_level(std::string(1, static_cast<char>(byte))));
  for (const char* token : {"ab", "abc", "<|end|>", "[PAD259]"}) spec.tokens.emplace_back(token);
  spec.types.assign(spec.tokens.size(), VocabularySpec::normal);
  spec.types[258] = VocabularySpec::control;
  spec.types[259] = VocabularySpec::unused;
  spec.merges = {"a b", "ab c"};
  spec.pre = pre;
  spec.bos = 258;
  spec.eos = 258;
  return spec;
}

}  // namespace

TEST_CASE("byte-level vocabularies give the same tokens as tokenizer.json", "[format][export]") {
  for (const char* pre : {"smollm", "gpt-2", "llama-bpe", "qwen2", "default"}) {
    VocabularySpec spec = byte_level_spec(pre);
    check_same(spec);
    spec.add_bos = true;
    spec.add_eos = true;
    check_same(spec);
  }
}

TEST_CASE("vocabularies with scores give the same tokens as tokenizer.json", "[format][export]") {
  VocabularySpec spec;
  spec.model = "llama";
  const auto add = [&](const std::string& token, VocabularySpec::Type type, float score) {
    spec.tokens.push_back(token);
    spec.types.push_back(type);
    spec.scores.push_back(score);
  };
  add("<unk>", VocabularySpec::unknown, 0);
  add("<|end|>", VocabularySpec::control, 0);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    add(name, VocabularySpec::byte, 0);
  }
  float score = -1;
  for (const char* token : {"ab",
                            "\xE2\x96\x81"
                            "ab",
                            "abc", "\xE2\x96\x81", "a", "b", "c", "x"}) {
    add(token, VocabularySpec::normal, score--);
  }
  spec.unk = 0;
  spec.bos = spec.eos = 1;
  spec.add_bos = true;
  for (const bool adds_one : {true, false}) {
    spec.spaces.adds_one = adds_one;
    check_same(spec);
  }
}

TEST_CASE("other kinds of vocabulary are refused", "[format][export]") {
  VocabularySpec spec = byte_level_spec("smollm");
  spec.model = "unigram";
  spec.scores.assign(spec.tokens.size(), 0);
  CHECK(test::error_of([&] { (void)tokenizer_json_of(spec); }) == ErrorCode::unsupported);
}
