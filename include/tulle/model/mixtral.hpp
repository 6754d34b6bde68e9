// SPDX-License-Identifier: Apache-2.0
/// \file The Mixtral family: Mixtral 8x7B and 8x22B (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/mistral.hpp>

namespace tulle {

/// Mistral with a mixture of experts, whose weights always have the sum 1. Keys and defaults are those of transformers'
/// MixtralConfig. Errors: as `mistral_architecture`.
inline Architecture mixtral_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Json full = config;
  full.emplace("rope_theta", 1e6);
  full.emplace("rms_norm_eps", 1e-5);
  full.emplace("sliding_window", nullptr);
  Architecture model = mistral_architecture(full, where);
  model.family = "mixtral";
  for (LayerSpec& layer : model.layers) {
    layer.experts = {.count = first_size(config, {"num_local_experts", "num_experts"}, 8, where),
                     .per_row = size("num_experts_per_tok", 2)};
  }
  model.names.router = "block_sparse_moe.gate";
  model.names.expert = "block_sparse_moe.experts.{}.";
  model.names.expert_gate = "w1";
  model.names.expert_up = "w3";
  model.names.expert_down = "w2";
  return model;
}

}  // namespace tulle
