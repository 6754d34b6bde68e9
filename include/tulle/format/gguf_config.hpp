// SPDX-License-Identifier: Apache-2.0
/// \file The metadata of a GGUF file as Hugging Face's config.json (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/gguf_architectures.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/gguf_model.hpp>
#include <tulle/format/gguf_rotary.hpp>
#include <tulle/format/gguf_values.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

/// Numbers that some families have, in both spellings; those of Granite come first.
struct GgufNumber {
  const char *gguf, *huggingface;
  bool is_integer;
};
inline constexpr std::array<GgufNumber, 10> gguf_numbers{
    {{"embedding_scale", "embedding_multiplier", false},
     {"residual_scale", "residual_multiplier", false},
     {"attention.scale", "attention_multiplier", false},
     {"logit_scale", "logits_scaling", false},
     {"attn_logit_softcapping", "attn_logit_softcapping", false},
     {"final_logit_softcapping", "final_logit_softcapping", false},
     {"rope.freq_base_swa", "rope_local_base_freq", false},
     {"expert_used_count", "num_experts_per_tok", true},
     {"expert_feed_forward_length", "moe_intermediate_size", true},
     {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", true}}};
inline constexpr std::size_t granite_numbers = 4;

/// End tokens: eos, and the ends of a turn and of a message, by the file's keys and by their texts.
inline Json gguf_end_tokens(const GgufFile& file) {
  Json tokens = Json::array();
  const auto add = [&](const Json& id) {
    if (!id.is_null() && std::find(tokens.begin(), tokens.end(), id) == tokens.end()) tokens.push_back(id);
  };
  for (const char* name : {"eos", "eot", "eom"}) add(gguf_token(file, name));
  for (const std::int64_t id : file.integers("tokenizer.ggml.eos_token_ids")) add(id);
  for (const std::size_t id : gguf_turn_ends(file.strings("tokenizer.ggml.tokens"))) add(id);
  if (tokens.empty()) return nullptr;
  return tokens.size() == 1 ? tokens[0] : tokens;
}

inline bool has_gguf_tensor(const GgufFile& file, std::string_view name) {
  return find_gguf_tensor(file, name) != nullptr;
}

/// The window and the layers that have one. A number n as pattern: the last of every n layers sees everything
/// (llama.cpp's `set_swa_pattern`); a list has a boolean for each layer.
inline void set_gguf_windows(const GgufFile& file, const GgufModel& model, Json& config) {
  const GgufArchitecture& architecture = *model.architecture;
  const std::string key = model.prefix() + "attention.sliding_window", pattern_key = key + "_pattern";
  if (architecture.window == GgufWindow::unread) return;
  Json window = gguf_number(file, key, true);
  if (window == 0) window = nullptr;
  if (architecture.window == GgufWindow::refused) {
    if (window.is_null()) return;
    fail(ErrorCode::unsupported, file.where, ": windows are not supported in the architecture ", architecture.name);
  }
  config["sliding_window"] = std::move(window);
  if (architecture.window == GgufWindow::every_layer) return;
  std::vector<std::int64_t> slides;
  if (file.arrays.contains(pattern_key)) {
    slides = file.integers(pattern_key);
  } else {
    const Json period = gguf_number(file, pattern_key, true);
    if (!period.is_null() && !(period >= 0)) {
      fail(ErrorCode::malformed, file.where, ": metadata ", quoted_name(pattern_key), " is negative");
    }
    const std::uint64_t last = period.is_null() ? architecture.window_period : period.get<std::uint64_t>();
    for (std::uint64_t layer = 0; layer < model.layers; ++layer) {
      slides.push_back(last == 0 || layer % last + 1 < last ? 1 : 0);
    }
  }
  Json types = Json::array();
  for (const std::int64_t each : slides) types.push_back(each != 0 ? "sliding_attention" : "full_attention");
  config["layer_types"] = std::move(types);
}

/// The least part of a head that gives `rotary_dim` dimensions when it is multiplied and cut.
inline double gguf_rotary_part(const GgufModel& model) {
  const auto dimensions = static_cast<double>(model.rotary_dim), head = static_cast<double>(model.head_dim);
  const double part = dimensions / head;
  return part * head < dimensions ? std::nextafter(part, 1.0) : part;
}

/// Old files lack some sizes: those are the columns of a matrix.
inline void complete_gguf_size(const GgufFile& file, const char* tensor_name, const char* key, Json& config) {
  const EncodedTensor* tensor = find_gguf_tensor(file, tensor_name);
  if (tensor != nullptr && !tensor->shape.empty()) config.emplace(key, tensor->shape.back());
}

/// What one family alone has.
inline void finish_gguf_config(const GgufFile& file, const GgufModel& model, Json& config) {
  const std::string_view family = model.architecture->model_type;
  const std::string prefix = model.prefix();
  if (family == "gpt_neox") {
    config["rotary_emb_base"] = config["rope_theta"];
    config["use_parallel_residual"] =
        json_value(file.metadata, (prefix + "use_parallel_residual").c_str(), true, file.where);
  } else if (family == "bloom") {
    // Without a length of its own a file has the embedding's; ALiBi sets no limit.
    if (config["seq_length"] == config["hidden_size"]) config.erase("seq_length");
  } else if (family == "mpt") {
    const Json bias = gguf_number(file, prefix + "attention.max_alibi_bias", false);
    const Json clip = gguf_number(file, prefix + "attention.clamp_kqv", false);
    Json attention;
    attention["alibi"] = !bias.is_null() && bias > 0;
    const bool is_small = bias.is_number() && std::abs(bias.get<double>()) < 1e6;
    const bool is_whole = is_small && std::floor(bias.get<double>()) == bias.get<double>();
    attention["alibi_bias_max"] = is_whole ? Json(bias.get<std::int64_t>()) : bias;  // transformers wants an integer
    attention["clip_qkv"] = clip == 0 ? Json() : clip;
    attention["qk_ln"] = has_gguf_tensor(file, "blk.0.attn_q_norm.weight");
    config["attn_config"] = std::move(attention);
    config["no_bias"] = !has_gguf_tensor(file, "blk.0.attn_qkv.bias");
  } else if (family == "falcon") {
    const bool two_norms = model.architecture->tensor != nullptr, is_new = two_norms || model.kv_heads != 1;
    config["new_decoder_architecture"] = is_new;
    if (is_new) config["num_ln_in_parallel_attn"] = two_norms ? 2 : 1;
    config["multi_query"] = !is_new;
    config["parallel_attn"] = true;
    config["alibi"] = false;
  } else if (family == "phi3") {
    copy_gguf_number(file, prefix + "rope.scaling.original_context_length", true, "original_max_position_embeddings",
                     config);
  } else if (family == "gemma2") {
    // Where a file says nothing, the window is Gemma2Config's, as in llama.cpp.
    if (!file.metadata.contains(prefix + "attention.sliding_window")) config.erase("sliding_window");
  } else if (family == "qwen2_moe" || family == "qwen3_moe") {
    config["norm_topk_prob"] = family == "qwen3_moe";
    complete_gguf_size(file, "blk.0.ffn_down_exps.weight", "moe_intermediate_size", config);
    complete_gguf_size(file, "blk.0.ffn_down_shexp.weight", "shared_expert_intermediate_size", config);
  }
}

}  // namespace detail

/// config.json as Hugging Face would write it for this file. What the file lacks and needs a default there is absent.
/// Errors: unsupported for other architectures; malformed for missing keys.
inline Json gguf_config(const GgufFile& file, const GgufModel& model) {
  using detail::gguf_number;
  using detail::required_gguf_number;
  const detail::GgufArchitecture& architecture = *model.architecture;
  const detail::GgufConfigKeys& keys = *architecture.keys;
  const std::string prefix = model.prefix();
  const bool has_layer_norms = std::string_view(architecture.epsilon) != "rms_norm_eps";
  const Json hidden = required_gguf_number(file, prefix + "embedding_length", true);
  const Json theta = gguf_number(file, prefix + "rope.freq_base", false);
  const EncodedTensor* embedding = detail::find_gguf_tensor(file, "token_embd.weight");
  const bool has_rows = embedding != nullptr && !embedding->shape.empty();

  // One by one: a list of them all is 3 kB more of a WebAssembly module.
  Json config;
  const auto set = [&config](const char* key, Json value) {
    if (key != nullptr) config[key] = std::move(value);
  };
  config["model_type"] = architecture.model_type;
  config["architectures"] = Json::array({architecture.class_name});
  set(keys.activation, architecture.activation);
  set(keys.hidden, hidden);
  set(keys.layers, model.layers);
  set(keys.heads, model.heads);
  set(keys.kv_heads, model.kv_heads);
  set(keys.head_dim, model.head_dim);
  set(keys.inner, required_gguf_number(file, prefix + "feed_forward_length", true));
  set(keys.context, required_gguf_number(file, prefix + "context_length", true));
  config[architecture.epsilon] = required_gguf_number(
      file, prefix + (has_layer_norms ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon"), false);
  set(keys.theta, theta.is_null() ? Json(10000.0) : theta);
  if (keys.theta != nullptr) config["rope_scaling"] = gguf_rope_scaling(file, model);
  set(architecture.rotary_part, detail::gguf_rotary_part(model));
  set(keys.bias,
      detail::has_gguf_tensor(file, "blk.0.attn_q.bias") || detail::has_gguf_tensor(file, "blk.0.attn_qkv.bias"));
  if (keys.head_dim != nullptr) config["mlp_bias"] = detail::has_gguf_tensor(file, "blk.0.ffn_gate.bias");
  config["tie_word_embeddings"] = !detail::has_gguf_tensor(file, "output.weight");
  config["vocab_size"] = has_rows ? Json(embedding->shape.front()) : gguf_number(file, prefix + "vocab_size", true);
  config["bos_token_id"] = detail::gguf_token(file, "bos");
  config["eos_token_id"] = detail::gguf_end_tokens(file);
  if (config["vocab_size"].is_null()) config.erase("vocab_size");
  for (const detail::GgufNumber& each : detail::gguf_numbers) {
    detail::copy_gguf_number(file, prefix + each.gguf, each.is_integer, each.huggingface, config);
  }
  if (architecture.widest != 0) {
    const std::uint64_t own = hidden.get<std::uint64_t>() / model.heads;
    config["query_pre_attn_scalar"] = model.layers == architecture.widest ? own : model.head_dim;
  }
  if (architecture.experts != nullptr) {
    config[architecture.experts] = model.experts;
    required_gguf_number(file, prefix + "expert_used_count", true);
  }
  detail::set_gguf_windows(file, model, config);
  detail::finish_gguf_config(file, model, config);
  return config;
}

}  // namespace tulle
