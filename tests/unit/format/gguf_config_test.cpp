// SPDX-License-Identifier: Apache-2.0
#include <tulle/format/gguf_config.hpp>

#include <catch2/catch_all.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/model/families.hpp>
#include <unit/format/file_builder.hpp>

using namespace tulle;
using namespace tulle::test;

namespace {

Json config_of(const GgufBuilder& gguf) {
  const Bytes bytes = gguf.build();
  const GgufFile file = parse_gguf(bytes, "f.gguf");
  return gguf_config(file, gguf_model(file));
}

Json golden_config(const std::string& name) {
  return Checkpoint::open(TULLE_GOLDEN "/models/gguf/" + name + ".gguf")->config();
}

std::optional<ErrorCode> code_of(const GgufBuilder& gguf) {
  return error_of([&] { config_of(gguf); });
}

}  // namespace

TEST_CASE("metadata becomes a Hugging Face config", "[format][gguf_config]") {
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

TEST_CASE("every architecture has keys of its own, and its class", "[format][gguf_config]") {
  for (const auto& each : detail::gguf_architectures) {
    CAPTURE(each.model_type);
    const std::string prefix = std::string(each.name) + ".";
    GgufBuilder gguf;
    gguf.text("general.architecture", std::string(each.name));
    for (const char* key :
         {"block_count", "embedding_length", "context_length", "feed_forward_length", "attention.head_count"}) {
      gguf.u32(prefix + key, 4);
    }
    gguf.f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5f).f32(prefix + "attention.layer_norm_epsilon", 1e-4f);
    if (each.tensor != nullptr) gguf.tensor(each.tensor, {1}, 0, float_bytes(1));
    if (each.experts != nullptr) {
      CHECK(code_of(gguf) == ErrorCode::malformed);
      gguf.u32(prefix + "expert_count", 8);
      CHECK(code_of(gguf) == ErrorCode::malformed);
      gguf.u32(prefix + "expert_used_count", 2);
    } else {
      CHECK(code_of(GgufBuilder(gguf).u32(prefix + "expert_count", 8)) == ErrorCode::unsupported);
    }
    CHECK_FALSE(config_of(gguf).contains("residual_multiplier"));
    gguf.f32(prefix + "residual_scale", 0.25f).f32(prefix + "logit_scale", 8).f32(prefix + "attention.scale", 0.5f);
    gguf.f32(prefix + "embedding_scale", 12);
    const Json config = config_of(gguf);
    CHECK(config["model_type"] == each.model_type);
    CHECK(config["architectures"] == Json::array({each.class_name}));
    CHECK(config[each.epsilon] == (std::string_view(each.epsilon) == "rms_norm_eps" ? 1e-5f : 1e-4f));
    CHECK(config[each.keys->layers] == 4);
    CHECK(config[each.keys->heads] == 4);
    CHECK(config[each.keys->hidden] == 4);
    if (each.keys->head_dim != nullptr) CHECK(config["head_dim"] == 1);
    if (each.experts != nullptr) CHECK((config[each.experts] == 8 && config["num_experts_per_tok"] == 2));
    CHECK(config["residual_multiplier"] == 0.25);
    CHECK(config["logits_scaling"] == 8);
    CHECK(config["attention_multiplier"] == 0.5);
    CHECK(config["embedding_multiplier"] == 12);
    for (const char* key : {"block_count", "embedding_length", "attention.head_count"}) {
      GgufBuilder negative;
      negative.text("general.architecture", std::string(each.name)).value<std::int32_t>(prefix + key, 5, -1);
      if (each.tensor != nullptr) negative.tensor(each.tensor, {1}, 0, float_bytes(1));
      CHECK(code_of(negative) == ErrorCode::malformed);
    }
  }
}

