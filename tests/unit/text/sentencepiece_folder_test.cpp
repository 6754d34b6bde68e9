// SPDX-License-Identifier: Apache-2.0
#include <tulle/text/sentencepiece_folder.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

using namespace tulle;

namespace {

VocabularySpec made() {
  VocabularySpec spec;
  spec.tokens = {"<unk>", "<s>", "</s>", "a"};
  spec.types = {VocabularySpec::unknown, VocabularySpec::control, VocabularySpec::control, VocabularySpec::normal};
  spec.scores = {0, 0, 0, -1};
  spec.bos = 1;
  spec.eos = 2;
  return spec;
}

}  // namespace

TEST_CASE("the files beside a model add tokens and name roles", "[text][sentencepiece_folder]") {
  const Json config = Json::parse(R"({"eos_token": {"content": "<|im_end|>"}, "bos_token": "not there",
      "add_bos_token": false, "added_tokens_decoder": {"0": {"content": "<unk>", "special": true},
      "5": {"content": "<|im_end|>", "special": true}, "6": {"content": "[INST]", "rstrip": true}}})");
  VocabularySpec spec = made();
  apply_options(sentencepiece_options(config, Json{{"</s>", 2}, {"<x>", 4}}, "folder"), spec);
  CHECK(spec.tokens == std::vector<std::string>{"<unk>", "<s>", "</s>", "a", "<x>", "<|im_end|>", "[INST]"});
  CHECK(spec.types == std::vector<int>{VocabularySpec::unknown, VocabularySpec::control, VocabularySpec::control,
                                       VocabularySpec::normal, VocabularySpec::user_defined, VocabularySpec::control,
                                       VocabularySpec::user_defined});
  CHECK((spec.scores.size() == 7 && spec.model_tokens == 4));
  CHECK((spec.bos == 1 && spec.eos == 5 && !spec.add_bos));
  CHECK((spec.flags == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, VocabularySpec::rstrip} &&
         detail::added_tokens_of(spec).back().rstrip));
}

TEST_CASE("without such files the model's own roles stay", "[text][sentencepiece_folder]") {
  VocabularySpec spec = made();
  apply_options(sentencepiece_options(Json(), Json(), "folder"), spec);
  CHECK((spec.tokens.size() == 4 && spec.bos == 1 && spec.eos == 2 && spec.add_bos && !spec.add_eos));
  SentencePieceOptions far;
  far.added_tokens.push_back({"a", static_cast<Token>(Vocabulary::largest_size), false, false});
  CHECK_THROWS_AS(apply_options(far, spec), Error);
}
