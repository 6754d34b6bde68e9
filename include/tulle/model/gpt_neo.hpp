// SPDX-License-Identifier: Apache-2.0
/// \file The GPT-Neo family: GPT-Neo 125M to 2.7B (L3).
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/config_tokens.hpp>
#include <tulle/model/config_values.hpp>

namespace tulle {

/// Layer norms, learned positions, gelu; scores are not scaled, and "local" layers attend to a window. Keys and defaults
/// are those of transformers' GPTNeoConfig. Errors: malformed for a list of layers of another length.
inline Architecture gpt_neo_architecture(const Json& config, std::string_view where) {
  const auto size = [&](const char* key, std::size_t fallback) { return json_value(config, key, fallback, where); };
  Architecture model;
  model.family = "gpt_neo";
  model.vocabulary = size("vocab_size", 50257);
  model.hidden = size("hidden_size", 2048);
  model.heads = model.kv_heads = first_size(config, {"num_heads", "num_attention_heads"}, 16, where);
  model.head_dim = even_head_dim(model, where);
  model.context_length = model.learned_positions = size("max_position_embeddings", 2048);
  model.norm = NormKind::layer;
  model.norm_epsilon = json_value(config, "layer_norm_epsilon", 1e-5f, where);
  model.query_scale = std::sqrt(static_cast<float>(model.head_dim));
  model.set_layers(first_size(config, {"num_layers", "num_hidden_layers"}, 24, where),
                   {.intermediate = size("intermediate_size", 4 * model.hidden),
                    .mlp = plain_mlp(json_value(config, "activation_function", std::string("gelu_new"), where), where),
                    .residual = Residual::sequential,
                    .output_bias = true,
                    .mlp_bias = true},
                   where);
  model.rotary_tables.resize(1);
  model.tied_head = json_value(config, "tie_word_embeddings", true, where);
  model.names = {.embedding = "transformer.wte",
                 .final_norm = "transformer.ln_f",
                 .head = "lm_head",
                 .layer = "transformer.h.{}.",
                 .position = "transformer.wpe",
                 .attention_norm = "ln_1",
                 .mlp_norm = "ln_2",
                 .query = "attn.attention.q_proj",
                 .key = "attn.attention.k_proj",
                 .value = "attn.attention.v_proj",
                 .query_key_value = "",
                 .output = "attn.attention.out_proj",
                 .gate = "",
                 .up = "mlp.c_fc",
                 .down = "mlp.c_proj"};

  // [[["global", "local"], 12]]: the kinds of layers in turn, so many times.
  std::vector<std::string> kinds;
  const Json types = config.value("attention_types", Json::array({Json::array({{"global", "local"}, 12})}));
  for (const Json& entry : types.is_array() ? types : Json::array()) {
    const bool is_pair = entry.is_array() && entry.size() == 2 && entry[0].is_array() && entry[1].is_number_integer();
    if (!is_pair || entry[1] < 0 || entry[1] > 4096)
      fail(ErrorCode::malformed, where, ": attention_types holds no lists with counts");
    for (std::size_t i = 0; i < entry[1].get<std::size_t>() && kinds.size() <= model.layers.size(); ++i) {
      for (const Json& kind : entry[0]) kinds.push_back(kind.is_string() ? kind.get<std::string>() : "");
    }
  }
  if (kinds.size() != model.layers.size()) {
    fail(ErrorCode::malformed, where, ": ", kinds.size() < model.layers.size() ? "fewer" : "more",
         " attention_types than ", model.layers.size(), " layers");
  }
  const auto window = size("window_size", 256);
  if (window == 0 || window >= (std::size_t{1} << 30)) fail(ErrorCode::malformed, where, ": window_size ", window);
  for (std::size_t layer = 0; layer < kinds.size(); ++layer) {
    if (kinds[layer] == "local") {
      model.layers[layer].window.positions = static_cast<Position>(window);
    } else if (kinds[layer] != "global") {
      fail(ErrorCode::unsupported, where, ": attention type \"", kinds[layer], "\"; known are global and local");
    }
  }
  read_special_tokens(config, 50256, 50256, where, model);
  return model;
}

}  // namespace tulle
