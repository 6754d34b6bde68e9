// SPDX-License-Identifier: Apache-2.0
/// \file The Qwen2 family: Qwen2 and Qwen2.5 without sliding windows (L3).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers and tensor names, with biases of queries, keys and values alone. Keys and defaults are those of
/// transformers' Qwen2Config; it has neither bos nor eos by default.
/// Errors: as `llama_architecture`; unsupported for sliding windows.
inline Architecture qwen2_architecture(const Json& config, std::string_view where) {
  if (json_value(config, "use_sliding_window", false, where)) {
    fail(ErrorCode::unsupported, where,
         ": use_sliding_window is not supported for qwen2; set it to false to attend to ", "all positions");
  }
  Json full = config;
  const auto fallback = [&](const char* key, std::size_t value) {
    if (!full.contains(key)) full[key] = value;
  };
  fallback("vocab_size", 151936);
  fallback("num_key_value_heads", 32);
  fallback("intermediate_size", 22016);
  fallback("max_position_embeddings", 32768);
  full["attention_bias"] = true;
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "qwen2";
  for (LayerSpec& layer : model.layers) layer.output_bias = false;
  model.bos.reset();
  if (const auto bos = config.find("bos_token_id"); bos != config.end() && !bos->is_null()) {
    model.bos = json_value(config, "bos_token_id", Token{}, where);
  }
  model.set_eos(eos_tokens(config, where));
  return model;
}

}  // namespace tulle
