// SPDX-License-Identifier: Apache-2.0
#ifdef TULLE_WITH_SENTENCEPIECE
#include <tulle/text/sentencepiece.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include "unit/text/golden_texts.hpp"

using namespace tulle;

namespace {

using Tokens = std::vector<Token>;

std::string model(const std::string& name) {
  return golden::read(name + "/tokenizer.model");
}

}  // namespace

TEST_CASE("ids and texts of sentencepiece models are the library's", "[text][sentencepiece]") {
  for (const char* name : {"spm-bpe", "spm-unigram", "spm-bpe-map", "spm-unigram-bare"}) {
    INFO(name);
    // The library itself never finds control pieces in the text.
    golden::compare(*tokenizer_from_sentencepiece(model(name)), name, {.parse_special_tokens = false});
  }
}

TEST_CASE("control pieces and added tokens are found in the text", "[text][sentencepiece]") {
  SentencePieceOptions options;
  options.added_tokens = {{"[INST]", 800, true}, {"<extra>", 805, false}};
  const auto tokenizer = tokenizer_from_sentencepiece(model("spm-bpe"), options);
  const Token bos = *tokenizer->bos_token(), eos = *tokenizer->eos_token();
  const Tokens hello = tokenizer->encode("the");
  Tokens expected = {800};
  expected.insert(expected.end(), hello.begin(), hello.end());
  expected.insert(expected.end(), {eos, bos, 805, *tokenizer->find("<ctl>")});
  CHECK(tokenizer->encode("[INST]the</s><s><extra><ctl>") == expected);
  CHECK(tokenizer->vocabulary_size() == 806);
  CHECK(tokenizer->is_special(eos));
  CHECK_FALSE(tokenizer->is_special(805));
  CHECK(tokenizer->find("[INST]") == 800);
  CHECK_FALSE(tokenizer->find("no such piece"));
  CHECK(tokenizer->decode(Tokens{bos, 805, 803, -1, 90000}) == "<s><extra>");

  Tokens with_bos = {bos};
  with_bos.insert(with_bos.end(), hello.begin(), hello.end());
  CHECK(tokenizer->encode("the", {.add_special_tokens = true}) == with_bos);
  CHECK(tokenizer->decode(with_bos, true) == "the");
  CHECK(tokenizer->decode(with_bos) == "<s> the");
}

TEST_CASE("a megabyte of one character is encoded quickly", "[text][sentencepiece]") {
  const auto tokenizer = tokenizer_from_sentencepiece(model("spm-bpe"));
  CHECK(tokenizer->encode(std::string(1 << 20, 'a')).size() > 1000);
}

TEST_CASE("what is not a model is an error", "[text][sentencepiece]") {
  const std::string whole = model("spm-bpe");
  CHECK_THROWS_WITH(tokenizer_from_sentencepiece("not a model", {}, "dir/x.model"),
                    Catch::Matchers::ContainsSubstring("dir/x.model"));
  CHECK_THROWS_AS(tokenizer_from_sentencepiece(""), Error);
  for (std::size_t size = 1; size < whole.size(); size += 97) {
    // A truncated model that still loads (cut between two pieces) must at least work.
    std::unique_ptr<Tokenizer> tokenizer;
    try {
      tokenizer = tokenizer_from_sentencepiece(whole.substr(0, size));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::malformed);
    }
    if (tokenizer) CHECK(tokenizer->decode(tokenizer->encode("a b")).size() <= 100);
  }
}
#endif
