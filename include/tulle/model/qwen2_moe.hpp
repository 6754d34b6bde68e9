// SPDX-License-Identifier: Apache-2.0
/// \file The Qwen2-MoE family: Qwen1.5-MoE and Qwen2-57B-A14B (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/qwen2.hpp>

namespace tulle {

namespace detail {

/// The experts of Qwen's mixtures, in every layer but those that a config says are dense.
inline void read_qwen_experts(const Json& config, const ExpertSpec& experts, std::size_t intermediate,
                              std::string_view where, Architecture& model) {
  const auto step = json_value(config, "decoder_sparse_step", std::size_t{1}, where);
  const auto dense = json_value(config, "mlp_only_layers", std::vector<std::size_t>{}, where);
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const bool listed = std::find(dense.begin(), dense.end(), layer) != dense.end();
    if (listed || experts.count == 0 || step == 0 || (layer + 1) % step != 0) continue;
    model.layers[layer].experts = experts;
    model.layers[layer].intermediate = intermediate;
  }
  model.names.router = "mlp.gate";
  model.names.expert = "mlp.experts.{}.";
  model.names.expert_gate = "gate_proj";
  model.names.expert_up = "up_proj";
  model.names.expert_down = "down_proj";
}

}  // namespace detail

/// Qwen2 with a mixture of experts, and one that all rows share by a gate of its own. Keys and defaults are those of
/// transformers' Qwen2MoeConfig. Errors: as `qwen2_architecture`; unsupported for windows.
inline Architecture qwen2_moe_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  require_flag(config, "use_sliding_window", false, where);
  Json full = config;
  full.emplace("hidden_size", 2048);
  full.emplace("intermediate_size", 5632);
  full.emplace("num_hidden_layers", 24);
  full.emplace("num_attention_heads", 16);
  full.emplace("num_key_value_heads", 16);
  Architecture model = qwen2_architecture(full, where);
  model.family = "qwen2_moe";
  if (!json_value(config, "qkv_bias", true, where)) {
    for (LayerSpec& layer : model.layers) layer.qkv_bias = false;
  }
  const ExpertSpec experts{.count = first_size(config, {"num_experts", "num_local_experts"}, 60, where),
                           .per_row = size("num_experts_per_tok", 4),
                           .shared_intermediate = size("shared_expert_intermediate_size", 5632),
                           .normalized = json_value(config, "norm_topk_prob", false, where)};
  detail::read_qwen_experts(config, experts, size("moe_intermediate_size", 1408), where, model);
  model.names.shared = "mlp.shared_expert.";
  model.names.shared_gate = "mlp.shared_expert_gate";
  return model;
}

}  // namespace tulle