TEST_CASE("the files of dense families describe the model of their directory", "[format][gguf_config][golden]") {
  const std::vector<std::pair<const char*, const char*>> pairs{{"gemma", "gemma-tiny"},
                                                               {"gemma2", "gemma2-tiny"},
                                                               {"gemma3", "gemma3-tiny"},
                                                               {"phi2", "phi-tiny"},
                                                               {"phi3", "phi3-tiny"},
                                                               {"phi4-mini", "phi4-mini-tiny"},
                                                               {"olmo2", "olmo2-tiny"},
                                                               {"starcoder2", "starcoder2-tiny"},
                                                               {"gpt2", "gpt2-tiny"},
                                                               {"gptneox", "gpt-neox-tiny"},
                                                               {"bloom", "bloom-tiny"},
                                                               {"mpt", "mpt-tiny"},
                                                               {"falcon", "falcon-tiny-7b"},
                                                               {"falcon-40b", "falcon-tiny-40b"},
                                                               {"llama-yarn", "llama-tiny-yarn"},
                                                               {"qwen2", "qwen2-tiny"},
                                                               {"qwen3", "qwen3-tiny"},
                                                               {"smollm3", "smollm3-tiny"},
                                                               {"granite", "granite-tiny"}};
  for (const auto& [name, directory] : pairs) {
    CAPTURE(name);
    const std::string file = name;
    Json config = Checkpoint::open(std::string(TULLE_GOLDEN "/models/") + directory)->config();
    // What files do not hold: tests/golden/make_gguf_families.py.
    if (file == "gemma2") config["query_pre_attn_scalar"] = 16;
    if (file == "gemma3") config["query_pre_attn_scalar"] = 32;
    if (file == "starcoder2") config["sliding_window"] = nullptr;
    Architecture found = describe_model(golden_config(file), "found"), wanted = describe_model(config, "wanted");
    CHECK(found.family == wanted.family);
    CHECK(found.vocabulary == wanted.vocabulary);
    CHECK((found.hidden == wanted.hidden && found.heads == wanted.heads && found.kv_heads == wanted.kv_heads));
    CHECK(found.head_dim == wanted.head_dim);
    if (!file.starts_with("falcon")) {  // its converter copies the head, and always writes 2048 positions
      CHECK((found.context_length == wanted.context_length && found.tied_head == wanted.tied_head));
    }
    CHECK((found.norm == wanted.norm && found.norm_bias == wanted.norm_bias));
    CHECK((found.norm_epsilon == wanted.norm_epsilon && found.norm_offset == wanted.norm_offset));
    CHECK((found.embedding_scale == wanted.embedding_scale && found.residual_scale == wanted.residual_scale));
    CHECK((found.query_scale == wanted.query_scale && found.logit_scale == wanted.logit_scale));
    CHECK((found.score_cap == wanted.score_cap && found.logit_cap == wanted.logit_cap));
    CHECK((found.qkv_clip == wanted.qkv_clip && found.alibi_slopes == wanted.alibi_slopes));
    CHECK((found.query_order == wanted.query_order && found.value_order == wanted.value_order));
    CHECK(found.names.attention_norm == wanted.names.attention_norm);
    CHECK(found.names.mlp_norm == wanted.names.mlp_norm);
    REQUIRE(found.rotary_tables.size() == wanted.rotary_tables.size());
    for (const std::size_t length : {std::size_t{16}, std::size_t{4096}}) {
      found.set_sequence_length(length);
      wanted.set_sequence_length(length);
      for (std::size_t i = 0; i < found.rotary_tables.size(); ++i) {
        const Rotary &ours = found.rotary_tables[i], &theirs = wanted.rotary_tables[i];
        CHECK(ours.factor == Catch::Approx(theirs.factor).epsilon(1e-6));
        REQUIRE(ours.inverse_frequencies.size() == theirs.inverse_frequencies.size());
        for (std::size_t j = 0; j < ours.inverse_frequencies.size(); ++j) {
          CHECK(ours.inverse_frequencies[j] == Catch::Approx(theirs.inverse_frequencies[j]).epsilon(1e-6));
        }
      }
    }
    REQUIRE(found.layers.size() == wanted.layers.size());
    for (std::size_t i = 0; i < found.layers.size(); ++i) {
      const LayerSpec &ours = found.layers[i], &theirs = wanted.layers[i];
      CHECK((ours.intermediate == theirs.intermediate && ours.window.positions == theirs.window.positions));
      CHECK((ours.rotary == theirs.rotary && ours.mlp == theirs.mlp && ours.residual == theirs.residual));
      CHECK((ours.qkv_bias == theirs.qkv_bias && ours.output_bias == theirs.output_bias));
      CHECK((ours.mlp_bias == theirs.mlp_bias && ours.query_key_norm == theirs.query_key_norm));
    }
  }
}

