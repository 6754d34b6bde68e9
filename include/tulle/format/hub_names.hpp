// SPDX-License-Identifier: Apache-2.0
/// \file What files of the hub name, shape and put together in another way than a description expects (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/json.hpp>
#include <tulle/format/split_experts.hpp>
#include <tulle/format/tensor_files.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

/// What a family calls its parts. The model with a head puts `prefix` before the names of the model inside; files that
/// were saved without a head lack it.
struct HubFamily {
  std::string_view model_type, prefix, embedding, head = "lm_head";
};

inline constexpr std::array<HubFamily, 9> hub_families{{{"gpt2", "transformer.", "wte"},
                                                        {"gpt_neo", "transformer.", "wte"},
                                                        {"gptj", "transformer.", "wte"},
                                                        {"codegen", "transformer.", "wte"},
                                                        {"mpt", "transformer.", "wte"},
                                                        {"bloom", "transformer.", "word_embeddings"},
                                                        {"falcon", "transformer.", "word_embeddings"},
                                                        {"gpt_neox", "gpt_neox.", "embed_in", "embed_out"},
                                                        {"opt", "model.", "decoder.embed_tokens"}}};

inline HubFamily hub_family(std::string_view model_type) {
  for (const HubFamily& family : hub_families) {
    if (family.model_type == model_type) return family;
  }
  return {model_type, "model.", "embed_tokens"};
}

/// `model_type` of a config, or "".
inline std::string model_type_of(const Json& config) {
  const auto type = config.is_object() ? config.find("model_type") : config.end();
  return type != config.end() && type->is_string() ? type->get<std::string>() : std::string();
}

}  // namespace detail

/// Whether floats are the weight of one of GPT-2's `Conv1D`, which holds the transpose of a linear layer's.
inline bool is_transposed_in_hub(const Json& config, std::string_view name) {
  constexpr std::array<std::string_view, 4> ends{".attn.c_attn.weight", ".attn.c_proj.weight", ".mlp.c_fc.weight",
                                                 ".mlp.c_proj.weight"};
  return std::any_of(ends.begin(), ends.end(), [&](auto end) { return name.ends_with(end); }) &&
         detail::model_type_of(config) == "gpt2";
}

/// Gives the tensors of a directory the names and the shapes that its model type's description expects. Of a model that
/// ties its head to the embedding a file may hold the head's matrix alone, which then is the embedding; where it holds
/// both and they differ, `config` says that the head is not tied, as transformers 5 takes it.
/// Errors: malformed where two tensors would have one name, or experts cannot be told apart.
inline void complete_hub_names(Json& config, TensorFiles& tensors, std::string_view where) {
  const std::string model_type = detail::model_type_of(config);
  if (model_type.empty()) return;
  const detail::HubFamily family = detail::hub_family(model_type);
  const std::string embedding = std::string(family.prefix).append(family.embedding) + ".";
  const std::string head = std::string(family.head) + ".";
  const std::string_view inside = std::string_view(embedding).substr(family.prefix.size());
  bool lacks_prefix = false, has_embedding = false;
  for (const std::string& name : tensors.names()) {
    lacks_prefix = lacks_prefix || name.starts_with(inside);
    has_embedding = has_embedding || lacks_prefix || name.starts_with(embedding);
  }
  const auto tied = config.find("tie_word_embeddings");
  const bool may_be_tied = tied == config.end() || *tied != false;
  tensors.change(
      [&](EncodedTensor tensor, auto&& put) {
        if (may_be_tied && !has_embedding && tensor.name.starts_with(head) && tensor.name != head + "bias") {
          tensor.name.replace(0, head.size(), embedding);
        } else if (lacks_prefix && !tensor.name.starts_with(head)) {
          tensor.name.insert(0, family.prefix);
        }
        if (model_type == "gpt_oss") return detail::split_gpt_oss_experts(std::move(tensor), put);
        if (tensor.shape.size() == 2 && is_float_dtype(tensor.dtype) && is_transposed_in_hub(config, tensor.name)) {
          std::swap(tensor.shape[0], tensor.shape[1]);
          tensor.transposed = !tensor.transposed;
        }
        put(std::move(tensor));
      },
      where);
  for (const char* form : {"weight", "weight_packed", "qweight", "weight_mask", "bitmask", "weight.bitmask"}) {
    if (may_be_tied && tensors.find(head + form) != nullptr && !tensors.are_equal(head + form, embedding + form)) {
      config["tie_word_embeddings"] = false;
    }
  }
}

}  // namespace tulle
