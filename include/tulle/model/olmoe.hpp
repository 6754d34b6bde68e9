// SPDX-License-Identifier: Apache-2.0
/// \file The OLMoE family: OLMoE 1B-7B (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/llama.hpp>
#include <tulle/model/qwen2_moe.hpp>

namespace tulle {

/// Llama with norms of whole rows of queries and keys, and a mixture of experts. Keys and defaults are those of
/// transformers' OlmoeConfig. Errors: as `llama_architecture`; unsupported for clipped queries.
inline Architecture olmoe_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  if (json_value(config, "clip_qkv", 0.0f, where) != 0) {
    fail(ErrorCode::unsupported, where, ": clip_qkv is not supported for olmoe");
  }
  Json full = config;
  full.emplace("vocab_size", 50304);
  full.emplace("hidden_size", 2048);
  full.emplace("intermediate_size", 2048);
  full.emplace("num_hidden_layers", 16);
  full.emplace("num_attention_heads", 16);
  full.emplace("max_position_embeddings", 4096);
  full.emplace("rms_norm_eps", 1e-5);
  full.emplace("bos_token_id", nullptr);
  full.emplace("eos_token_id", 50279);
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "olmoe";
  for (LayerSpec& layer : model.layers) layer.query_key_norm = QueryKeyNorm::row;
  model.names.query_norm = "self_attn.q_norm";
  model.names.key_norm = "self_attn.k_norm";
  const ExpertSpec experts{.count = first_size(config, {"num_experts", "num_local_experts"}, 64, where),
                           .per_row = size("num_experts_per_tok", 8),
                           .normalized = json_value(config, "norm_topk_prob", false, where)};
  detail::read_qwen_experts(Json::object(), experts, size("intermediate_size", 2048), where, model);
  return model;
}

}  // namespace tulle
