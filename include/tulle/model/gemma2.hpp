// SPDX-License-Identifier: Apache-2.0
/// \file The Gemma 2 family: Gemma 2 2B, 9B and 27B (L3).
#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/gemma.hpp>
#include <tulle/model/layer_windows.hpp>

namespace tulle {

namespace detail {

/// What Gemma 2 and 3 add to Gemma: norms of what the branches give, a scale of queries, caps of scores and logits.
inline Architecture gemma2_layers(const Json& config, float score_cap, float logit_cap, std::string_view where) {
  Json full = config;
  full.emplace("hidden_size", 2304);
  full.emplace("intermediate_size", 9216);
  full.emplace("num_hidden_layers", 26);
  full.emplace("num_attention_heads", 8);
  full.emplace("num_key_value_heads", 4);
  Architecture model = gemma_architecture(full, where);
  model.query_scale =
      std::sqrt(static_cast<float>(model.head_dim) / json_value(config, "query_pre_attn_scalar", 256.0f, where));
  const auto cap = [&](const char* key, float fallback) {
    return json_value(config, key, config.contains(key) ? 0 : fallback, where);  // null: none
  };
  model.score_cap = cap("attn_logit_softcapping", score_cap);
  model.logit_cap = cap("final_logit_softcapping", logit_cap);
  model.names.mlp_norm = "pre_feedforward_layernorm";
  model.names.attention_post_norm = "post_attention_layernorm";
  model.names.mlp_post_norm = "post_feedforward_layernorm";
  return model;
}

}  // namespace detail

/// Gemma with norms of what the branches give, capped scores and logits, and a window on every second layer. Keys and
/// defaults are those of transformers' Gemma2Config. Errors: as `gemma_architecture` and `read_windows`.
inline Architecture gemma2_architecture(const Json& config, std::string_view where) {
  Architecture model = detail::gemma2_layers(config, 50, 30, where);
  model.family = "gemma2";
  Json full = config;
  full.emplace("sliding_window", 4096);
  read_windows(full, where, model, [](std::size_t layer) { return layer % 2 == 0; });
  return model;
}

}  // namespace tulle
