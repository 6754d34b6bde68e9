// SPDX-License-Identifier: Apache-2.0
/// \file The OPT family: Meta's OPT-125M to 66B (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>

namespace tulle {

/// Layer norms, learned positions from row 2 on, relu. OPT-350M has its norms behind the additions, and embeddings
/// narrower than the residual stream. Keys and defaults are those of transformers' OPTConfig.
inline Architecture opt_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "opt";
  model.vocabulary = size("vocab_size", 50272);
  model.hidden = size("hidden_size", 768);
  model.heads = model.kv_heads = size("num_attention_heads", 12);
  model.head_dim = even_head_dim(model, where);
  model.context_length = size("max_position_embeddings", 2048);
  model.first_position = 2;
  model.learned_positions = model.context_length + model.first_position;
  model.norm = NormKind::layer;
  require_flag(config, "layer_norm_elementwise_affine", true, where);
  const bool norms_first = json_value(config, "do_layer_norm_before", true, where);
  const bool has_bias = json_value(config, "enable_bias", true, where);
  model.set_layers(size("num_hidden_layers", 12),
                   {.intermediate = size("ffn_dim", 3072),
                    .mlp = plain_mlp(json_value(config, "activation_function", std::string("relu"), where), where),
                    .residual = norms_first ? Residual::sequential : Residual::post_norm,
                    .qkv_bias = has_bias,
                    .output_bias = has_bias,
                    .mlp_bias = has_bias},
                   where);
  model.rotary_tables.resize(1);
  model.tied_head = json_value(config, "tie_word_embeddings", true, where);
  model.embedding_size = size("word_embed_proj_dim", model.hidden);
  model.names = {.embedding = "model.decoder.embed_tokens",
                 .final_norm = "model.decoder.final_layer_norm",
                 .head = "lm_head",
                 .layer = "model.decoder.layers.{}.",
                 .position = "model.decoder.embed_positions",
                 .attention_norm = "self_attn_layer_norm",
                 .mlp_norm = "final_layer_norm",
                 .query = "self_attn.q_proj",
                 .key = "self_attn.k_proj",
                 .value = "self_attn.v_proj",
                 .query_key_value = "",
                 .output = "self_attn.out_proj",
                 .gate = "",
                 .up = "fc1",
                 .down = "fc2"};
  if (!norms_first || json_value(config, "_remove_final_layer_norm", false, where)) model.names.final_norm = "";
  if (model.embedding_size != model.hidden) {
    model.names.project_embedding = "model.decoder.project_in";
    model.names.project_logits = "model.decoder.project_out";
  }
  read_special_tokens(config, 2, 2, where, model);
  return model;
}

}  // namespace tulle
