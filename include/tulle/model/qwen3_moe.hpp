// SPDX-License-Identifier: Apache-2.0
/// \file The Qwen3-MoE family: Qwen3-30B-A3B and 235B-A22B, Qwen3-Coder (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/qwen2_moe.hpp>
#include <tulle/model/qwen3.hpp>

namespace tulle {

/// Qwen3 with a mixture of experts. Keys and defaults are those of transformers' Qwen3MoeConfig.
/// Errors: as `qwen3_architecture`.
inline Architecture qwen3_moe_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Json full = config;
  full.emplace("hidden_size", 2048);
  full.emplace("intermediate_size", 6144);
  full.emplace("num_hidden_layers", 24);
  full.emplace("num_attention_heads", 32);
  full.emplace("num_key_value_heads", 4);
  full.emplace("head_dim", nullptr);  // hidden / heads, other than Qwen3's
  full["max_window_layers"] = 0;      // windows are those of all layers
  Architecture model = qwen3_architecture(full, where);
  model.family = "qwen3_moe";
  const ExpertSpec experts{.count = first_size(config, {"num_experts", "num_local_experts"}, 128, where),
                           .per_row = size("num_experts_per_tok", 8),
                           .normalized = json_value(config, "norm_topk_prob", false, where)};
  detail::read_qwen_experts(config, experts, size("moe_intermediate_size", 768), where, model);
  return model;
}

}  // namespace tulle
