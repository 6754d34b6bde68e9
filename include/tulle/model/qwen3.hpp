// SPDX-License-Identifier: Apache-2.0
/// \file The Qwen3 family, dense: Qwen3 0.6B to 32B (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/llama.hpp>
#include <tulle/model/qwen2.hpp>

namespace tulle {

/// Llama's layers and tensor names, with norms of the heads of queries and keys. Keys and defaults are those of
/// transformers' Qwen3Config. Errors: as `llama_architecture` and `read_windows`.
inline Architecture qwen3_architecture(const Json& config, std::string_view where) {
  Json full = detail::qwen_config(config);
  full.emplace("head_dim", 128);
  Architecture model = llama_architecture(full, where);
  model.family = "qwen3";
  for (LayerSpec& layer : model.layers) layer.query_key_norm = QueryKeyNorm::head;
  model.names.query_norm = "self_attn.q_norm";
  model.names.key_norm = "self_attn.k_norm";
  detail::read_qwen_windows(config, where, model);
  return model;
}

}  // namespace tulle
