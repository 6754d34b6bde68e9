// SPDX-License-Identifier: Apache-2.0
/// \file The SmolLM3 family (L3).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers and tensor names; in some layers, every fourth by default, nothing rotates ("NoPE"). Keys and defaults
/// are those of transformers' SmolLM3Config, where a 1 in `no_rope_layers` is a layer that does rotate.
/// Errors: as `llama_architecture` and `read_windows`.
inline Architecture smollm3_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full.emplace("vocab_size", 128256);
  full.emplace("hidden_size", 2048);
  full.emplace("num_hidden_layers", 36);
  full.emplace("num_attention_heads", 16);
  full.emplace("num_key_value_heads", 4);
  full.emplace("max_position_embeddings", 32768);
  full.emplace("rope_theta", 2000000.0);
  full.emplace("tie_word_embeddings", true);
  full.emplace("bos_token_id", 128000);
  full.emplace("eos_token_id", 128001);
  Architecture model = llama_architecture(full, where);
  model.family = "smollm3";

  const auto interval = json_value(config, "no_rope_layer_interval", std::size_t{4}, where);
  auto rotates = json_value(config, "no_rope_layers", std::vector<std::size_t>{}, where);
  for (std::size_t layer = rotates.size(); layer < model.layers.size(); ++layer) {
    rotates.push_back(interval == 0 || (layer + 1) % interval != 0 ? 1 : 0);
  }
  model.rotary_tables.emplace_back();  // without frequencies
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    model.layers[layer].rotary = rotates[layer] == 0 ? 1 : 0;
  }
  if (json_value(config, "use_sliding_window", false, where)) {
    read_windows(full, where, model, [&](std::size_t layer) { return rotates[layer] == 0; });
  }
  return model;
}

}  // namespace tulle