TEST_CASE("the files of mixtures of experts have the keys of their directory", "[format][gguf_config][golden]") {
  const auto check = [](const char* file, const std::string& directory, const std::vector<const char*>& keys) {
    CAPTURE(file);
    const Json found = golden_config(file);
    const Json wanted = detail::read_json_object(TULLE_GOLDEN "/models/" + directory + "/config.json");
    for (const char* key : keys) {
      CAPTURE(key);
      if (wanted.contains(key)) CHECK(found.at(key) == wanted.at(key));
    }
    for (const char* key : {"model_type", "hidden_size", "num_attention_heads", "num_key_value_heads", "rope_theta",
                            "num_experts_per_tok", "vocab_size", "tie_word_embeddings"}) {
      CAPTURE(key);
      CHECK(found.at(key) == wanted.at(key));
    }
    CHECK(found.at("rms_norm_eps").get<double>() == Catch::Approx(wanted.at("rms_norm_eps").get<double>()));
  };
  check("mixtral", "mixtral-tiny", {"num_local_experts", "intermediate_size", "num_hidden_layers"});
  check("qwen2moe", "qwen2-moe-tiny", {"num_experts", "moe_intermediate_size", "shared_expert_intermediate_size"});
  check("qwen3moe", "qwen3-moe-tiny", {"num_experts", "moe_intermediate_size", "norm_topk_prob", "head_dim"});
  check("olmoe", "olmoe-tiny", {"num_experts", "intermediate_size", "attention_bias"});
  check("gpt-oss", "gpt-oss-tiny",
        {"num_local_experts", "intermediate_size", "sliding_window", "attention_bias", "layer_types", "head_dim"});
  CHECK(golden_config("gpt-oss").at("rope_scaling").at("truncate") == false);
  CHECK(golden_config("qwen2moe").at("norm_topk_prob") == false);
}

