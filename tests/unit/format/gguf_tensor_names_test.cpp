// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_tensor_names.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tulle/format/checkpoint.hpp>

#include "unit/format/file_builder.hpp"

using namespace tulle;
using namespace tulle::test;

namespace {

/// 4 heads of 6 dimensions on 2 of keys and values, 3 experts where there are any.
GgufModel model_of(std::string_view model_type) {
  GgufModel model;
  for (const detail::GgufArchitecture& each : detail::gguf_architectures) {
    if (each.model_type == model_type) model.architecture = &each;
  }
  model.layers = 20;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_dim = model.rotary_dim = 6;
  model.experts = 3;
  return model;
}

std::vector<EncodedTensor> tensors_of(std::string_view model_type, const std::string& name,
                                      std::vector<std::size_t> shape) {
  return huggingface_tensors({name, DType::f32, std::move(shape), {}}, model_of(model_type), "f.gguf");
}

std::string name_of(std::string_view model_type, const std::string& name) {
  const auto tensors = tensors_of(model_type, name, {4, 4});
  REQUIRE(tensors.size() == 1);
  return tensors[0].name;
}

RowOrder order_of(std::string_view model_type, const std::string& name, std::vector<std::size_t> shape) {
  return tensors_of(model_type, name, std::move(shape)).at(0).order;
}

std::optional<ErrorCode> code_of(std::string_view model_type, const std::string& name, std::vector<std::size_t> shape) {
  return error_of([&] { (void)tensors_of(model_type, name, std::move(shape)); });
}

}  // namespace

TEST_CASE("tensors get their Hugging Face names", "[format][gguf_tensor_names]") {
  CHECK(name_of("llama", "token_embd.weight") == "model.embed_tokens.weight");
  CHECK(name_of("llama", "output_norm.weight") == "model.norm.weight");
  CHECK(name_of("llama", "output.weight") == "lm_head.weight");
  CHECK(name_of("llama", "blk.0.attn_norm.weight") == "model.layers.0.input_layernorm.weight");
  CHECK(name_of("llama", "blk.12.attn_q.weight") == "model.layers.12.self_attn.q_proj.weight");
  CHECK(name_of("llama", "blk.12.attn_k.bias") == "model.layers.12.self_attn.k_proj.bias");
  CHECK(name_of("llama", "blk.1.attn_v.weight") == "model.layers.1.self_attn.v_proj.weight");
  CHECK(name_of("llama", "blk.1.attn_output.weight") == "model.layers.1.self_attn.o_proj.weight");
  CHECK(name_of("llama", "blk.1.ffn_norm.weight") == "model.layers.1.post_attention_layernorm.weight");
  CHECK(name_of("llama", "blk.1.ffn_gate.weight") == "model.layers.1.mlp.gate_proj.weight");
  CHECK(name_of("llama", "blk.1.ffn_up.weight") == "model.layers.1.mlp.up_proj.weight");
  CHECK(name_of("llama", "blk.1.ffn_down.weight") == "model.layers.1.mlp.down_proj.weight");
  for (const char* name : {"", ".", "blk.", "blk.1.weight", "blk.1.other.weight", "rope_freqs.weight", "token_embd",
                           "blk..weight", "blk.1.attn_norm_2.weight", "attn_q.weight", "position_embd.weight"}) {
    CHECK(name_of("llama", name) == name);
  }
}

TEST_CASE("families have names of their own", "[format][gguf_tensor_names]") {
  CHECK(name_of("gemma2", "blk.1.ffn_norm.weight") == "model.layers.1.pre_feedforward_layernorm.weight");
  CHECK(name_of("olmo2", "blk.1.post_ffw_norm.weight") == "model.layers.1.post_feedforward_layernorm.weight");
  CHECK(name_of("phi", "output_norm.bias") == "model.final_layernorm.bias");
  CHECK(name_of("phi", "output.bias") == "lm_head.bias");
  CHECK(name_of("phi3", "blk.1.attn_qkv.weight") == "model.layers.1.self_attn.qkv_proj.weight");
  CHECK(name_of("starcoder2", "blk.1.ffn_down.bias") == "model.layers.1.mlp.c_proj.bias");
  CHECK(name_of("gpt2", "position_embd.weight") == "transformer.wpe.weight");
  CHECK(name_of("gpt2", "blk.1.attn_qkv.bias") == "transformer.h.1.attn.c_attn.bias");
  CHECK(name_of("gpt2", "blk.1.attn_q.bias") == "blk.1.attn_q.bias");
  CHECK(name_of("gpt_neox", "output.weight") == "embed_out.weight");
  CHECK(name_of("bloom", "token_embd_norm.bias") == "transformer.word_embeddings_layernorm.bias");
  CHECK(name_of("mpt", "blk.1.attn_qkv.weight") == "transformer.blocks.1.attn.Wqkv.weight");
  CHECK(name_of("falcon", "blk.1.attn_norm.weight") == "transformer.h.1.input_layernorm.weight");
  GgufModel big = model_of("falcon");
  --big.architecture;  // with two norms
  const auto norm = huggingface_tensors({"blk.1.attn_norm.weight", DType::f32, {4}, {}}, big, "f");
  CHECK(norm.at(0).name == "transformer.h.1.ln_mlp.weight");
}

