// SPDX-License-Identifier: Apache-2.0
/// \file The GPT-NeoX family: GPT-NeoX 20B, Pythia, StableLM-alpha (L3).
#pragma once

#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

/// Layer norms, one tensor of queries, keys and values by head, a part of a head rotates, gelu; the branches side by side
/// on norms of their own, or one after the other. Keys and defaults are those of transformers' GPTNeoXConfig.
inline Architecture gpt_neox_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "gpt_neox";
  model.vocabulary = size("vocab_size", 50432);
  model.hidden = size("hidden_size", 6144);
  model.heads = model.kv_heads = size("num_attention_heads", 64);
  model.head_dim = even_head_dim(model, where);
  model.context_length = size("max_position_embeddings", 2048);
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_eps", 1e-5f, where);
  const bool parallel = json_value(config, "use_parallel_residual", true, where);
  const bool attention_bias = json_value(config, "attention_bias", true, where);
  model.set_layers(size("num_hidden_layers", 44),
                   {.intermediate = size("intermediate_size", 24576),
                    .mlp = plain_mlp(json_value(config, "hidden_act", std::string("gelu"), where), where),
                    .residual = parallel ? Residual::parallel : Residual::sequential,
                    .qkv_bias = attention_bias,
                    .output_bias = attention_bias,
                    .mlp_bias = true},
                   where);
  Json rotary = config;  // in which the family's own names come first
  const double theta = json_value(config, "rope_theta", 10000.0, where);
  rotary["rope_theta"] = json_value(config, "rotary_emb_base", theta, where);
  const double part = json_value(config, "partial_rotary_factor", 0.25, where);
  rotary["partial_rotary_factor"] = json_value(config, "rotary_pct", part, where);
  model.rotary_tables = {
      rotary_table(rotary, rotary_dimensions(rotary_part(rotary, part, where), model.head_dim, where), where)};
  model.tied_head = json_value(config, "tie_word_embeddings", false, where);
  model.fuse_query_key_value(model.heads);
  model.names = {.embedding = "gpt_neox.embed_in",
                 .final_norm = "gpt_neox.final_layer_norm",
                 .head = "embed_out",
                 .layer = "gpt_neox.layers.{}.",
                 .attention_norm = "input_layernorm",
                 .mlp_norm = "post_attention_layernorm",
                 .query = "",
                 .key = "",
                 .value = "",
                 .query_key_value = "attention.query_key_value",
                 .output = "attention.dense",
                 .gate = "",
                 .up = "mlp.dense_h_to_4h",
                 .down = "mlp.dense_4h_to_h"};
  read_special_tokens(config, 0, 2, where, model);
  return model;
}

}  // namespace tulle
