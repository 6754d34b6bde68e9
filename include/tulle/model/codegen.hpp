// SPDX-License-Identifier: Apache-2.0
/// \file The CodeGen family: Salesforce codegen-350M to 16B (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

/// Layer norms, attention and MLP side by side on one norm, partial interleaved rotary, gelu, a head with a bias.
/// Keys and defaults are those of transformers' CodeGenConfig; `mp_num` (4) is fixed there.
inline Architecture codegen_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "codegen";
  model.vocabulary = size("vocab_size", 50400);
  model.hidden = first_size(config, {"n_embd", "hidden_size"}, 4096, where);
  model.heads = model.kv_heads = first_size(config, {"n_head", "num_attention_heads"}, 16, where);
  model.head_dim = even_head_dim(model, where);
  model.context_length = first_size(config, {"n_positions", "max_position_embeddings"}, 2048, where);
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_epsilon", 1e-5f, where);
  model.set_layers(first_size(config, {"n_layer", "num_hidden_layers"}, 28, where),
                   {.intermediate = size("n_inner", 4 * model.hidden),
                    .mlp = plain_mlp(json_value(config, "activation_function", std::string("gelu_new"), where), where),
                    .residual = Residual::parallel,
                    .mlp_bias = true},
                   where);
  model.tied_head = json_value(config, "tie_word_embeddings", false, where);
  model.head_bias = true;
  // The rows of qkv_proj are mp_num blocks, each of the query, value and key rows of heads / mp_num heads.
  const std::size_t blocks = size("mp_num", 4);
  if (blocks == 0 || model.heads % blocks != 0) {
    fail(ErrorCode::malformed, where, ": mp_num must be positive and divide the number of attention heads");
  }
  const std::size_t rows = model.query_rows() / blocks;
  model.query_order = RowOrder::of_blocks(blocks, 3 * rows, 0, rows);
  model.value_order = RowOrder::of_blocks(blocks, 3 * rows, rows, rows);
  model.key_order = RowOrder::of_blocks(blocks, 3 * rows, 2 * rows, rows);
  const std::size_t rotary_dim = size("rotary_dim", config.contains("rotary_dim") ? 0 : 64);
  if (rotary_dim == 0 || rotary_dim % 2 != 0 || rotary_dim > model.head_dim) {
    fail(ErrorCode::malformed, where, ": rotary_dim must be even and at most the head dimension ", model.head_dim);
  }
  model.rotary_tables = {{RotaryPairing::interleaved, plain_frequencies(10000.0, rotary_dim)}};
  model.names = {.embedding = "transformer.wte",
                 .final_norm = "transformer.ln_f",
                 .head = "lm_head",
                 .layer = "transformer.h.{}.",
                 .attention_norm = "ln_1",
                 .mlp_norm = "",
                 .query = "",
                 .key = "",
                 .value = "",
                 .query_key_value = "attn.qkv_proj",
                 .output = "attn.out_proj",
                 .gate = "",
                 .up = "mlp.fc_in",
                 .down = "mlp.fc_out"};
  read_special_tokens(config, 50256, 50256, where, model);
  return model;
}

}  // namespace tulle
