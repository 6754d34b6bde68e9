// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/tokenizer_files.hpp>

#include <catch2/catch_all.hpp>
#include <filesystem>
#include <string>
#include <tulle/format/configured_chat_template.hpp>
#include <unit/format/file_builder.hpp>
#include <unit/format/lent_files.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

const std::string tokenizers = TULLE_GOLDEN "/tokenizers/";

/// Byte-level BPE over "a", "b", "ab" and the token "<|x|>".
constexpr std::string_view tokenizer_json = R"({"added_tokens":[{"id":3,"content":"<|x|>","special":true}],
  "normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true},
  "post_processor":null,
  "decoder":{"type":"ByteLevel"},
  "model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}})";

/// The same, in the older form and with other ids.
void write_vocab_merges(const TemporaryFolder& folder) {
  folder.write("vocab.json", R"({"b":0,"a":1,"ab":2,"<|endoftext|>":3})");
  folder.write("merges.txt", "#version: 0.2\na b\n");
}

Bytes golden_bytes(const std::string& path) {
  const MappedFile file(path);
  return {file.bytes().begin(), file.bytes().end()};
}

std::vector<Token> ids(const std::string& path, std::string_view text = "ab") {
  return load_tokenizer(path)->encode(text);
}

}  // namespace

TEST_CASE("a folder with only tokenizer.json, or that file, is a tokenizer", "[format][tokenizer_files]") {
  const TemporaryFolder folder;
  folder.write("tokenizer.json", tokenizer_json);
  CHECK(ids(folder.path(), "aab<|x|>") == std::vector<Token>{0, 2, 3});
  CHECK(ids(folder.path("tokenizer.json"), "aab<|x|>") == std::vector<Token>{0, 2, 3});
  CHECK_FALSE(load_tokenizer(folder.path())->eos_token().has_value());
  folder.write("special_tokens_map.json", R"({"eos_token":{"content":"<|x|>"},"bos_token":"a"})");
  CHECK(load_tokenizer(folder.path())->eos_token() == 3);
  folder.write("tokenizer_config.json", R"({"eos_token":"b"})");
  CHECK(load_tokenizer(folder.path())->eos_token() == 1);
  CHECK(load_tokenizer(folder.path())->bos_token() == 0);
}

TEST_CASE("tokenizer.json comes before vocab.json, and that before a GGUF file", "[format][tokenizer_files]") {
  const TemporaryFolder folder;
  folder.write("model.gguf", tiny_llama_gguf().build());
  CHECK(ids(folder.path(), "c") == std::vector<Token>{4});
  CHECK(ids(folder.path("model.gguf"), "c") == std::vector<Token>{4});
  write_vocab_merges(folder);
  CHECK(ids(folder.path(), "aab") == std::vector<Token>{1, 2});
  CHECK(ids(folder.path(), "<|endoftext|>") == std::vector<Token>{3});
  folder.write("added_tokens.json", R"({"bb":4})");
  CHECK(ids(folder.path(), "abb") == std::vector<Token>{1, 4});
  folder.write("tokenizer.json", tokenizer_json);
  CHECK(ids(folder.path(), "aab") == std::vector<Token>{0, 2});
  CHECK(ids(folder.path("model.gguf"), "c") == std::vector<Token>{4});
}

TEST_CASE("a GGUF file of tensors that are not read still tokenizes", "[format][tokenizer_files]") {
  const std::string path = TULLE_GOLDEN "/models/gguf/k_quants.gguf";
  const auto tokenizer = load_tokenizer(path);
  CHECK(tokenizer->decode(tokenizer->encode("the answer is 42")) == "the answer is 42");
  CHECK(load_chat_template(path).starts_with("{% for message in messages %}"));
}

TEST_CASE("a GGUF tokenizer gives the reference's ids", "[format][tokenizer_files]") {
  const Json golden = parse_json(MappedFile(TULLE_GOLDEN "/models/gguf/f32.golden.json").text(), "golden");
  const auto tokenizer = load_tokenizer(TULLE_GOLDEN "/models/gguf/f32.gguf");
  REQUIRE(golden["texts"].size() > 3);
  for (const Json& entry : golden["texts"]) {
    const auto text = entry["text"].get<std::string>();
    INFO(text);
    CHECK(tokenizer->encode(text) == entry["ids"].get<std::vector<Token>>());
  }
}

