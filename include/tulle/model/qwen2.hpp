// SPDX-License-Identifier: Apache-2.0
/// \file The Qwen2 family: Qwen2 and Qwen2.5 (L3).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

namespace detail {

/// `config` with what Qwen2Config and Qwen3Config have in common where it says nothing: neither bos nor eos, too.
inline Json qwen_config(const Json& config) {
  Json full = config;
  full.emplace("vocab_size", 151936);
  full.emplace("num_key_value_heads", 32);
  full.emplace("intermediate_size", 22016);
  full.emplace("max_position_embeddings", 32768);
  full.emplace("bos_token_id", nullptr);
  full.emplace("eos_token_id", nullptr);
  full["mlp_bias"] = false;
  return full;
}

/// The layers from `max_window_layers` on have a window where `use_sliding_window` says so.
inline void read_qwen_windows(const Json& config, std::string_view where, Architecture& model) {
  if (!json_value(config, "use_sliding_window", false, where)) return;
  Json full = config;
  full.emplace("sliding_window", 4096);
  const auto first = json_value(config, "max_window_layers", std::size_t{28}, where);
  read_windows(full, where, model, [first](std::size_t layer) { return layer >= first; });
}

}  // namespace detail

/// Llama's layers and tensor names, with biases of queries, keys and values alone. Keys and defaults are those of
/// transformers' Qwen2Config. Errors: as `llama_architecture` and `read_windows`.
inline Architecture qwen2_architecture(const Json& config, std::string_view where) {
  Json full = detail::qwen_config(config);
  full["attention_bias"] = true;
  Architecture model = llama_architecture(full, where);
  model.family = "qwen2";
  for (LayerSpec& layer : model.layers) layer.output_bias = false;
  detail::read_qwen_windows(config, where, model);
  return model;
}

}  // namespace tulle