TEST_CASE("rows of rotary heads lie as adjacent pairs, in weights and biases", "[format][gguf_tensor_names]") {
  for (const char* family : {"llama", "granite", "smollm3", "mixtral"}) {
    CHECK(order_of(family, "blk.0.attn_q.weight", {24, 8}) == RowOrder::halves_of_pairs(4, 6));
    CHECK(order_of(family, "blk.0.attn_q.bias", {24}) == RowOrder::halves_of_pairs(4, 6));
    CHECK(order_of(family, "blk.3.attn_k.weight", {12, 8}) == RowOrder::halves_of_pairs(2, 6));
    for (const char* name :
         {"blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_up.weight", "output.weight"}) {
      CHECK(order_of(family, name, {24, 8}).as_it_lies());
    }
  }
  for (const char* family : {"qwen2", "olmo2", "gemma", "starcoder2", "qwen3_moe"}) {
    CHECK(order_of(family, "blk.0.attn_q.weight", {24, 8}).as_it_lies());
  }
  // Other shapes are refused by who loads them.
  CHECK(order_of("llama", "blk.0.attn_q.weight", {12, 8}).as_it_lies());
  CHECK(order_of("llama", "blk.0.attn_q.weight", {}).as_it_lies());
  CHECK(order_of("falcon", "blk.0.attn_qkv.weight", {47, 8}).as_it_lies());
}

TEST_CASE("stacked queries, keys and values are put into blocks", "[format][gguf_tensor_names]") {
  for (const char* family : {"falcon", "bloom", "gpt_neox"}) {
    CHECK(order_of(family, "blk.0.attn_qkv.weight", {48, 8}) == RowOrder::blocks_of_stacked(2, 12, 6));
    CHECK(order_of(family, "blk.0.attn_qkv.bias", {48}) == RowOrder::blocks_of_stacked(2, 12, 6));
    CHECK(order_of(family, "blk.0.attn_output.weight", {48, 8}).as_it_lies());
  }
  CHECK(order_of("mpt", "blk.0.attn_qkv.weight", {48, 8}).as_it_lies());
}

TEST_CASE("norms that hold 1 + weight say so", "[format][gguf_tensor_names]") {
  CHECK(tensors_of("gemma", "blk.0.attn_norm.weight", {4}).at(0).offset == -1);
  CHECK(tensors_of("gemma", "output_norm.weight", {4}).at(0).offset == -1);
  CHECK(tensors_of("gemma3_text", "blk.0.attn_q_norm.weight", {4}).at(0).offset == -1);
  CHECK(tensors_of("gemma", "blk.0.ffn_up.weight", {4, 4}).at(0).offset == 0);
  CHECK(tensors_of("olmo2", "blk.0.attn_q_norm.weight", {4}).at(0).offset == 0);
}

