// SPDX-License-Identifier: Apache-2.0
/// \file The GPT-2 family: GPT-2 124M to 1.5B, DistilGPT-2 (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>

namespace tulle {

/// Layer norms, learned positions, one tensor of queries, keys and values, gelu. Keys and defaults are those of
/// transformers' GPT2Config. Its files hold the matrices of layers transposed: see `format/hub_names.hpp`.
inline Architecture gpt2_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "gpt2";
  model.vocabulary = size("vocab_size", 50257);
  model.hidden = first_size(config, {"n_embd", "hidden_size"}, 768, where);
  model.heads = model.kv_heads = first_size(config, {"n_head", "num_attention_heads"}, 12, where);
  model.head_dim = even_head_dim(model, where);
  model.context_length = model.learned_positions =
      first_size(config, {"n_positions", "max_position_embeddings"}, 1024, where);
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_epsilon", 1e-5f, where);
  require_flag(config, "scale_attn_weights", true, where);
  require_flag(config, "scale_attn_by_inverse_layer_idx", false, where);
  require_flag(config, "add_cross_attention", false, where);
  model.set_layers(first_size(config, {"n_layer", "num_hidden_layers"}, 12, where),
                   {.intermediate = size("n_inner", 4 * model.hidden),
                    .mlp = plain_mlp(json_value(config, "activation_function", std::string("gelu_new"), where), where),
                    .residual = Residual::sequential,
                    .qkv_bias = true,
                    .output_bias = true,
                    .mlp_bias = true},
                   where);
  model.rotary_tables.resize(1);
  model.tied_head = json_value(config, "tie_word_embeddings", true, where);
  model.fuse_query_key_value(1);
  model.names = {.embedding = "transformer.wte",
                 .final_norm = "transformer.ln_f",
                 .head = "lm_head",
                 .layer = "transformer.h.{}.",
                 .position = "transformer.wpe",
                 .attention_norm = "ln_1",
                 .mlp_norm = "ln_2",
                 .query = "",
                 .key = "",
                 .value = "",
                 .query_key_value = "attn.c_attn",
                 .output = "attn.c_proj",
                 .gate = "",
                 .up = "mlp.c_fc",
                 .down = "mlp.c_proj"};
  read_special_tokens(config, 50256, 50256, where, model);
  return model;
}

}  // namespace tulle
