// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/export/gguf_form.hpp>

#include <catch2/catch_all.hpp>
#include <string>
#include <vector>

#include <tulle/core/mapped_file.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/model/families.hpp>
#include <tulle/model/rotary_scaling.hpp>

#include "unit/format/export/made_model.hpp"
#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::testing;

namespace {

/// What is read from the file that a form makes.
std::shared_ptr<const Checkpoint> written(const TensorSource& source, const ModelDescription& model, DType type) {
  const test::TemporaryFolder folder;
  const GgufForm form = gguf_form(source, model, type);
  write_gguf(folder.path("m.gguf"), form.metadata, form.tensors);
  const MappedFile file(folder.path("m.gguf"));
  return Checkpoint::from_gguf_bytes({file.bytes().begin(), file.bytes().end()}, "m.gguf");
}

ModelDescription described(Json config) {
  ModelDescription model;
  model.config = std::move(config);
  return model;
}

}  // namespace

TEST_CASE("a Llama model comes back from its GGUF file", "[format][export]") {
  const Json config = llama_config();
  const MemorySource source = random_tensors(describe_model(config, "c"), DType::f16);
  const auto copy = written(source, described(config), DType::f16);
  for (const char* key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim",
                          "intermediate_size", "max_position_embeddings", "tie_word_embeddings", "vocab_size"}) {
    CAPTURE(key);
    CHECK(copy->config().at(key) == config.at(key));
  }
  const ModelParts parts = model_parts(source, Json::object());
  CHECK(parts.matrices.size() == 16);
  for (const MatrixPart& part : parts.matrices) {
    CAPTURE(part.name);
    CHECK(values_of(*copy->matrix(part.name)) == values_of(*source.matrix(part.name)));
  }
  for (const std::string& name : parts.tensors) CHECK(read_floats(*copy, *copy->find(name)) == source.floats(name));
}

TEST_CASE("every family with an architecture comes back from its GGUF file", "[format][export]") {
  for (const auto& architecture : detail::gguf_architectures) {
    CAPTURE(architecture.model_type);
    if (!architecture.is_written) continue;
    Json config = llama_config();
    config["model_type"] = architecture.model_type;
    if (config["model_type"] == "granite") config["residual_multiplier"] = 0.25;
    const Architecture model = describe_model(config, "c");
    const MemorySource source = random_tensors(model, DType::f16);
    const auto copy = written(source, described(config), DType::f16);
    const Architecture again = describe_model(copy->config(), "c");
    CHECK(again.family == model.family);
    CHECK(again.residual_scale == model.residual_scale);
    for (const std::string& name : source.names()) {
      CAPTURE(name);
      const EncodedTensor* tensor = copy->find(name);
      REQUIRE(tensor != nullptr);
      if (tensor->shape.size() == 1) CHECK(read_floats(*copy, *tensor) == read_floats(source, *source.find(name)));
    }
    for (const MatrixPart& part : model_parts(source, Json::object()).matrices) {
      CHECK(values_of(*copy->matrix(part.name)) == values_of(*source.matrix(part.name)));
    }
  }
}

TEST_CASE("a config without key-value heads has as many as heads", "[format][export]") {
  Json config = llama_config();
  config["num_key_value_heads"] = nullptr;
  const Architecture model = describe_model(config, "c");
  const MemorySource source = random_tensors(model, DType::f16);
  const auto copy = written(source, described(config), DType::f16);
  CHECK(copy->config().at("num_key_value_heads") == config.at("num_attention_heads"));
  for (const MatrixPart& part : model_parts(source, Json::object()).matrices) {
    CHECK(values_of(*copy->matrix(part.name)) == values_of(*source.matrix(part.name)));
  }
}

TEST_CASE("biases of rotary heads are in the file's order, too", "[format][export]") {
  Json config = llama_config();
  config["attention_bias"] = true;
  const MemorySource source = random_tensors(describe_model(config, "c"), DType::f16);
  const auto copy = written(source, described(config), DType::q8_0);
  CHECK(copy->config().at("attention_bias") == true);
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    const std::string bias = "model.layers.1.self_attn." + std::string(name) + ".bias";
    CHECK(read_floats(*copy, *copy->find(bias)) == source.floats(bias));
  }
}

TEST_CASE("types follow from the wanted one, the role and the width of a matrix", "[format][export]") {
  MadeModel model;
  model.tensors = random_tensors(describe_model(llama_config(), "c"), DType::f16);
  model.put("model.layers.0.mlp.up_proj", 96, 64, int4_groups);
  model.tensors.put_random("model.layers.0.mlp.gate_proj.weight", DType::f16, 96, 40, 1);
  model.tensors.put("model.layers.0.mask", DType::boolean, {2}, std::vector<std::byte>(2));
  GgufForm form = gguf_form(model, described(llama_config()), DType::q4_0);
  const auto type = [&](const std::string& name) {
    for (const OutputTensor& tensor : form.tensors) {
      if (tensor.name == name) return tensor.dtype;
    }
    return DType::boolean;
  };
  CHECK(type("token_embd.weight") == DType::q8_0);
  CHECK(type("output.weight") == DType::q8_0);
  CHECK(type("blk.0.ffn_up.weight") == DType::q4_0);
  CHECK(type("blk.0.ffn_gate.weight") == DType::f16);
  CHECK(type("blk.0.attn_norm.weight") == DType::f32);
  CHECK(form.notes.lines().size() == 3);  // no tokenizer, the mask, the gate
  model.put("model.embed_tokens", 100, 64, int4_groups);
  form = gguf_form(model, described(llama_config()), DType::q4_0);
  CHECK(type("token_embd.weight") == DType::q4_0);
}

