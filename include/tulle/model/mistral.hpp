// SPDX-License-Identifier: Apache-2.0
/// \file The Mistral family: Mistral 7B, Nemo, Ministral (L3).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers and tensor names, with a window of positions on every layer unless `sliding_window` is null. Keys and
/// defaults are those of transformers' MistralConfig. Errors: as `llama_architecture` and `read_windows`.
inline Architecture mistral_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full.emplace("intermediate_size", 14336);
  full.emplace("num_key_value_heads", 8);
  full.emplace("max_position_embeddings", 131072);
  full.emplace("sliding_window", 4096);
  full["attention_bias"] = false;
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "mistral";
  read_windows(full, where, model, [](std::size_t) { return true; });
  return model;
}

}  // namespace tulle
