// SPDX-License-Identifier: Apache-2.0
/// \file The Phi-3 family: Phi-3 and Phi-3.5 mini and medium, Phi-4, Phi-4-mini (L3).
#pragma once

#include <cstddef>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/layer_windows.hpp>
#include <tulle/model/llama.hpp>

namespace tulle {

/// Llama's layers, with one tensor of queries, keys and values, one of gate and up, and perhaps a part of a head that
/// rotates. Keys and defaults are those of transformers' Phi3Config. Errors: as `llama_architecture` and `read_windows`.
inline Architecture phi3_architecture(const Json& config, std::string_view where) {
  Json full = config;
  full.emplace("vocab_size", 32064);
  full.emplace("hidden_size", 3072);
  full.emplace("intermediate_size", 8192);
  full.emplace("max_position_embeddings", 4096);
  full.emplace("original_max_position_embeddings", 4096);
  full.emplace("rms_norm_eps", 1e-5);
  full.emplace("eos_token_id", 32000);
  full["attention_bias"] = false;
  full["mlp_bias"] = false;
  Architecture model = llama_architecture(full, where);
  model.family = "phi3";
  model.names.query = model.names.key = model.names.value = "";
  model.names.query_key_value = "self_attn.qkv_proj";
  model.fuse_query_key_value(1);
  model.names.gate = "";
  model.names.up = "mlp.gate_up_proj";  // the gate's rows first
  read_windows(full, where, model, [](std::size_t) { return true; });
  return model;
}

}  // namespace tulle
