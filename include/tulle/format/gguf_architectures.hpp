// SPDX-License-Identifier: Apache-2.0
/// \file The architectures of GGUF files, under Hugging Face's names (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/gguf_values.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/float_elements.hpp>
#include <tulle/tensor/row_order.hpp>

namespace tulle {

namespace detail {

struct GgufArchitecture {
  std::string_view name;                ///< `general.architecture`, which the keys of its metadata begin with
  const char *model_type, *class_name;  ///< of config.json
  bool adjacent_pairs;                  ///< rows of queries and keys lie as adjacent rotary pairs, else as halves
};
/// Source: llama.cpp's convert_hf_to_gguf.py; rows are permuted for the classes that derive from `LlamaModel`.
inline constexpr std::array gguf_architectures{GgufArchitecture{"llama", "llama", "LlamaForCausalLM", true},
                                               GgufArchitecture{"granite", "granite", "GraniteForCausalLM", true},
                                               GgufArchitecture{"qwen2", "qwen2", "Qwen2ForCausalLM", false},
                                               GgufArchitecture{"qwen3", "qwen3", "Qwen3ForCausalLM", false},
                                               GgufArchitecture{"smollm3", "smollm3", "SmolLM3ForCausalLM", true}};

/// The architecture of a model_type, or null.
inline const GgufArchitecture* gguf_architecture_of(const Json& model_type) {
  const auto found = std::find_if(gguf_architectures.begin(), gguf_architectures.end(),
                                  [&](const GgufArchitecture& each) { return model_type == each.model_type; });
  return found == gguf_architectures.end() ? nullptr : &*found;
}

/// The tensors of a layer in both spellings.
struct GgufLayerTensor {
  std::string_view gguf, huggingface;
  const char* rotary_heads;  ///< the config's key of the number of heads that rotate, or ""
};

inline constexpr std::array<GgufLayerTensor, 11> gguf_layer_tensors{
    {{"attn_norm", "input_layernorm", ""},
     {"attn_q", "self_attn.q_proj", "num_attention_heads"},
     {"attn_k", "self_attn.k_proj", "num_key_value_heads"},
     {"attn_v", "self_attn.v_proj", ""},
     {"attn_q_norm", "self_attn.q_norm", ""},
     {"attn_k_norm", "self_attn.k_norm", ""},
     {"attn_output", "self_attn.o_proj", ""},
     {"ffn_norm", "post_attention_layernorm", ""},
     {"ffn_gate", "mlp.gate_proj", ""},
     {"ffn_up", "mlp.up_proj", ""},
     {"ffn_down", "mlp.down_proj", ""}}};

/// Granite's factors in both spellings.
inline constexpr std::array<std::pair<const char*, const char*>, 4> gguf_factors{
    {{"embedding_scale", "embedding_multiplier"},
     {"residual_scale", "residual_multiplier"},
     {"attention.scale", "attention_multiplier"},
     {"logit_scale", "logits_scaling"}}};

/// The order in which `rows` rows of rotary heads lie, if the config's heads have so many.
inline RowOrder gguf_rotary_order(const Json& heads, const Json& head_dim, std::size_t rows) {
  if (!heads.is_number_integer() || !head_dim.is_number_integer()) return {};
  const auto count = heads.get<std::uint64_t>(), dimension = head_dim.get<std::uint64_t>();
  if (dimension == 0 || dimension > rows || dimension % 2 != 0 || rows % dimension != 0) return {};
  if (rows / dimension != count) return {};  // its reader refuses the shape
  return RowOrder::halves_of_pairs(rows / static_cast<std::size_t>(dimension), static_cast<std::size_t>(dimension));
}

}  // namespace detail

/// A tensor of a GGUF file under its Hugging Face name, with the order of its rows; what has no such name keeps its own.
/// `config`: that of the file (`gguf_config`). Weights and biases. Source: llama.cpp's convert_hf_to_gguf.py
/// (`LlamaModel.permute`) and gguf-py's tensor_mapping.py.
inline EncodedTensor huggingface_tensor(EncodedTensor tensor, const Json& config) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> outside{
      {{"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}}};
  const std::size_t end = tensor.name.rfind('.');
  if (end == std::string::npos) return tensor;
  const std::string stem = tensor.name.substr(0, end), kind = tensor.name.substr(end);  // ".weight", ".bias"
  for (const auto& [from, to] : outside) {
    if (stem == from) {
      tensor.name = std::string(to) + kind;
      return tensor;
    }
  }
  const std::size_t dot = stem.starts_with("blk.") ? stem.find('.', 4) : std::string::npos;
  if (dot == std::string::npos) return tensor;
  for (const detail::GgufLayerTensor& known : detail::gguf_layer_tensors) {
    if (std::string_view(stem).substr(dot + 1) != known.gguf) continue;
    tensor.name = "model.layers." + stem.substr(4, dot - 4) + "." + std::string(known.huggingface) + kind;
    const auto value = [&](const char* key) { return config.contains(key) ? config.at(key) : Json(); };
    const detail::GgufArchitecture* architecture = detail::gguf_architecture_of(value("model_type"));
    const bool pairs = architecture != nullptr && architecture->adjacent_pairs;
    if (pairs && *known.rotary_heads != 0 && !tensor.shape.empty()) {
      tensor.order = detail::gguf_rotary_order(value(known.rotary_heads), value("head_dim"), tensor.shape.front());
    }
    return tensor;
  }
  return tensor;
}

namespace detail {

inline const EncodedTensor* find_gguf_tensor(const GgufFile& file, std::string_view name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [name](const EncodedTensor& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

/// "rope_scaling" of the config, or null. llama.cpp divides every position by `rope.scaling.factor` unless the type is
/// "none", and every frequency by its entry of rope_freqs.weight (so it keeps llama3 scaling): where there are such
/// entries the result is {"rope_type": "factors", "factors": [one divisor per frequency]}.
inline Json gguf_rope_scaling(const GgufFile& file, const std::string& prefix, const Json& head_dim) {
  const std::string type = gguf_text(file, prefix + "rope.scaling.type", "linear");
  Json factor = gguf_number(file, prefix + "rope.scaling.factor", false);
  if (factor.is_null()) factor = gguf_number(file, prefix + "rope.scale_linear", false);
  if (factor.is_null() || factor == 0 || type == "none") factor = 1.0;

  const EncodedTensor* divisors = find_gguf_tensor(file, "rope_freqs.weight");
  if (divisors == nullptr) {
    if (type == "none" || (type == "linear" && factor == 1.0)) return nullptr;
    Json scaling;
    scaling["rope_type"] = type;
    scaling["factor"] = factor;
    const Json original = gguf_number(file, prefix + "rope.scaling.original_context_length", true);
    if (!original.is_null()) scaling["original_max_position_embeddings"] = original;
    return scaling;
  }
  if (type != "none" && type != "linear") {
    fail(ErrorCode::unsupported, file.where, ": rope scaling ", quoted_name(type), " together with rope_freqs.weight");
  }
  const std::size_t count = divisors->elements();
  if (count == 0 || divisors->dtype != DType::f32 || !head_dim.is_number() ||
      Json(count) != Json(head_dim.get<std::uint64_t>() / 2)) {
    fail(ErrorCode::malformed, file.where, ": rope_freqs.weight must be F32 with one number per rotary frequency");
  }
  std::vector<float> values(count);
  decode_floats(DType::f32, divisors->bytes.data(), count, values.data());
  Json factors = Json::array();
  for (const float value : values) factors.push_back(static_cast<double>(value) * factor.get<double>());
  Json scaling;
  scaling["rope_type"] = "factors";
  scaling["factors"] = std::move(factors);
  return scaling;
}

/// End tokens: eos, and the ends of a turn and of a message where the file has them (llama.cpp stops at all of these).
inline Json gguf_end_tokens(const GgufFile& file) {
  Json tokens = Json::array();
  for (const char* name : {"eos", "eot", "eom"}) {
    const Json id = gguf_token(file, name);
    if (!id.is_null() && std::find(tokens.begin(), tokens.end(), id) == tokens.end()) tokens.push_back(id);
  }
  if (tokens.empty()) return nullptr;
  return tokens.size() == 1 ? tokens[0] : tokens;
}

}  // namespace detail

/// config.json as Hugging Face would write it for this file. What the file lacks and needs a default there is absent.
/// Errors: unsupported for other architectures and mixtures of experts; malformed for missing keys.
inline Json gguf_config(const GgufFile& file) {
  using detail::gguf_number;
  using detail::required_gguf_number;
  const auto architecture = detail::gguf_text(file, "general.architecture", "");
  const auto found = std::find_if(detail::gguf_architectures.begin(), detail::gguf_architectures.end(),
                                  [&](const detail::GgufArchitecture& each) { return each.name == architecture; });
  if (found == detail::gguf_architectures.end()) {
    std::string known;
    for (const detail::GgufArchitecture& each : detail::gguf_architectures) {
      known += (known.empty() ? "" : ", ") + std::string(each.name);
    }
    fail(ErrorCode::unsupported, file.where, ": GGUF architecture ", detail::quoted_name(architecture),
         " is not known; known are ", known);
  }
  const std::string prefix = architecture + ".";
  const Json experts = gguf_number(file, prefix + "expert_count", true);
  if (!experts.is_null() && experts != 0) fail(ErrorCode::unsupported, file.where, " is a mixture of experts");

  const Json hidden = required_gguf_number(file, prefix + "embedding_length", true);
  const Json heads = required_gguf_number(file, prefix + "attention.head_count", true);
  Json head_dim = gguf_number(file, prefix + "attention.key_length", true);
  if (head_dim.is_null() && heads > 0 && hidden > 0)
    head_dim = hidden.get<std::uint64_t>() / heads.get<std::uint64_t>();
  for (const std::string& key : {prefix + "attention.value_length", prefix + "rope.dimension_count"}) {
    const Json value = gguf_number(file, key, true);
    if (!value.is_null() && value != head_dim) {
      fail(ErrorCode::unsupported, file.where, ": ", key, " differs from the head dimension");
    }
  }
  const Json kv_heads = gguf_number(file, prefix + "attention.head_count_kv", true);
  const Json theta = gguf_number(file, prefix + "rope.freq_base", false);
  const EncodedTensor* embedding = detail::find_gguf_tensor(file, "token_embd.weight");
  const bool has_rows = embedding != nullptr && !embedding->shape.empty();

  // One by one: a list of them all is 3 kB more of a WebAssembly module.
  Json config;
  config["model_type"] = found->model_type;
  config["architectures"] = Json::array({found->class_name});
  config["hidden_act"] = "silu";
  config["hidden_size"] = hidden;
  config["num_hidden_layers"] = required_gguf_number(file, prefix + "block_count", true);
  config["num_attention_heads"] = heads;
  config["num_key_value_heads"] = kv_heads.is_null() ? heads : kv_heads;
  config["head_dim"] = head_dim;
  config["intermediate_size"] = required_gguf_number(file, prefix + "feed_forward_length", true);
  config["max_position_embeddings"] = required_gguf_number(file, prefix + "context_length", true);
  config["rms_norm_eps"] = required_gguf_number(file, prefix + "attention.layer_norm_rms_epsilon", false);
  config["rope_theta"] = theta.is_null() ? Json(10000.0) : theta;
  config["rope_scaling"] = detail::gguf_rope_scaling(file, prefix, head_dim);
  config["attention_bias"] = detail::find_gguf_tensor(file, "blk.0.attn_q.bias") != nullptr;
  config["mlp_bias"] = detail::find_gguf_tensor(file, "blk.0.ffn_gate.bias") != nullptr;
  config["tie_word_embeddings"] = detail::find_gguf_tensor(file, "output.weight") == nullptr;
  config["vocab_size"] = has_rows ? Json(embedding->shape.front()) : gguf_number(file, prefix + "vocab_size", true);
  config["bos_token_id"] = detail::gguf_token(file, "bos");
  config["eos_token_id"] = detail::gguf_end_tokens(file);
  if (config["vocab_size"].is_null()) config.erase("vocab_size");
  for (const auto& [key, name] : detail::gguf_factors) {
    const Json factor = gguf_number(file, prefix + key, false);
    if (!factor.is_null()) config[name] = factor;
  }
  return config;
}

}  // namespace tulle
