// SPDX-License-Identifier: Apache-2.0
/// \file The Llama family: Llama 2 and 3, TinyLlama, SmolLM2 (L3).
#pragma once

#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>
#include <tulle/model/rotary_scaling.hpp>

namespace tulle {

/// RMS norms, grouped-query attention with rotary positions, gated SiLU. Defaults are those of transformers'
/// LlamaConfig.
inline Architecture llama_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "llama";
  model.vocabulary = size("vocab_size", 32000);
  model.hidden = size("hidden_size", 4096);
  model.heads = size("num_attention_heads", 32);
  model.kv_heads = size("num_key_value_heads", model.heads);
  model.head_dim = size("head_dim", model.heads == 0 ? 0 : model.hidden / model.heads);
  model.context_length = size("max_position_embeddings", 2048);
  model.norm = NormKind::rms;
  model.norm_epsilon = json_value(config, "rms_norm_eps", 1e-6f, where);
  const auto activation = json_value(config, "hidden_act", std::string("silu"), where);
  if (activation != "silu" && activation != "swish") {
    fail(ErrorCode::unsupported, where, ": hidden_act \"", activation, "\" is not known for ",
         json_value(config, "model_type", std::string("llama"), where), "; known is silu");
  }
  model.tied_head = json_value(config, "tie_word_embeddings", false, where);
  const bool attention_bias = json_value(config, "attention_bias", false, where);
  model.set_layers(size("num_hidden_layers", 32),
                   {.intermediate = size("intermediate_size", 11008),
                    .mlp = MlpKind::gated_silu,
                    .residual = Residual::sequential,
                    .qkv_bias = attention_bias,
                    .output_bias = attention_bias,
                    .mlp_bias = json_value(config, "mlp_bias", false, where)},
                   where);
  if (model.head_dim > Architecture::max_head_dim) {
    fail(ErrorCode::malformed, where, ": the head dimension ", model.head_dim, " must be at most ",
         Architecture::max_head_dim);
  }
  model.rotary_tables = {
      rotary_table(config, rotary_dimensions(rotary_part(config, 1, where), model.head_dim, where), where)};
  model.names = {.embedding = "model.embed_tokens",
                 .final_norm = "model.norm",
                 .head = "lm_head",
                 .layer = "model.layers.{}.",
                 .attention_norm = "input_layernorm",
                 .mlp_norm = "post_attention_layernorm",
                 .query = "self_attn.q_proj",
                 .key = "self_attn.k_proj",
                 .value = "self_attn.v_proj",
                 .query_key_value = "",
                 .output = "self_attn.o_proj",
                 .gate = "mlp.gate_proj",
                 .up = "mlp.up_proj",
                 .down = "mlp.down_proj"};
  read_special_tokens(config, 1, 2, where, model);
  return model;
}

}  // namespace tulle