TEST_CASE("fused queries, keys and values are parts of one tensor", "[format][gguf_tensor_names]") {
  const Bytes bytes = float_bytes(48 * 2);
  const auto tensors =
      huggingface_tensors({"blk.2.attn_qkv.weight", DType::f32, {48, 2}, bytes, 64}, model_of("llama"), "f");
  REQUIRE(tensors.size() == 3);
  CHECK(tensors[0].name == "model.layers.2.self_attn.q_proj.weight");
  CHECK(tensors[1].name == "model.layers.2.self_attn.k_proj.weight");
  CHECK(tensors[2].name == "model.layers.2.self_attn.v_proj.weight");
  CHECK(tensors[0].shape == std::vector<std::size_t>{24, 2});
  CHECK(tensors[2].shape == std::vector<std::size_t>{12, 2});
  CHECK(tensors[1].order == RowOrder::halves_of_pairs(2, 6));
  CHECK(tensors[2].order.as_it_lies());
  CHECK(tensors[1].file_offset == 64 + 24 * 2 * 4);
  CHECK(tensors[2].file_offset == 64 + 36 * 2 * 4);
  CHECK(tensors[2].bytes.data() == bytes.data() + 36 * 2 * 4);
  CHECK(tensors[2].bytes.size() == 12 * 2 * 4);
  CHECK(tensors_of("qwen2", "blk.0.attn_qkv.bias", {48}).at(1).shape == std::vector<std::size_t>{12});
  CHECK(code_of("llama", "blk.0.attn_qkv.weight", {47, 2}) == ErrorCode::malformed);
  CHECK(code_of("llama", "blk.0.attn_qkv.weight", {}) == ErrorCode::malformed);
}

TEST_CASE("the tensor of all experts becomes one for each", "[format][gguf_tensor_names]") {
  const Bytes bytes = float_bytes(3 * 4 * 2);
  const auto experts =
      huggingface_tensors({"blk.1.ffn_up_exps.weight", DType::f32, {3, 4, 2}, bytes, 32}, model_of("mixtral"), "f");
  REQUIRE(experts.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(experts[i].name == "model.layers.1.block_sparse_moe.experts." + std::to_string(i) + ".w3.weight");
    CHECK(experts[i].shape == std::vector<std::size_t>{4, 2});
    CHECK(experts[i].file_offset == 32 + i * 32);
    CHECK(experts[i].bytes.data() == bytes.data() + i * 32);
    CHECK(experts[i].bytes.size() == 32);
  }
  const auto quantized =
      huggingface_tensors({"blk.0.ffn_down_exps.weight", DType::q8_0, {3, 2, 64}, {}, 0}, model_of("qwen2_moe"), "f");
  CHECK(quantized.at(2).name == "model.layers.0.mlp.experts.2.down_proj.weight");
  CHECK(quantized.at(2).file_offset == 2 * 4 * 34);
  const auto biases = tensors_of("gpt_oss", "blk.0.ffn_gate_exps.bias", {3, 5});
  CHECK(biases.at(1).name == "model.layers.0.mlp.experts.1.gate_proj.bias");
  CHECK(biases.at(1).shape == std::vector<std::size_t>{5});
  CHECK(biases.at(1).file_offset == 20);
  for (const std::vector<std::size_t>& shape :
       {std::vector<std::size_t>{2, 4, 2}, {4, 4, 2}, {3, 4}, {3}, {}, {3, 0, 2}, {3, 1, 4, 2}, {0, 4, 2}}) {
    CHECK(code_of("olmoe", "blk.0.ffn_up_exps.weight", shape) == ErrorCode::malformed);
  }
  CHECK(code_of("gpt_oss", "blk.0.ffn_up_exps.bias", {3, 4, 2}) == ErrorCode::malformed);
}

TEST_CASE("gate and up of experts may be fused, the gate first", "[format][gguf_tensor_names]") {
  const auto parts = tensors_of("qwen3_moe", "blk.4.ffn_gate_up_exps.weight", {3, 8, 2});
  REQUIRE(parts.size() == 6);
  CHECK(parts[2].name == "model.layers.4.mlp.experts.1.gate_proj.weight");
  CHECK(parts[3].name == "model.layers.4.mlp.experts.1.up_proj.weight");
  CHECK(parts[3].shape == std::vector<std::size_t>{4, 2});
  CHECK(parts[2].file_offset == 8 * 2 * 4);
  CHECK(parts[3].file_offset == 12 * 2 * 4);
  CHECK(tensors_of("gpt_oss", "blk.0.ffn_gate_up_exps.bias", {3, 8}).at(5).shape == std::vector<std::size_t>{4});
  CHECK(code_of("qwen3_moe", "blk.4.ffn_gate_up_exps.weight", {3, 7, 2}) == ErrorCode::malformed);
  CHECK(code_of("qwen3_moe", "blk.4.ffn_gate_up_exps.weight", {2, 8, 2}) == ErrorCode::malformed);
  CHECK(name_of("llama", "blk.4.ffn_gate_up_exps.weight") == "blk.4.ffn_gate_up_exps.weight");
}

