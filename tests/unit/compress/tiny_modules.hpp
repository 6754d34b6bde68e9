// SPDX-License-Identifier: Apache-2.0
/// \file A small model's modules, and errors as text, for the tests of recipes.
#pragma once

#include <string>
#include <string_view>
#include <tulle/compress/module_list.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/model/families.hpp>

/// In TinyLlama's shape, but small: hidden 64, 4 heads, 2 key-value heads, MLP of 128 columns.
inline tulle::ModuleList tiny_modules(std::size_t layers = 2, bool tied = false, const char* family = "llama") {
  tulle::Json config{{"model_type", family},        {"vocab_size", 96},           {"hidden_size", 64},
                     {"num_attention_heads", 4},    {"num_key_value_heads", 2},   {"intermediate_size", 128},
                     {"num_hidden_layers", layers}, {"tie_word_embeddings", tied}};
  config["rotary_dim"] = 8;
  config["attention_types"] = tulle::Json::array({tulle::Json::array({{"global"}, layers})});
  if (std::string_view(family) == "mixtral") config.update({{"num_local_experts", 4}, {"num_experts_per_tok", 2}});
  return tulle::module_list(tulle::describe_model(config, "config.json"));
}

/// "code: message" of the error that a call throws, or "none".
template <class Call>
std::string error_of(Call&& call) {
  try {
    call();
  } catch (const tulle::Error& error) {
    return std::string(tulle::error_name(error.code())) + ": " + error.what();
  }
  return "none";
}
