// SPDX-License-Identifier: Apache-2.0
/// \file The Gemma 3 family, text alone: Gemma 3 270M and 1B (L3).
#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/gemma.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

namespace detail {

/// The rotary parameters of one kind of layer as a config of its own: transformers 5 keeps one set for each kind, earlier
/// versions have keys for both.
inline Json gemma3_rotary(const Json& config, const char* kind, const char* theta_key, double theta) {
  Json own = Json::object();
  const auto all = config.find("rope_parameters");
  if (all != config.end() && all->is_object() && all->contains(kind)) {
    own["rope_parameters"] = (*all)[kind];
    return own;
  }
  own["rope_theta"] = config.contains(theta_key) ? config[theta_key] : Json(theta);
  return own;
}

}  // namespace detail

/// Gemma with norms of the heads of queries and keys and of what the branches give. Five of six layers have a window, and
/// rotate faster. Keys and defaults are those of transformers' Gemma3TextConfig.
/// Errors: as `llama_architecture` and `read_windows`; unsupported for capped scores.
inline Architecture gemma3_architecture(const Json& config, std::string_view where) {
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    if (config.contains(key) && !config[key].is_null()) {
      fail(ErrorCode::unsupported, where, ": ", key, " is not supported for gemma3_text");
    }
  }
  Json full = config;
  full.emplace("vocab_size", 262208);
  full.emplace("hidden_size", 2304);
  full.emplace("intermediate_size", 9216);
  full.emplace("num_hidden_layers", 26);
  full.emplace("num_attention_heads", 8);
  full.emplace("num_key_value_heads", 4);
  full.emplace("max_position_embeddings", 131072);
  full.emplace("sliding_window", 4096);
  Architecture model = gemma_architecture(full, where);
  model.family = "gemma3_text";
  model.query_scale =
      std::sqrt(static_cast<float>(model.head_dim) / json_value(config, "query_pre_attn_scalar", 256.0f, where));
  model.names.mlp_norm = "pre_feedforward_layernorm";
  model.names.query_norm = "self_attn.q_norm";
  model.names.key_norm = "self_attn.k_norm";
  model.names.attention_post_norm = "post_attention_layernorm";
  model.names.mlp_post_norm = "post_feedforward_layernorm";

  const auto pattern = json_value(config, "sliding_window_pattern", std::size_t{6}, where);
  read_windows(full, where, model, [&](std::size_t layer) { return pattern == 0 || (layer + 1) % pattern != 0; });
  Json everywhere = detail::gemma3_rotary(config, "full_attention", "rope_theta", 1e6);
  if (config.contains("rope_scaling")) everywhere.emplace("rope_scaling", config["rope_scaling"]);
  const Json windowed = detail::gemma3_rotary(config, "sliding_attention", "rope_local_base_freq", 1e4);
  model.rotary_tables = {{RotaryPairing::halves, rotary_frequencies(everywhere, model.head_dim, where)},
                         {RotaryPairing::halves, rotary_frequencies(windowed, model.head_dim, where)}};
  for (LayerSpec& layer : model.layers) {
    layer.rotary = layer.window.positions == 0 ? 0 : 1;
    layer.query_key_norm = QueryKeyNorm::head;
  }
  return model;
}

}  // namespace tulle
