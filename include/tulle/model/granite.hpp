// SPDX-License-Identifier: Apache-2.0
/// \file The Granite family, dense: Granite 3 (L3).
#pragma once

#include <cmath>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers and tensor names, with factors of embeddings, queries, branches and logits. Keys and defaults are those
/// of transformers' GraniteConfig. Errors: as `llama_architecture`; malformed for factors of 0.
inline Architecture granite_architecture(const Json& config, std::string_view where) {
  Architecture model = llama_architecture(config, where);
  model.family = "granite";
  const auto factor = [&](const char* key) { return json_value(config, key, 1.0f, where); };
  model.embedding_scale = factor("embedding_multiplier");
  model.residual_scale = factor("residual_multiplier");
  model.logit_scale = 1 / factor("logits_scaling");
  // In place of 1 / sqrt(head_dim), with which attention multiplies.
  model.query_scale = factor("attention_multiplier") * std::sqrt(static_cast<float>(model.head_dim));
  return model;
}

}  // namespace tulle
