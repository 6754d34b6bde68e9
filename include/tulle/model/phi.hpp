// SPDX-License-Identifier: Apache-2.0
/// \file The Phi family: Phi-1, Phi-1.5 and Phi-2 (L3).
#pragma once

#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Attention and MLP side by side on one layer norm, biases everywhere, a part of a head rotates, gelu. Keys and defaults
/// are those of transformers' PhiConfig. Errors: as `llama_architecture`; unsupported for norms of queries and keys.
inline Architecture phi_architecture(const Json& config, std::string_view where) {
  require_flag(config, "qk_layernorm", false, where);
  const MlpKind mlp = plain_mlp(json_value(config, "hidden_act", std::string("gelu_new"), where), where);
  Json full = config;
  full["hidden_act"] = "silu";  // read above
  full["attention_bias"] = true;
  full["mlp_bias"] = true;
  full.emplace("vocab_size", 51200);
  full.emplace("hidden_size", 2048);
  full.emplace("intermediate_size", 8192);
  full.emplace("num_hidden_layers", 24);
  full.emplace("partial_rotary_factor", 0.5);
  Architecture model = llama_architecture(full, where);
  model.family = "phi";
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_eps", 1e-5f, where);
  for (LayerSpec& layer : model.layers) {
    layer.mlp = mlp;
    layer.residual = Residual::parallel;
  }
  model.head_bias = true;
  model.names.final_norm = "model.final_layernorm";
  model.names.mlp_norm = "";
  model.names.output = "self_attn.dense";
  model.names.gate = "";
  model.names.up = "mlp.fc1";
  model.names.down = "mlp.fc2";
  return model;
}

}  // namespace tulle