TEST_CASE("routers, shared experts and sinks", "[format][gguf_tensor_names]") {
  CHECK(name_of("mixtral", "blk.0.ffn_gate_inp.weight") == "model.layers.0.block_sparse_moe.gate.weight");
  CHECK(name_of("olmoe", "blk.0.ffn_gate_inp.weight") == "model.layers.0.mlp.gate.weight");
  CHECK(name_of("gpt_oss", "blk.0.ffn_gate_inp.bias") == "model.layers.0.mlp.router.bias");
  CHECK(name_of("gpt_oss", "blk.0.attn_sinks.weight") == "model.layers.0.self_attn.sinks");
  CHECK(name_of("gpt_oss", "blk.0.post_attention_norm.weight") == "model.layers.0.post_attention_layernorm.weight");
  CHECK(name_of("qwen2_moe", "blk.0.ffn_gate_shexp.weight") == "model.layers.0.mlp.shared_expert.gate_proj.weight");
  const auto gate = tensors_of("qwen2_moe", "blk.0.ffn_gate_inp_shexp.weight", {8});
  CHECK(gate.at(0).name == "model.layers.0.mlp.shared_expert_gate.weight");
  CHECK(gate.at(0).shape == std::vector<std::size_t>{1, 8});
}

TEST_CASE("the files of all families hold the tensors of their directory", "[format][gguf_tensor_names][golden]") {
  const std::vector<std::pair<const char*, const char*>> pairs{{"gemma", "gemma-tiny"},
                                                               {"gemma2", "gemma2-tiny"},
                                                               {"gemma3", "gemma3-tiny"},
                                                               {"phi2", "phi-tiny"},
                                                               {"phi3", "phi3-tiny"},
                                                               {"phi4-mini", "phi4-mini-tiny"},
                                                               {"starcoder2", "starcoder2-tiny"},
                                                               {"olmo2", "olmo2-tiny"},
                                                               {"gpt2", "gpt2-tiny"},
                                                               {"gptneox", "gpt-neox-tiny"},
                                                               {"bloom", "bloom-tiny"},
                                                               {"mpt", "mpt-tiny"},
                                                               {"falcon", "falcon-tiny-7b"},
                                                               {"falcon-40b", "falcon-tiny-40b"},
                                                               {"llama-yarn", "llama-tiny-yarn"},
                                                               {"mixtral", "mixtral-tiny"},
                                                               {"qwen3moe", "qwen3-moe-tiny"},
                                                               {"olmoe", "olmoe-tiny"}};
  for (const auto& [file, directory] : pairs) {
    CAPTURE(file);
    const auto found = Checkpoint::open(std::string(TULLE_GOLDEN "/models/gguf/") + file + ".gguf");
    const auto wanted = Checkpoint::open(std::string(TULLE_GOLDEN "/models/") + directory);
    std::size_t compared = 0;
    for (const std::string& name : found->names()) {
      CAPTURE(name);
      const EncodedTensor* tensor = wanted->find(name);
      REQUIRE(tensor != nullptr);
      const EncodedTensor& ours = *found->find(name);
      CHECK(ours.shape == tensor->shape);
      if (ours.shape.size() == 1) {
        const auto values = read_floats(*found, ours), expected = read_floats(*wanted, *tensor);
        for (std::size_t i = 0; i < values.size(); ++i) CHECK(std::fabs(values[i] - expected[i]) <= 1e-6f);
      } else {
        const std::string layer = name.substr(0, name.rfind('.'));
        const auto rows = found->matrix(layer), expected = wanted->matrix(layer);
        std::vector<float> a(rows->columns()), b(rows->columns());
        for (std::size_t row = 0; row < rows->rows(); ++row) {
          rows->decode_row(row, a.data());
          expected->decode_row(row, b.data());
          CHECK(a == b);
        }
      }
      ++compared;
    }
    for (const std::string& name : wanted->names()) {
      // Buffers of the hub's files, which converters leave out, and heads that are tied.
      const bool is_buffer = name.ends_with(".attn.bias") || name.ends_with(".attention.bias") ||
                             name.ends_with("masked_bias") || name.ends_with("inv_freq");
      CAPTURE(name);
      CHECK((is_buffer || found->find(name) != nullptr));
    }
    CHECK(compared > 10);
  }
}