TEST_CASE("windows of some layers follow a pattern", "[format][gguf_config]") {
  const auto gemma = [](const char* name) {
    const std::string prefix = std::string(name) + ".";
    GgufBuilder gguf;
    gguf.text("general.architecture", name).u32(prefix + "block_count", 4).u32(prefix + "embedding_length", 8);
    gguf.u32(prefix + "context_length", 4).u32(prefix + "feed_forward_length", 4);
    gguf.u32(prefix + "attention.head_count", 2).f32(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
    return gguf;
  };
  const auto types = [](const GgufBuilder& gguf) {
    std::string letters;
    const Json config = config_of(gguf);
    for (const Json& type : config.at("layer_types")) letters += type.get<std::string>()[0];
    return letters;
  };
  CHECK(types(gemma("gemma2")) == "sfsf");
  CHECK(types(gemma("gemma3")) == "ssss");
  const std::string key = "gemma3.attention.sliding_window";
  CHECK(types(gemma("gemma3").u32(key + "_pattern", 3)) == "ssfs");
  CHECK(types(gemma("gemma3").u32(key + "_pattern", 1)) == "ffff");
  CHECK(types(gemma("gemma3").u32(key + "_pattern", 0)) == "ssss");
  CHECK(types(gemma("gemma3").array<std::uint8_t>(key + "_pattern", 7, {0, 1, 1, 0})) == "fssf");
  CHECK(code_of(gemma("gemma3").value<std::int32_t>(key + "_pattern", 5, -1)) == ErrorCode::malformed);
  CHECK(code_of(gemma("gemma3").array<float>(key + "_pattern", 6, {1, 0, 0, 0})) == ErrorCode::malformed);
  CHECK(config_of(gemma("gemma3")).at("sliding_window").is_null());
  CHECK_FALSE(config_of(gemma("gemma2")).contains("sliding_window"));  // so it is Gemma2Config's
  CHECK(config_of(gemma("gemma2").u32("gemma2.attention.sliding_window", 0)).at("sliding_window").is_null());
  CHECK(config_of(gemma("gemma3").u32(key, 0))["sliding_window"].is_null());
  CHECK(config_of(gemma("gemma3").u32(key, 7))["sliding_window"] == 7);
  CHECK(code_of(gemma("olmo2").u32("olmo2.attention.sliding_window", 7)) == ErrorCode::unsupported);
  CHECK_FALSE(config_of(gemma("qwen2").u32("qwen2.attention.sliding_window", 7)).contains("sliding_window"));
  CHECK(config_of(gemma("gemma2"))["query_pre_attn_scalar"] == 4);
  CHECK(config_of(gemma("gemma2").u32("gemma2.attention.key_length", 16))["query_pre_attn_scalar"] == 16);
}

TEST_CASE("optional keys and tensors change the config", "[format][gguf_config]") {
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

TEST_CASE("ends of turns are found by their texts where the file does not name them", "[format][gguf_config]") {
  const auto ends = [](const std::vector<std::string>& tokens) {
    GgufBuilder gguf;
    gguf.text("tokenizer.ggml.model", "gpt2").u32("tokenizer.ggml.eos_token_id", 1);
    gguf.array<std::string>("tokenizer.ggml.tokens", 8, tokens);
    const Bytes bytes = gguf.build();
    return detail::gguf_end_tokens(parse_gguf_metadata(bytes, "f.gguf"));
  };
  CHECK(ends({"a", "<eos>", "<end_of_turn>"}) == Json{1, 2});
  CHECK(ends({"<|end|>", "<|endoftext|>"}) == Json{1, 0});
  CHECK(ends({"<|end|>", "<|return|>", "<|call|>"}) == Json{1, 2});  // gpt-oss
  CHECK(ends({"a", "<|im_end|>"}) == 1);
  CHECK(ends({"<|end_of_text|>", "<|eot_id|>"}) == Json{1, 0});
  const auto listed = [](const std::vector<std::int32_t>& ids) {
    return config_of(tiny_llama_gguf().array<std::int32_t>("tokenizer.ggml.eos_token_ids", 5, ids))["eos_token_id"];
  };
  CHECK(listed({3, 5, 1}) == Json{3, 5, 1});
  CHECK(listed({}) == 3);
}

TEST_CASE("a llama with biases of queries, keys and values alone is what Hugging Face calls qwen2",
          "[format][gguf_config]") {
  const auto with_bias = [](GgufBuilder gguf, const char* name) { return gguf.tensor(name, {4}, 0, float_bytes(4)); };
  const GgufBuilder some = with_bias(tiny_llama_gguf(), "blk.0.attn_q.bias");
  const Architecture qkv = describe_model(config_of(some), "x");
  CHECK((qkv.layers[0].qkv_bias && !qkv.layers[0].output_bias));
  const Json all = config_of(with_bias(some, "blk.0.attn_output.bias"));
  CHECK(all["model_type"] == "llama");
  CHECK(describe_model(all, "x").layers[0].output_bias);
}

TEST_CASE("rope scaling is linear, in factors, none, or as the file names it", "[format][gguf_config]") {
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

TEST_CASE("what is no plain decoder is refused", "[format][gguf_config]") {
  CHECK(code_of(GgufBuilder()) == ErrorCode::unsupported);
  CHECK(code_of(GgufBuilder().text("general.architecture", "mamba")) == ErrorCode::unsupported);
  CHECK(code_of(GgufBuilder().u32("general.architecture", 1)) == ErrorCode::malformed);
  CHECK(code_of(GgufBuilder().text("general.architecture", "llama")) == ErrorCode::malformed);
  CHECK(code_of(tiny_llama_gguf().u32("llama.expert_count", 8)) == ErrorCode::unsupported);
  CHECK(code_of(tiny_llama_gguf().u32("llama.rope.dimension_count", 1)) == ErrorCode::unsupported);
  CHECK(code_of(tiny_llama_gguf().u32("llama.attention.value_length", 1)) == ErrorCode::unsupported);
  CHECK(code_of(tiny_llama_gguf().text("llama.rope.freq_base", "x")) == ErrorCode::malformed);
  CHECK(code_of(tiny_llama_gguf().array<std::uint32_t>("llama.attention.head_count_kv", 4, {1})) ==
        ErrorCode::unsupported);
}
