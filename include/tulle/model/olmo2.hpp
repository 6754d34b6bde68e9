// SPDX-License-Identifier: Apache-2.0
/// \file The OLMo 2 family (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers with norms of what the branches give in place of what they read, and norms of all queries and of all
/// keys of a row. Keys and defaults are those of transformers' Olmo2Config. Errors: as `llama_architecture`.
inline Architecture olmo2_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full.emplace("vocab_size", 50304);
  full.emplace("rms_norm_eps", 1e-5);
  full.emplace("bos_token_id", nullptr);
  full.emplace("eos_token_id", 50279);
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "olmo2";
  for (LayerSpec& layer : model.layers) layer.query_key_norm = QueryKeyNorm::row;
  model.names.attention_norm = "";
  model.names.mlp_norm = "";
  model.names.query_norm = "self_attn.q_norm";
  model.names.key_norm = "self_attn.k_norm";
  model.names.attention_post_norm = "post_attention_layernorm";
  model.names.mlp_post_norm = "post_feedforward_layernorm";
  return model;
}

}  // namespace tulle
