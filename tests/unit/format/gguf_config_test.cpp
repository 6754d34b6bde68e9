// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_architectures.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/format/gguf.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

Json config_of(const GgufBuilder& gguf) {
  const Bytes bytes = gguf.build();
  return gguf_config(parse_gguf(bytes, "f.gguf"));
}

std::string name_of(const std::string& name) {
  return huggingface_tensor({name, DType::f32, {4, 4}, {}}, Json::object()).name;
}

std::optional<ErrorCode> code_of(const GgufBuilder& gguf) {
  return error_of([&] { config_of(gguf); });
}

}  // namespace

TEST_CASE("tensors get their Hugging Face names", "[format][gguf_architectures]") {
  CHECK(name_of("token_embd.weight") == "model.embed_tokens.weight");
  CHECK(name_of("output_norm.weight") == "model.norm.weight");
  CHECK(name_of("output.weight") == "lm_head.weight");
  CHECK(name_of("blk.0.attn_norm.weight") == "model.layers.0.input_layernorm.weight");
  CHECK(name_of("blk.12.attn_q.weight") == "model.layers.12.self_attn.q_proj.weight");
  CHECK(name_of("blk.12.attn_k.bias") == "model.layers.12.self_attn.k_proj.bias");
  CHECK(name_of("blk.1.attn_v.weight") == "model.layers.1.self_attn.v_proj.weight");
  CHECK(name_of("blk.1.attn_output.weight") == "model.layers.1.self_attn.o_proj.weight");
  CHECK(name_of("blk.1.ffn_norm.weight") == "model.layers.1.post_attention_layernorm.weight");
  CHECK(name_of("blk.1.ffn_gate.weight") == "model.layers.1.mlp.gate_proj.weight");
  CHECK(name_of("blk.1.ffn_up.weight") == "model.layers.1.mlp.up_proj.weight");
  CHECK(name_of("blk.1.ffn_down.weight") == "model.layers.1.mlp.down_proj.weight");
  for (const char* name :
       {"", ".", "blk.", "blk.1.weight", "blk.1.other.weight", "rope_freqs.weight", "token_embd", "blk..weight"}) {
    CHECK(name_of(name) == name);
  }
}

TEST_CASE("rows of rotary heads lie as adjacent pairs, in weights and biases", "[format][gguf_architectures]") {
  Json config{{"model_type", "llama"}, {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 6}};
  const auto order = [&](const std::string& name, std::vector<std::size_t> shape) {
    return huggingface_tensor({name, DType::f32, std::move(shape), {}}, config).order;
  };
  CHECK(order("blk.0.attn_q.weight", {24, 8}) == RowOrder::halves_of_pairs(4, 6));
  CHECK(order("blk.0.attn_q.bias", {24}) == RowOrder::halves_of_pairs(4, 6));
  CHECK(order("blk.3.attn_k.weight", {12, 8}) == RowOrder::halves_of_pairs(2, 6));
  for (const char* name : {"blk.0.attn_v.weight", "blk.0.attn_output.weight", "blk.0.ffn_up.weight", "output.weight"}) {
    CHECK(order(name, {24, 8}).as_it_lies());
  }
  // Other shapes are refused by who loads them.
  CHECK(order("blk.0.attn_q.weight", {12, 8}).as_it_lies());
  CHECK(order("blk.0.attn_q.weight", {}).as_it_lies());
  const EncodedTensor query{"blk.0.attn_q.weight", DType::f32, {24, 8}, {}};
  CHECK(huggingface_tensor(query, Json::object()).order.as_it_lies());
  for (const Json& odd : {Json(5), Json(0), Json(-6), Json(1.5), Json("6"), Json()}) {
    Json changed = config;
    changed["head_dim"] = odd;
    CHECK(huggingface_tensor(query, changed).order.as_it_lies());
  }
  config["model_type"] = "granite";
  CHECK(order("blk.0.attn_q.weight", {24, 8}) == RowOrder::halves_of_pairs(4, 6));
  config["model_type"] = "qwen2";
  CHECK(order("blk.0.attn_q.weight", {24, 8}).as_it_lies());
}

TEST_CASE("metadata becomes a Hugging Face config", "[format][gguf_architectures]") {
  const Json config = config_of(tiny_llama_gguf());
  CHECK(config["model_type"] == "llama");
  CHECK(config["hidden_size"] == 4);
  CHECK(config["num_hidden_layers"] == 1);
  CHECK(config["num_attention_heads"] == 2);
  CHECK(config["num_key_value_heads"] == 2);
  CHECK(config["head_dim"] == 2);
  CHECK(config["intermediate_size"] == 8);
  CHECK(config["max_position_embeddings"] == 16);
  CHECK(config["rms_norm_eps"].get<float>() == 1e-5f);
  CHECK(config["rope_theta"] == 10000.0);
  CHECK(config["rope_scaling"].is_null());
  CHECK(config["vocab_size"] == 6);
  CHECK(config["tie_word_embeddings"] == true);
  CHECK(config["attention_bias"] == false);
  CHECK(config["bos_token_id"] == 3);
  CHECK(config["eos_token_id"] == 3);
  CHECK_FALSE(config.contains("torch_dtype"));
}

