// SPDX-License-Identifier: Apache-2.0
/// \file The Gemma family, first generation: Gemma 2B and 7B, CodeGemma (L3).
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers and tensor names, with a gate by gelu, norms that hold their difference from 1, and embeddings times
/// sqrt(hidden). Keys and defaults are those of transformers' GemmaConfig. Early configs of model type "gemma" say "gelu" and
/// mean the one by tanh. Errors: as `llama_architecture`.
inline Architecture gemma_architecture(const Json& config, std::string_view where) {
  std::string activation = json_value(config, "hidden_act", std::string("gelu_pytorch_tanh"), where);
  activation = json_value(config, "hidden_activation", activation, where);
  const std::string type = json_value(config, "model_type", std::string("gemma"), where);
  const bool is_first = type == "gemma" && activation == "gelu";
  if (activation != "gelu_pytorch_tanh" && activation != "gelu_new" && !is_first) {
    fail(ErrorCode::unsupported, where, ": hidden_activation \"", activation, "\" is not known for ", type,
         "; known is gelu_pytorch_tanh");
  }
  require_flag(config, "use_bidirectional_attention", false, where);
  Json full = config;
  full["hidden_act"] = "silu";  // read above
  full.emplace("vocab_size", 256000);
  full.emplace("hidden_size", 3072);
  full.emplace("intermediate_size", 24576);
  full.emplace("num_hidden_layers", 28);
  full.emplace("num_attention_heads", 16);
  full.emplace("num_key_value_heads", 16);
  full.emplace("head_dim", 256);
  full.emplace("max_position_embeddings", 8192);
  full.emplace("tie_word_embeddings", true);
  full.emplace("bos_token_id", 2);
  full.emplace("eos_token_id", 1);
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "gemma";
  for (LayerSpec& layer : model.layers) layer.mlp = MlpKind::gated_gelu;
  model.norm_offset = 1;
  model.embedding_scale = std::sqrt(static_cast<float>(model.hidden));
  return model;
}

}  // namespace tulle
