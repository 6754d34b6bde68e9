// SPDX-License-Identifier: Apache-2.0
/// \file The StarCoder2 family: StarCoder2 3B, 7B and 15B (L3).
#pragma once

#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers with layer norms, biases, and an MLP by gelu without a gate. Keys and defaults are those of
/// transformers' Starcoder2Config. Errors: as `llama_architecture` and `read_windows`.
inline Architecture starcoder2_architecture(const Json& config, std::string_view where) {
  const MlpKind mlp = plain_mlp(json_value(config, "hidden_act", std::string("gelu_pytorch_tanh"), where), where);
  const bool has_bias = json_value(config, "use_bias", true, where);
  Json full = config;
  full["hidden_act"] = "silu";  // read above
  full["attention_bias"] = has_bias;
  full["mlp_bias"] = has_bias;
  full.emplace("vocab_size", 49152);
  full.emplace("hidden_size", 3072);
  full.emplace("intermediate_size", 12288);
  full.emplace("num_hidden_layers", 30);
  full.emplace("num_attention_heads", 24);
  full.emplace("num_key_value_heads", 2);
  full.emplace("max_position_embeddings", 4096);
  full.emplace("tie_word_embeddings", true);
  full.emplace("bos_token_id", 50256);
  full.emplace("eos_token_id", 50256);
  Architecture model = llama_architecture(full, where);
  model.family = "starcoder2";
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "norm_epsilon", 1e-5f, where);
  for (LayerSpec& layer : model.layers) layer.mlp = mlp;
  model.names.gate = "";
  model.names.up = "mlp.c_fc";
  model.names.down = "mlp.c_proj";
  read_windows(full, where, model, [](std::size_t) { return true; });
  return model;
}

}  // namespace tulle