TEST_CASE("rotary scaling becomes metadata or divisors", "[format][export]") {
  Json config = llama_config();
  const MemorySource source = random_tensors(describe_model(config, "c"), DType::f16);
  const auto frequencies = [&](const Json& scaling) {
    config["rope_scaling"] = scaling;
    const auto copy = written(source, described(config), DType::f16);
    const auto here = rotary_table(config, 16, "c").inverse_frequencies,
               there = rotary_table(copy->config(), 16, "c").inverse_frequencies;
    REQUIRE(here.size() == there.size());
    for (std::size_t i = 0; i < here.size(); ++i) CHECK(there[i] == Catch::Approx(here[i]).epsilon(1e-6));
  };
  frequencies({{"rope_type", "linear"}, {"factor", 4.0}});
  frequencies({{"rope_type", "llama3"},
               {"factor", 8.0},
               {"low_freq_factor", 1.0},
               {"high_freq_factor", 4.0},
               {"original_max_position_embeddings", 64}});
  frequencies({{"rope_type", "factors"}, {"factors", {1, 1, 1.5, 2, 3, 4, 5, 6}}});
  config["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", 2.0}};
  CHECK(test::error_of([&] { (void)gguf_form(source, described(config), DType::f16); }) == ErrorCode::unsupported);
}

TEST_CASE("keys that a config leaves out are those of its family", "[format][export]") {
  Json config = llama_config();
  config["model_type"] = "smollm3";
  config["num_key_value_heads"] = 4;
  const MemorySource source = random_tensors(describe_model(config, "c"), DType::f16);
  for (const char* key : {"rope_theta", "num_key_value_heads"}) config.erase(key);
  const Architecture model = describe_model(config, "c");
  const auto copy = written(source, described(config), DType::f16);
  const Architecture again = describe_model(copy->config(), "c");
  CHECK(again.kv_heads == model.kv_heads);
  CHECK(again.rotary_tables[0].inverse_frequencies == model.rotary_tables[0].inverse_frequencies);
  CHECK(values_of(*copy->matrix("model.layers.0.self_attn.k_proj")) ==
        values_of(*source.matrix("model.layers.0.self_attn.k_proj")));
}

TEST_CASE("what a GGUF file cannot say is refused", "[format][export]") {
  for (const auto& [key, value] :
       {std::pair<const char*, Json>{"hidden_act", "relu"}, {"partial_rotary_factor", 0.5}}) {
    Json config = llama_config();
    const MemorySource source = random_tensors(describe_model(config, "c"), DType::f16);
    config[key] = value;
    CHECK(test::error_of([&] { (void)gguf_form(source, described(config), DType::f16); }) == ErrorCode::unsupported);
  }
}

TEST_CASE("the tokenizer goes into the file", "[format][export]") {
  const MemorySource source = random_tensors(describe_model(llama_config(), "c"), DType::f16);
  ModelDescription model = described(llama_config());
  model.files["tokenizer.json"] = R"({"added_tokens": [{"id": 3, "content": "<s>", "special": true}],
      "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
      "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}})";
  model.files["tokenizer_config.json"] = R"({"bos_token": "<s>", "chat_template": "{{ messages }}"})";
  const auto copy = written(source, model, DType::q8_0);
  const VocabularySpec spec = gguf_vocabulary(*copy->gguf());
  CHECK(spec.tokens.size() == 100);  // as many as the embedding has rows
  CHECK((spec.tokens[2] == "ab" && spec.tokens[3] == "<s>" && spec.pre == "gpt-2"));
  CHECK((spec.bos == 3 && spec.eos == 2));
  CHECK(chat_template_from_gguf(*copy->gguf()) == "{{ messages }}");
  const ModelDescription again = describe_checkpoint(*copy);
  CHECK(gguf_vocabulary(*written(*copy, again, DType::q8_0)->gguf()).tokens == spec.tokens);
}

TEST_CASE("other families and types are refused", "[format][export]") {
  const MemorySource source = random_tensors(describe_model(llama_config(), "c"), DType::f16);
  CHECK(test::error_of([&] { (void)gguf_form(source, described(codegen_config()), DType::f16); }) ==
        ErrorCode::unsupported);
  const std::string message =
      test::message_of([&] { (void)gguf_form(source, described({{"model_type", "falcon"}}), DType::f16); });
  CHECK(message.find("\"falcon\"") != std::string::npos);
  CHECK(test::error_of([&] { (void)gguf_form(source, described(llama_config()), DType::q6_k); }) ==
        ErrorCode::invalid_argument);
  Json config = llama_config();
  config["model_type"] = "smollm3";
  config["no_rope_layers"] = {1, 0};
  CHECK(test::error_of([&] { (void)gguf_form(source, described(config), DType::f16); }) == ErrorCode::unsupported);
  config = llama_config();
  config.erase("hidden_size");
  CHECK(test::error_of([&] { (void)gguf_form(source, described(config), DType::f16); }) == ErrorCode::malformed);
}
