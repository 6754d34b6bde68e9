// SPDX-License-Identifier: Apache-2.0
/// \file The Gemma 3 family, text alone: Gemma 3 270M and 1B (L3).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/gemma2.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

namespace detail {

/// The rotary parameters of one kind of layer as a config of its own: transformers 5 keeps one set for each kind, earlier
/// versions have keys for both.
inline Json gemma3_rotary(const Json& config, const char* kind, const char* theta_key, double theta) {
  Json own = Json::object();
  for (const char* key : {"max_position_embeddings", "original_max_position_embeddings"}) {
    if (config.contains(key)) own[key] = config[key];
  }
  own["rope_theta"] = config.contains(theta_key) ? config[theta_key] : Json(theta);
  const auto all = config.find("rope_parameters");
  if (all != config.end() && all->is_object() && all->contains(kind)) own["rope_parameters"] = (*all)[kind];
  return own;
}

}  // namespace detail

/// Gemma with norms of the heads of queries and keys and of what the branches give. Five of six layers have a window, and
/// rotate faster. Keys and defaults are those of transformers' Gemma3TextConfig.
/// Errors: as `gemma_architecture` and `read_windows`.
inline Architecture gemma3_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full.emplace("vocab_size", 262208);
  full.emplace("max_position_embeddings", 131072);
  full.emplace("sliding_window", 4096);
  Architecture model = detail::gemma2_layers(full, 0, 0, where);
  model.family = "gemma3_text";
  model.names.query_norm = "self_attn.q_norm";
  model.names.key_norm = "self_attn.k_norm";

  const auto pattern = json_value(config, "sliding_window_pattern", std::size_t{6}, where);
  read_windows(full, where, model, [&](std::size_t layer) { return pattern == 0 || (layer + 1) % pattern != 0; });
  Json everywhere = detail::gemma3_rotary(full, "full_attention", "rope_theta", 1e6);
  if (config.contains("rope_scaling")) everywhere["rope_scaling"] = config["rope_scaling"];
  const Json windowed = detail::gemma3_rotary(full, "sliding_attention", "rope_local_base_freq", 1e4);
  model.rotary_tables = {rotary_table(everywhere, model.head_dim, where),
                         rotary_table(windowed, model.head_dim, where)};
  for (LayerSpec& layer : model.layers) {
    layer.rotary = layer.window.positions == 0 ? 0 : 1;
    layer.query_key_norm = QueryKeyNorm::head;
  }
  return model;
}

}  // namespace tulle
