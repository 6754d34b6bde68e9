// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/gguf_tokenizer_metadata.hpp>

#include <catch2/catch_all.hpp>
#include <string>

#include <tulle/core/mapped_file.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_tokenizer.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;

namespace {

/// What is read from a file of the metadata alone.
struct Written {
  VocabularySpec vocabulary;
  std::string chat_template;
};

Written written(const ModelDescription& model, std::size_t tokens, const std::string& note = "") {
  GgufMetadata metadata;
  ExportNotes notes;
  detail::add_tokenizer(model, tokens, metadata, notes);
  CHECK(notes.lines().size() == (note.empty() ? 0 : 1));
  if (!note.empty()) CHECK_THAT(notes.lines().front(), Catch::Matchers::ContainsSubstring(note));
  const test::TemporaryFolder folder;
  write_gguf(folder.path("m.gguf"), metadata, {});
  const MappedFile bytes(folder.path("m.gguf"));
  const GgufFile file = parse_gguf_metadata(bytes.bytes(), "m.gguf");
  return {gguf_vocabulary(file), chat_template_from_gguf(file)};
}

ModelDescription described(Json config) {
  ModelDescription model;
  model.config = std::move(config);
  model.files["tokenizer.json"] = R"({"added_tokens": [{"id": 3, "content": "<s>", "special": true}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";
  return model;
}

}  // namespace

TEST_CASE("rows of the embedding without a token get one", "[format][export]") {
  const VocabularySpec spec = written(described({{"bos_token_id", 3}, {"eos_token_id", {2, 3}}}), 100).vocabulary;
  CHECK((spec.tokens.size() == 100 && spec.types[99] == VocabularySpec::unused));
  CHECK((spec.tokens[2] == "ab" && spec.tokens[3] == "<s>" && spec.pre == "gpt-2"));
  CHECK((spec.bos == 3 && spec.eos == 2));
}

TEST_CASE("tokens without a row in the embedding are left out", "[format][export]") {
  ModelDescription model = described({{"bos_token_id", 3}, {"eos_token_id", 2}});
  VocabularySpec spec = written(model, 3, "from \"<s>\" (3) on").vocabulary;
  CHECK((spec.tokens == std::vector<std::string>{"a", "b", "ab"} && spec.types.size() == 3));
  CHECK((spec.merges.size() == 1 && !spec.bos && spec.eos == 2));
  spec = written(model, 2, "from \"ab\" (2) on").vocabulary;
  CHECK((spec.tokens.size() == 2 && spec.merges.empty() && !spec.eos));
}

TEST_CASE("flags of tokens are noted", "[format][export]") {
  ModelDescription model = described(Json::object());
  std::string& json = model.files["tokenizer.json"];
  json.insert(json.find("\"special\""), "\"rstrip\": true, ");
  CHECK(written(model, 4, "what \"<s>\" does").vocabulary.tokens.size() == 4);
}

TEST_CASE("tokens beside a sentencepiece model go into the file", "[format][export]") {
  ModelDescription model;
  model.files["tokenizer.model"] = MappedFile(TULLE_GOLDEN "/tokenizers/spm-bpe/tokenizer.model").text();
  model.files["tokenizer_config.json"] = R"({"eos_token": "<|im_end|>"})";
  model.files["added_tokens.json"] = R"({"<|im_end|>": 802})";
  const VocabularySpec spec = written(model, 804).vocabulary;
  CHECK((spec.tokens.size() == 804 && spec.tokens[802] == "<|im_end|>"));
  CHECK((spec.types[802] == VocabularySpec::control && spec.eos == 802));
}

TEST_CASE("of several chat templates the default goes into the file", "[format][export]") {
  ModelDescription model = described(Json::object());
  CHECK(written(model, 4).chat_template.empty());
  model.files["tokenizer_config.json"] =
      R"({"chat_template": [{"name": "rag", "template": "no"}, {"name": "default", "template": "{{ messages }}"}]})";
  CHECK(written(model, 4).chat_template == "{{ messages }}");
  model.files["chat_template.jinja"] = "the file wins";
  CHECK(written(model, 4).chat_template == "the file wins");
}
