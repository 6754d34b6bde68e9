// SPDX-License-Identifier: Apache-2.0
/// \file The BLOOM family: BLOOM 560M to 176B, BLOOMZ (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/alibi.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>

namespace tulle {

/// Layer norms, also of the embeddings, ALiBi, one tensor of queries, keys and values by head, gelu. Keys and defaults
/// are those of transformers' BloomConfig.
inline Architecture bloom_architecture(const Json& config, std::string_view where) {
  Architecture model;
  model.family = "bloom";
  model.vocabulary = json_value(config, "vocab_size", std::size_t{250880}, where);
  model.hidden = first_size(config, {"n_embed", "hidden_size"}, 64, where);
  model.heads = model.kv_heads = first_size(config, {"n_head", "num_attention_heads"}, 8, where);
  model.head_dim = even_head_dim(model, where);
  model.context_length = first_size(config, {"seq_length"}, 2048, where);
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_epsilon", 1e-5f, where);
  require_flag(config, "apply_residual_connection_post_layernorm", false, where);
  model.set_layers(first_size(config, {"n_layer", "num_hidden_layers"}, 2, where),
                   {.intermediate = 4 * model.hidden,
                    .mlp = MlpKind::gelu,
                    .residual = Residual::sequential,
                    .qkv_bias = true,
                    .output_bias = true,
                    .mlp_bias = true},
                   where);
  model.rotary_tables.resize(1);
  model.alibi_slopes = alibi_slopes(model.heads);
  model.tied_head = json_value(config, "tie_word_embeddings", true, where);
  model.fuse_query_key_value(model.heads);
  model.names = {.embedding = "transformer.word_embeddings",
                 .final_norm = "transformer.ln_f",
                 .head = "lm_head",
                 .layer = "transformer.h.{}.",
                 .embedding_norm = "transformer.word_embeddings_layernorm",
                 .attention_norm = "input_layernorm",
                 .mlp_norm = "post_attention_layernorm",
                 .query = "",
                 .key = "",
                 .value = "",
                 .query_key_value = "self_attention.query_key_value",
                 .output = "self_attention.dense",
                 .gate = "",
                 .up = "mlp.dense_h_to_4h",
                 .down = "mlp.dense_4h_to_h"};
  read_special_tokens(config, 1, 2, where, model);
  return model;
}

}  // namespace tulle