TEST_CASE("every architecture has keys of its own, and its class", "[format][gguf_architectures]") {
  for (const auto& each : detail::gguf_architectures) {
    const std::string prefix = std::string(each.name) + ".";
    GgufBuilder gguf;
    gguf.text("general.architecture", std::string(each.name));
    for (const char* key :
         {"block_count", "embedding_length", "context_length", "feed_forward_length", "attention.head_count"}) {
      gguf.u32(prefix + key, 4);
    }
    gguf.f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
    CHECK_FALSE(config_of(gguf).contains("residual_multiplier"));
    gguf.f32(prefix + "residual_scale", 0.25f).f32(prefix + "logit_scale", 8).f32(prefix + "attention.scale", 0.5f);
    gguf.f32(prefix + "embedding_scale", 12);
    const Json config = config_of(gguf);
    CHECK(config["model_type"] == each.model_type);
    CHECK(config["architectures"] == Json::array({each.class_name}));
    CHECK(config["head_dim"] == 1);
    CHECK(config["residual_multiplier"] == 0.25);
    CHECK(config["logits_scaling"] == 8);
    CHECK(config["attention_multiplier"] == 0.5);
    CHECK(config["embedding_multiplier"] == 12);
  }
}

TEST_CASE("optional keys and tensors change the config", "[format][gguf_architectures]") {
  GgufBuilder gguf = tiny_llama_gguf();
  gguf.value<std::uint64_t>("llama.attention.head_count_kv", 10, 1).u32("llama.attention.key_length", 6);
  gguf.u32("llama.attention.value_length", 6).u32("llama.rope.dimension_count", 6).f32("llama.rope.freq_base", 5e5f);
  gguf.u32("tokenizer.ggml.eot_token_id", 4).u32("tokenizer.ggml.eom_token_id", 3);
  gguf.tensor("output.weight", {4, 6}, 0, float_bytes(24)).tensor("blk.0.attn_q.bias", {4}, 0, float_bytes(4));
  const Json config = config_of(gguf);
  CHECK(config["num_key_value_heads"] == 1);
  CHECK(config["head_dim"] == 6);
  CHECK(config["rope_theta"] == 5e5);
  CHECK(config["tie_word_embeddings"] == false);
  CHECK(config["attention_bias"] == true);
  CHECK(config["eos_token_id"] == Json{3, 4});
}

TEST_CASE("rope scaling is linear, in factors, none, or as the file names it", "[format][gguf_architectures]") {
  const auto scaling = [](GgufBuilder gguf) { return config_of(gguf)["rope_scaling"]; };
  const auto linear = [](float factor) { return tiny_llama_gguf().f32("llama.rope.scaling.factor", factor); };
  CHECK(scaling(linear(4)) == Json{{"rope_type", "linear"}, {"factor", 4.0}});
  CHECK(scaling(linear(4).text("llama.rope.scaling.type", "linear")) == Json{{"rope_type", "linear"}, {"factor", 4.0}});
  CHECK(scaling(tiny_llama_gguf().f32("llama.rope.scale_linear", 2)) == Json{{"rope_type", "linear"}, {"factor", 2.0}});
  CHECK(scaling(linear(4).text("llama.rope.scaling.type", "none")).is_null());
  CHECK(scaling(linear(1)).is_null());
  CHECK(scaling(linear(0)).is_null());
  const Json yarn =
      scaling(linear(4).text("llama.rope.scaling.type", "yarn").u32("llama.rope.scaling.original_context_length", 8));
  CHECK(yarn == Json{{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 8}});

  const auto with_factors = [](GgufBuilder gguf, std::size_t count) {
    return gguf.tensor("rope_freqs.weight", {count}, 0, float_bytes(count));
  };
  CHECK(scaling(with_factors(tiny_llama_gguf(), 1)) == Json{{"rope_type", "factors"}, {"factors", {0.5}}});
  CHECK(scaling(with_factors(linear(4), 1)) == Json{{"rope_type", "factors"}, {"factors", {2.0}}});
  CHECK(code_of(with_factors(tiny_llama_gguf(), 2)) == ErrorCode::malformed);
  CHECK(code_of(with_factors(tiny_llama_gguf().u32("llama.attention.key_length", 0), 0)) == ErrorCode::malformed);
  CHECK(code_of(tiny_llama_gguf().tensor("rope_freqs.weight", {1}, 1, Bytes(2))) == ErrorCode::malformed);
  CHECK(code_of(with_factors(linear(4).text("llama.rope.scaling.type", "yarn"), 1)) == ErrorCode::unsupported);
}

TEST_CASE("what is no plain decoder is refused", "[format][gguf_architectures]") {
  CHECK(code_of(GgufBuilder()) == ErrorCode::unsupported);
  CHECK(code_of(GgufBuilder().text("general.architecture", "mamba")) == ErrorCode::unsupported);
  CHECK(code_of(GgufBuilder().u32("general.architecture", 1)) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().text("general.architecture", "llama")) == ErrorCode::malformed);
  CHECK(code_of(tiny_llama_gguf().u32("llama.expert_count", 8)) == ErrorCode::unsupported);
  CHECK(code_of(tiny_llama_gguf().u32("llama.rope.dimension_count", 1)) == ErrorCode::unsupported);
  CHECK(code_of(tiny_llama_gguf().text("llama.rope.freq_base", "x")) == ErrorCode::malformed);
  CHECK(code_of(tiny_llama_gguf().array<std::uint32_t>("llama.attention.head_count_kv", 4, {1})) ==
        ErrorCode::unsupported);
}