TEST_CASE("a sentencepiece model is read", "[format][tokenizer_files]") {
  const std::string path = tokenizers + "spm-bpe/tokenizer.model";
  const auto tokenizer = load_tokenizer(path);
  CHECK(tokenizer->decode(tokenizer->encode("hello world")) == "hello world");
  CHECK(tokenizer->encode("x", {.add_special_tokens = true}).front() == tokenizer->bos_token());
  CHECK(load_tokenizer(tokenizers + "spm-bpe")->vocabulary_size() == tokenizer->vocabulary_size());
  const TemporaryFolder folder;
  folder.write("tokenizer.model", golden_bytes(path));
  folder.write("added_tokens.json", R"({"[INST]": 802})");
  folder.write("tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true})");
  const auto with_added = load_tokenizer(folder.path());
  CHECK(with_added->vocabulary_size() == 803);
  std::vector<Token> expected{802};
  for (const Token token : tokenizer->encode("the")) expected.push_back(token);
  expected.push_back(*tokenizer->eos_token());
  CHECK(with_added->encode("[INST]the", {.add_special_tokens = true}) == expected);
  folder.write("tokenizer_config.json", R"({"eos_token": "<|im_end|>", "added_tokens_decoder": {
    "802": {"content": "<|im_end|>", "special": true}, "803": {"content": "[INST]", "special": false}}})");
  const std::string end = tokenizer->piece(*tokenizer->eos_token());
  folder.write("added_tokens.json", "{\"" + end + "\": " + std::to_string(*tokenizer->eos_token()) + "}");
  const auto configured = load_tokenizer(folder.path());
  CHECK(configured->eos_token() == 802);
  CHECK((configured->is_special(802) && !configured->is_special(803)));
  CHECK(configured->is_special(*tokenizer->eos_token()));  // naming it again does not make it text
  CHECK(error_of([&] { load_tokenizer(folder.write("other.model", "no model")); }) == ErrorCode::malformed);
  const auto unigram = load_tokenizer(tokenizers + "spm-unigram");
  CHECK(unigram->vocabulary_size() == 800);
  CHECK(unigram->decode(unigram->encode("  hello\n world ")) == "hello world");
}

TEST_CASE("a missing tokenizer is an error that lists what was looked for", "[format][tokenizer_files]") {
  const TemporaryFolder folder;
  CHECK(error_of([&] { load_tokenizer(folder.path()); }) == ErrorCode::not_found);
  const std::string message = message_of([&] { load_tokenizer(folder.path()); });
  for (const char* name : {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer.model", ".gguf"}) {
    CHECK(message.find(name) != std::string::npos);
  }
  folder.write("vocab.json", "{}");  // without merges.txt
  CHECK(error_of([&] { load_tokenizer(folder.path()); }) == ErrorCode::not_found);
  CHECK(error_of([&] { load_tokenizer(folder.path("none")); }) == ErrorCode::not_found);
  CHECK(error_of([&] { load_tokenizer(folder.write("a.txt", "x")); }) == ErrorCode::unsupported);
  CHECK(error_of([&] { load_tokenizer(folder.write("tokenizer.json", "{")); }) == ErrorCode::malformed);
  CHECK(error_of([&] { load_tokenizer(folder.write("bare.gguf", GgufBuilder().build())); }) == ErrorCode::not_found);
}

TEST_CASE("a model may come without a tokenizer, but not with a broken one", "[format][tokenizer_files]") {
  const TemporaryFolder folder;
  CHECK(load_tokenizer_if_any(folder.path())->vocabulary_size() == 0);
  CHECK(load_tokenizer_if_any(TULLE_GOLDEN "/models/gguf/f32.gguf")->vocabulary_size() == 288);
  const std::string broken = folder.write("tokenizer.json", "{");
  CHECK(error_of([&] { load_tokenizer_if_any(broken); }) == ErrorCode::malformed);
}

TEST_CASE("chat templates are found in their three places", "[format][tokenizer_files]") {
  const TemporaryFolder folder;
  CHECK(load_chat_template(folder.path()).empty());
  folder.write("model.gguf", tiny_llama_gguf().build());
  CHECK(load_chat_template(folder.path()) == "{{ messages }}");
  CHECK(load_chat_template(folder.path("model.gguf")) == "{{ messages }}");
  folder.write("tokenizer_config.json", "{}");
  CHECK(load_chat_template(folder.path()).empty());
  folder.write("tokenizer_config.json", R"({"chat_template":"one"})");
  CHECK(load_chat_template(folder.path()) == "one");
  folder.write("tokenizer_config.json",
               R"({"chat_template":[{"name":"rag","template":"no"},{"name":"default","template":"two"}]})");
  CHECK(load_chat_template(folder.path()) == "two");
  folder.write("tokenizer.json", tokenizer_json);
  CHECK(load_chat_template(folder.path("tokenizer.json")) == "two");
  folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"rag","template":"no"}]})");
  CHECK(load_chat_template(folder.path()).empty());
  folder.write("chat_template.jinja", "three\n");
  CHECK(load_chat_template(folder.path()) == "three\n");
  std::filesystem::create_directory(folder.path("additional_chat_templates"));
  folder.write("additional_chat_templates/tool_use.jinja", "tools");
  CHECK(load_chat_template(folder.path()) == detail::chat_template_of("three\n", "tools"));
  CHECK(error_of([&] { load_chat_template(folder.path("none")); }) == ErrorCode::not_found);
}

TEST_CASE("lent files have the tokenizer and the template of the same files on disk", "[format][tokenizer_files]") {
  for (const std::string path : {TULLE_GOLDEN "/tokenizers/llama3-style", TULLE_GOLDEN "/tokenizers/qwen-style",
                                 TULLE_GOLDEN "/models/gguf/f32.gguf"}) {
    INFO(path);
    const GivenFiles files = lent_files(path);
    const std::string text = "def f(x):\n    return x + 1";
    CHECK(load_tokenizer(files)->encode(text) == load_tokenizer(path)->encode(text));
    CHECK(load_chat_template(files) == load_chat_template(path));
  }
  const TemporaryFolder folder;
  folder.write("config.json", "{}");
  folder.write("a.txt", "");
  CHECK(error_of([&] { load_tokenizer(lent_files(folder.path())); }) == ErrorCode::not_found);
}
