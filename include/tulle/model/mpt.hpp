// SPDX-License-Identifier: Apache-2.0
/// \file The MPT family: MPT-7B and 30B (L3).
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/alibi.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>

namespace tulle {

/// Layer norms and matrices without biases, ALiBi, one tensor of queries, keys and values, gelu. Keys and defaults are
/// those of transformers' MptConfig, which puts those of attention into `attn_config`.
inline Architecture mpt_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "mpt";
  model.vocabulary = size("vocab_size", 50368);
  model.hidden = first_size(config, {"d_model", "hidden_size"}, 2048, where);
  model.heads = model.kv_heads = first_size(config, {"n_heads", "num_attention_heads"}, 16, where);
  model.head_dim = even_head_dim(model, where);
  model.context_length = size("max_seq_len", 2048);
  model.norm = NormKind::layer;
  model.norm_bias = false;
  model.norm_epsilon = json_value(config, "layer_norm_epsilon", 1e-5f, where);
  require_flag(config, "no_bias", true, where);
  if (config.contains("logit_scale") && !config["logit_scale"].is_null()) {
    fail(ErrorCode::unsupported, where, ": a logit_scale is not supported for mpt");
  }
  model.set_layers(first_size(config, {"n_layers", "num_hidden_layers"}, 24, where),
                   {.intermediate = 4 * model.hidden, .mlp = MlpKind::gelu_erf, .residual = Residual::sequential},
                   where);
  const Json attention = config.value("attn_config", Json::object());
  if (!attention.is_object()) fail(ErrorCode::malformed, where, ": attn_config is no object");
  require_flag(attention, "alibi", true, where);
  require_flag(attention, "qk_ln", false, where);
  require_flag(attention, "prefix_lm", false, where);
  model.qkv_clip = json_value(attention, "clip_qkv", 0.0f, where);
  const float scale = json_value(attention, "softmax_scale", 0.0f, where);
  if (scale != 0) model.query_scale = scale * std::sqrt(static_cast<float>(model.head_dim));
  // Those of the next power of two: every second one, then the others.
  const std::vector<float> powers =
      alibi_powers(std::bit_ceil(model.heads), json_value(attention, "alibi_bias_max", 8.0, where));
  const bool all = powers.size() == model.heads;
  for (const std::size_t first : {1, 0}) {
    for (std::size_t i = first; i < powers.size() && !all; i += 2) model.alibi_slopes.push_back(powers[i]);
  }
  if (all) model.alibi_slopes = powers;
  model.alibi_slopes.resize(model.heads);
  model.rotary_tables.resize(1);
  model.tied_head = json_value(config, "tie_word_embeddings", true, where);
  model.fuse_query_key_value(1);
  model.names = {.embedding = "transformer.wte",
                 .final_norm = "transformer.norm_f",
                 .head = "lm_head",
                 .layer = "transformer.blocks.{}.",
                 .attention_norm = "norm_1",
                 .mlp_norm = "norm_2",
                 .query = "",
                 .key = "",
                 .value = "",
                 .query_key_value = "attn.Wqkv",
                 .output = "attn.out_proj",
                 .gate = "",
                 .up = "ffn.up_proj",
                 .down = "ffn.down_proj"};
  read_special_tokens(config, 0, 0, where, model);
  return model;
}

}  // namespace tulle
