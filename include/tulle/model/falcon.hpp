// SPDX-License-Identifier: Apache-2.0
/// \file The Falcon family: Falcon 1B (RW), 7B, 11B, 40B and 180B (L3).
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/alibi.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

/// Layer norms, one tensor of queries, keys and values by key-value head, gelu. The branches stand side by side, on one
/// norm (7B) or one each (40B), or one after the other (RW, which has ALiBi in place of rotation). Keys and defaults are
/// those of transformers' FalconConfig.
inline Architecture falcon_architecture(const Json& config, std::string_view where) {
  const auto flag = [&](const char* key, bool fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "falcon";
  model.vocabulary = json_value(config, "vocab_size", std::size_t{65024}, where);
  model.hidden = first_size(config, {"hidden_size", "n_embed"}, 4544, where);
  model.heads = first_size(config, {"num_attention_heads", "n_head"}, 71, where);
  const bool grouped = flag("new_decoder_architecture", false), one_head = flag("multi_query", true);
  model.kv_heads = grouped    ? first_size(config, {"num_kv_heads", "n_head_kv"}, model.heads, where)
                   : one_head ? 1
                              : model.heads;
  model.head_dim = even_head_dim(model, where);
  model.context_length = first_size(config, {"max_position_embeddings"}, 2048, where);
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_epsilon", 1e-5f, where);
  const bool parallel = grouped || flag("parallel_attn", true), has_bias = flag("bias", false);
  model.set_layers(first_size(config, {"num_hidden_layers", "n_layer"}, 32, where),
                   {.intermediate = first_size(config, {"ffn_hidden_size"}, 4 * model.hidden, where),
                    .mlp = plain_mlp(json_value(config, "activation", std::string("gelu"), where), where),
                    .residual = parallel ? Residual::parallel : Residual::sequential,
                    .qkv_bias = has_bias,
                    .output_bias = has_bias,
                    .mlp_bias = has_bias},
                   where);
  model.rotary_tables.resize(1);
  if (flag("alibi", false)) {
    model.alibi_slopes = alibi_slopes(model.heads);  // these are scaled with the scores
    for (float& slope : model.alibi_slopes) slope /= std::sqrt(static_cast<float>(model.head_dim));
  } else {
    model.rotary_tables = {rotary_table(config, rotary_dimensions(1, model.head_dim, where), where)};
  }
  model.tied_head = flag("tie_word_embeddings", true);
  if (model.kv_heads == 0 || model.heads % model.kv_heads != 0) {
    fail(ErrorCode::malformed, where, ": ", model.heads, " heads share ", model.kv_heads, " key-value heads");
  }
  model.fuse_query_key_value(model.kv_heads);
  model.names = {.embedding = "transformer.word_embeddings",
                 .final_norm = "transformer.ln_f",
                 .head = "lm_head",
                 .layer = "transformer.h.{}.",
                 .attention_norm = "input_layernorm",
                 .mlp_norm = parallel ? "" : "post_attention_layernorm",
                 .query = "",
                 .key = "",
                 .value = "",
                 .query_key_value = "self_attention.query_key_value",
                 .output = "self_attention.dense",
                 .gate = "",
                 .up = "mlp.dense_h_to_4h",
                 .down = "mlp.dense_4h_to_h"};
  if (grouped && json_value(config, "num_ln_in_parallel_attn", 2, where) == 2) {
    model.names.attention_norm = "ln_attn";
    model.names.mlp_norm = "ln_mlp";
  }
  read_special_tokens(config, 11, 11, where, model);
  return model;
}

}  // namespace tulle
