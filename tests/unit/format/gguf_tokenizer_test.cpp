// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_tokenizer.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/format/gguf.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

VocabularySpec spec_of(const GgufBuilder& gguf) {
  const Bytes bytes = gguf.build();
  return gguf_vocabulary(parse_gguf_metadata(bytes, "f.gguf"));
}

std::optional<ErrorCode> code_of(const GgufBuilder& gguf) {
  return error_of([&] { spec_of(gguf); });
}

GgufBuilder words(const std::string& model) {
  GgufBuilder gguf;
  gguf.text("tokenizer.ggml.model", model)
      .array<std::string>("tokenizer.ggml.tokens", 8, {"<unk>", "<s>", "</s>", "a"});
  return gguf;
}

}  // namespace

TEST_CASE("the vocabulary of a GGUF file is handed on as it is", "[format][gguf_tokenizer]") {
  const VocabularySpec spec = spec_of(tiny_llama_gguf());
  CHECK(spec.tokens == std::vector<std::string>{"a", "b", "ab", "<|end|>", "c", "d"});
  CHECK(spec.types == std::vector<int>{1, 1, 1, 3, 1, 1});
  CHECK(spec.merges == std::vector<std::string>{"a b"});
  CHECK(spec.scores.empty());
  CHECK(spec.model == "gpt2");
  CHECK(spec.pre == "smollm");
  CHECK(spec.bos == 3);
  CHECK(spec.eos == 3);
  CHECK_FALSE(spec.unk.has_value());
  CHECK_FALSE(spec.add_bos);
  CHECK_FALSE(spec.add_eos);
  CHECK(spec.where == "f.gguf");
}

TEST_CASE("the end of a turn is a control token, whatever the file says", "[format][gguf_tokenizer]") {
  GgufBuilder gguf;
  gguf.text("tokenizer.ggml.model", "gpt2")
      .array<std::string>("tokenizer.ggml.tokens", 8, {"a", "<|end|>", "<|user|>"});
  CHECK(spec_of(gguf).types == std::vector<int>{1, VocabularySpec::control, 1});
  gguf.array<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 4, 4});
  CHECK(spec_of(gguf).types == std::vector<int>{1, VocabularySpec::control, VocabularySpec::user_defined});
}

TEST_CASE("defaults are llama.cpp's", "[format][gguf_tokenizer]") {
  const VocabularySpec spm = spec_of(words("llama").array<float>("tokenizer.ggml.scores", 6, {0, 0, 0, -1}));
  CHECK(spm.unk == 0);
  CHECK(spm.bos == 1);
  CHECK(spm.eos == 2);
  CHECK(spm.add_bos);
  CHECK(spm.spaces.adds_one);
  CHECK(spm.scores == std::vector<float>{0, 0, 0, -1});
  CHECK_FALSE(spec_of(words("gpt2")).add_bos);
  CHECK(spec_of(words("gpt2").text("tokenizer.ggml.pre", "llama-bpe")).add_bos);
  CHECK_FALSE(spec_of(words("llama").value<std::uint8_t>("tokenizer.ggml.add_bos_token", 7, 0)).add_bos);
  CHECK(spec_of(words("llama").value<std::uint8_t>("tokenizer.ggml.add_eos_token", 7, 1)).add_eos);
}

