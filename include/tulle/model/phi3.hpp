// SPDX-License-Identifier: Apache-2.0
/// \file The Phi-3 family: Phi-3 mini and medium with 4k positions (L3).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

/// Llama's layers, with one tensor of queries, keys and values, one of gate and up, and perhaps a part of a head that
/// rotates. Keys and defaults are those of transformers' Phi3Config.
/// Errors: as `llama_architecture` and `read_windows`; malformed for a part that is no even number of dimensions.
inline Architecture phi3_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full.emplace("vocab_size", 32064);
  full.emplace("hidden_size", 3072);
  full.emplace("intermediate_size", 8192);
  full.emplace("max_position_embeddings", 4096);
  full.emplace("rms_norm_eps", 1e-5);
  full.emplace("eos_token_id", 32000);
  full["attention_bias"] = false;
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "phi3";
  const double part = json_value(config, "partial_rotary_factor", 1.0, where);
  const bool is_part = part > 0 && part <= 1;
  const auto dimensions = static_cast<std::size_t>(is_part ? part * static_cast<double>(model.head_dim) : 0);
  if (dimensions == 0 || dimensions % 2 != 0) {
    fail(ErrorCode::malformed, where, ": partial_rotary_factor ", part, " of a head of ", model.head_dim,
         " is no even number of dimensions");
  }
  model.rotary_tables = {{RotaryPairing::halves, rotary_frequencies(config, dimensions, where)}};
  model.names.query = model.names.key = model.names.value = "";
  model.names.query_key_value = "self_attn.qkv_proj";
  model.query_order = RowOrder::of_blocks(1, 0, 0, model.query_rows());
  model.key_order = RowOrder::of_blocks(1, 0, model.query_rows(), model.kv_rows());
  model.value_order = RowOrder::of_blocks(1, 0, model.query_rows() + model.kv_rows(), model.kv_rows());
  model.names.gate = "";
  model.names.up = "mlp.gate_up_proj";  // the gate's rows first
  read_windows(full, where, model, [](std::size_t) { return true; });
  return model;
}

}  // namespace tulle
