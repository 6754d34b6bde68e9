// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/sentencepiece_vocabulary.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include "golden_texts.hpp"

using namespace tulle;

namespace {

ErrorCode code_of(const std::string& model) {
  try {
    (void)sentencepiece_vocabulary(model, "m");
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode{};
}

}  // namespace

TEST_CASE("ids and texts of a plain BPE model are the sentencepiece library's", "[text][sentencepiece_vocabulary]") {
  const VocabularySpec spec = sentencepiece_vocabulary(golden::read("spm-bpe/tokenizer.model"), "spm-bpe");
  CHECK(spec.tokens.size() == 800);
  CHECK(spec.tokens.at(1) == "<s>");
  CHECK((spec.unk == 0 && spec.bos == 1 && spec.eos == 2));
  golden::compare(*tokenizer_from_vocabulary(spec), "spm-bpe", {.parse_special_tokens = false});
}

TEST_CASE("other kinds of models say that they need the library", "[text][sentencepiece_vocabulary]") {
  CHECK(code_of(golden::read("spm-unigram/tokenizer.model")) == ErrorCode::unsupported);
  CHECK(code_of("") == ErrorCode::malformed);
  CHECK(code_of("no model") == ErrorCode::malformed);
  std::string cut = golden::read("spm-bpe/tokenizer.model");
  cut.resize(cut.size() - 3);
  CHECK(code_of(cut) == ErrorCode::malformed);
}