TEST_CASE("tokens of Phi-3 take the white space behind them", "[format][gguf_tokenizer]") {
  const auto ids = [](const std::string& name) {
    GgufBuilder gguf;
    gguf.text("tokenizer.ggml.model", "llama")
        .text("general.name", name)
        .array<std::string>("tokenizer.ggml.tokens", 8,
                            {"<unk>", "<s>", "</s>", "\u2581", "i", "\u2581i", "<|user|>", "<|end|>", "<0x0A>"})
        .array<std::int32_t>("tokenizer.ggml.token_type", 5, {2, 3, 4, 1, 1, 1, 3, 3, 6})
        .array<float>("tokenizer.ggml.scores", 6, {0, 0, 0, -2, -3, -1, 0, 0, 0});
    const Bytes bytes = gguf.build();
    return tokenizer_from_gguf(parse_gguf_metadata(bytes, "f"))->encode("<s>\n<|user|>\ni<|end|>\n</s>  i");
  };
  const std::vector<Token> kept{1, 3, 8, 6, 3, 8, 4, 7, 3, 8, 2};
  std::vector<Token> other = ids("Llama 2");
  other.resize(kept.size());
  CHECK(other == kept);
  CHECK(ids("Phi 3.5 mini") == ids("Llama 2"));
  CHECK(ids("Microsoft Phi-3 Mini 4k") == std::vector<Token>{1, 3, 8, 6, 5, 7, 2, 5});
}

TEST_CASE("a tokenizer is built and a template found", "[format][gguf_tokenizer]") {
  const Bytes bytes = tiny_llama_gguf().build();
  const GgufFile file = parse_gguf(bytes, "f");
  const auto tokenizer = tokenizer_from_gguf(file);
  CHECK(tokenizer->encode("abc<|end|>") == std::vector<Token>{2, 4, 3});
  CHECK(tokenizer->decode(std::vector<Token>{2, 4}) == "abc");
  CHECK(chat_template_from_gguf(file) == "{{ messages }}");
  CHECK(chat_template_from_gguf(GgufFile()).empty());
  const Bytes with_tools = tiny_llama_gguf().text("tokenizer.chat_template.tool_use", "{{ tools }}").build();
  CHECK(chat_template_from_gguf(parse_gguf(with_tools, "f")) ==
        detail::chat_template_of("{{ messages }}", "{{ tools }}"));
}

TEST_CASE("a missing or malformed vocabulary is an error", "[format][gguf_tokenizer]") {
  CHECK(code_of(GgufBuilder()) == ErrorCode::not_found);
  CHECK(code_of(GgufBuilder().array<float>("tokenizer.ggml.tokens", 6, {1})) == ErrorCode::malformed);
  CHECK(code_of(words("gpt2").array<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, 7})) ==
        ErrorCode::malformed);
  CHECK(code_of(words("gpt2").array<std::int32_t>("tokenizer.ggml.token_type", 5, {1, 1, 1, -1})) ==
        ErrorCode::malformed);
  CHECK(code_of(words("gpt2").u32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF)) == ErrorCode::malformed);
  CHECK(code_of(words("gpt2").value<std::int32_t>("tokenizer.ggml.eos_token_id", 5, -1)) == ErrorCode::malformed);
  CHECK(code_of(words("gpt2").f32("tokenizer.ggml.eos_token_id", 1)) == ErrorCode::malformed);
  CHECK(code_of(words("gpt2").u32("tokenizer.ggml.add_bos_token", 1)) == ErrorCode::malformed);
  const Bytes outside = words("gpt2").u32("tokenizer.ggml.bos_token_id", 4).build();
  CHECK(error_of([&] { tokenizer_from_gguf(parse_gguf(outside, "f")); }) == ErrorCode::malformed);
}

TEST_CASE("a vocabulary cut or changed anywhere becomes a tokenizer or is refused", "[format][gguf_tokenizer]") {
  GgufBuilder gguf = words("gpt2").text("tokenizer.ggml.pre", "smollm");
  gguf.array<std::int32_t>("tokenizer.ggml.token_type", 5, {3, 3, 3, 1}).u32("tokenizer.ggml.bos_token_id", 1);
  survive_mutations(gguf.build(), 500, [](const Bytes& bytes) {
    const auto tokenizer = tokenizer_from_gguf(parse_gguf_metadata(bytes, "f"));
    tokenizer->decode(tokenizer->encode("abc <|end|>\xFF", {.add_special_tokens = true}));
  });
}
