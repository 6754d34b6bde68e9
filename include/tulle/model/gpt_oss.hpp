// SPDX-License-Identifier: Apache-2.0
/// \file The GPT-OSS family: gpt-oss-20b and 120b (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama with biases, sinks of attention, a window on every second layer, and a mixture of experts with clamped gates.
/// Keys and defaults are those of transformers' GptOssConfig; files hold the experts of a layer in one tensor: see
/// `format/split_experts.hpp`. Errors: as `llama_architecture` and `read_windows`; unsupported for another clamp.
inline Architecture gpt_oss_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  if (json_value(config, "swiglu_limit", 7.0, where) != 7.0) {
    fail(ErrorCode::unsupported, where, ": swiglu_limit must be 7 for gpt_oss");
  }
  if (json_value(config, "swiglu_alpha", 1.702, where) != 1.702) {
    fail(ErrorCode::unsupported, where, ": swiglu_alpha must be 1.702 for gpt_oss");
  }
  Json full = config;
  full.emplace("vocab_size", 201088);
  full.emplace("hidden_size", 2880);
  full.emplace("intermediate_size", 2880);
  full.emplace("num_hidden_layers", 36);
  full.emplace("num_attention_heads", 64);
  full.emplace("num_key_value_heads", 8);
  full.emplace("head_dim", 64);
  full.emplace("max_position_embeddings", 131072);
  full.emplace("rms_norm_eps", 1e-5);
  full.emplace("rope_theta", 150000.0);
  full.emplace("sliding_window", 128);
  full.emplace("attention_bias", true);
  full.emplace("bos_token_id", nullptr);
  full.emplace("eos_token_id", nullptr);
  if (full.value("rope_scaling", Json()).is_null() && full.value("rope_parameters", Json()).is_null()) {
    Json& scaling = full["rope_scaling"] = Json::object();
    scaling["rope_type"] = "yarn";
    scaling["factor"] = 32.0;
    scaling["truncate"] = false;
    scaling["original_max_position_embeddings"] = 4096;
  }
  full["mlp_bias"] = true;
  Architecture model = llama_architecture(full, where);
  model.family = "gpt_oss";
  for (LayerSpec& layer : model.layers) {
    layer.mlp = MlpKind::gated_clamped;
    layer.experts = {.count = first_size(config, {"num_local_experts", "num_experts"}, 128, where),
                     .per_row = size("num_experts_per_tok", 4)};
  }
  model.router_bias = true;
  model.names.router = "mlp.router";
  model.names.expert = "mlp.experts.{}.";
  model.names.expert_gate = "gate_proj";
  model.names.expert_up = "up_proj";
  model.names.expert_down = "down_proj";
  model.names.sinks = "self_attn.sinks";
  read_windows(full, where, model, [](std::size_t layer) { return layer % 2 == 0; });
  return model;
}

}  // namespace tulle
