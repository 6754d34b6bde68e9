// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/vocab_merges.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "unit/text/golden_texts.hpp"

using namespace tulle;
using Catch::Matchers::ContainsSubstring;

namespace {

/// CodeGen's folder, rebuilt from the golden list of merges (its form is in tests/golden/codegen_tokenizer.py).
struct Folder {
  Json vocab = Json::object();
  std::string merges = "#version: 0.2\n";
  Json added = Json::object();
  Json config = {
      {"tokenizer_class", "CodeGenTokenizer"}, {"bos_token", "<|endoftext|>"}, {"eos_token", "<|endoftext|>"}};
};

Folder codegen() {
  Folder folder;
  std::vector<std::string> tokens;
  for (const bool is_shifted : {false, true}) {  // the alphabet in the order of its characters
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint16_t character = byte_alphabet.character_of_byte[byte];
      if ((character >= 0x100) == is_shifted) tokens.push_back(to_utf8(character));
    }
  }
  const std::string pairs = golden::read("codegen/merges.bin");
  for (std::size_t at = 0; at < pairs.size(); at += 4) {
    const std::uint32_t pair = golden::word_at(pairs, at);
    const std::string left = tokens[pair & 0xFFFF], right = tokens[pair >> 16];
    folder.merges += left + " " + right + "\n";
    tokens.push_back(left + right);
  }
  tokens.push_back("<|endoftext|>");
  for (std::size_t id = 0; id < tokens.size(); ++id) folder.vocab[tokens[id]] = id;
  for (std::size_t run = 2; run <= 31; ++run) folder.added[std::string(run, ' ')] = 50257 + 31 - run;
  for (std::size_t run = 2; run <= 9; ++run) folder.added[std::string(run, '\t')] = 50287 + 9 - run;
  return folder;
}

}  // namespace

TEST_CASE("CodeGen's vocab.json and merges.txt give the ids of tokenizers", "[text][vocab_merges]") {
  const Folder folder = codegen();
  const auto tokenizer =
      tokenizer_from_vocab_merges(folder.vocab, folder.merges, folder.added, folder.config, "codegen");
  golden::compare(*tokenizer, "codegen");
  CHECK(tokenizer->eos_token() == 50256);
  CHECK(tokenizer->is_special(50256));
  CHECK_FALSE(tokenizer->is_special(50257));
  CHECK(tokenizer->encode("x", {.add_special_tokens = true}).size() == 1);
}

TEST_CASE("roles, flags and line ends of small folders are read", "[text][vocab_merges]") {
  const Json vocab = {{"a", 0}, {"b", 1}, {"ab", 2}, {"<|endoftext|>", 3}};
  const auto plain = tokenizer_from_vocab_merges(vocab, "a b\r\n", Json(), Json(), "dir");
  CHECK(plain->encode("ab<|endoftext|>") == std::vector<Token>{2, 3});
  CHECK(plain->eos_token() == 3);

  Json config = {{"bos_token", "<b>"}, {"add_bos_token", true}};
  config["added_tokens_decoder"]["9"] = {{"content", "<b>"}, {"special", true}, {"rstrip", true}};
  const auto newer = tokenizer_from_vocab_merges(vocab, "#version: 0.2\na b", Json(), config, "dir");
  CHECK(newer->encode("ab<b> b", {.add_special_tokens = true}) == std::vector<Token>{9, 2, 9, 1});
  CHECK(newer->vocabulary_size() == 10);
}

TEST_CASE("broken or foreign folders are errors", "[text][vocab_merges]") {
  const Json vocab = {{"a", 0}, {"b", 1}};
  CHECK_THROWS_WITH(tokenizer_from_vocab_merges(vocab, "a b", Json(), Json(), "dir"),
                    ContainsSubstring("dir") && ContainsSubstring("\"ab\""));
  CHECK_THROWS_WITH(tokenizer_from_vocab_merges(vocab, "ab", Json(), Json(), "dir"), ContainsSubstring("merge 0"));
  CHECK_THROWS_AS(tokenizer_from_vocab_merges(Json::array(), "", Json(), Json(), "dir"), Error);
  CHECK_THROWS_AS(tokenizer_from_vocab_merges(vocab, "", {{"x", "y"}}, Json(), "dir"), Error);
  CHECK_THROWS_WITH(tokenizer_from_vocab_merges(vocab, "", Json(), {{"tokenizer_class", "RobertaTokenizer"}}, "dir"),
                    ContainsSubstring("RobertaTokenizer"));
  Json config;
  config["added_tokens_decoder"]["x"] = {{"content", "<b>"}};
  CHECK_THROWS_AS(tokenizer_from_vocab_merges(vocab, "", Json(), config, "dir"), Error);
}
