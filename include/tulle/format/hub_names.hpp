// SPDX-License-Identifier: Apache-2.0
/// \file What files of the hub name, shape and put together in another way than a description expects (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/format/split_experts.hpp>
#include <tulle/format/tensor_files.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

namespace detail {

/// What the model with a head puts before the names of the model inside. Files that were saved without a head lack it.
inline constexpr std::array<std::pair<std::string_view, std::string_view>, 8> hub_prefixes{{{"gpt2", "transformer."},
                                                                                            {"gpt_neo", "transformer."},
                                                                                            {"gptj", "transformer."},
                                                                                            {"codegen", "transformer."},
                                                                                            {"bloom", "transformer."},
                                                                                            {"falcon", "transformer."},
                                                                                            {"mpt", "transformer."},
                                                                                            {"opt", "model."}}};

inline std::string_view hub_prefix(std::string_view model_type) {
  for (const auto& [type, prefix] : hub_prefixes) {
    if (type == model_type) return prefix;
  }
  return "";
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

/// Gives the tensors of a directory the names and the shapes that its model type's description expects.
/// Errors: malformed where two tensors would have one name, or experts cannot be told apart.
inline void complete_hub_names(const Json& config, TensorFiles& tensors, std::string_view where) {
  const std::string model_type = detail::model_type_of(config);
  const std::string_view prefix = detail::hub_prefix(model_type);
  if (model_type == "gpt_oss") {
    tensors.change([](EncodedTensor tensor, auto&& put) { detail::split_gpt_oss_experts(std::move(tensor), put); },
                   where);
  } else if (!prefix.empty()) {
    const std::vector<std::string> names = tensors.names();
    const auto has_prefix = [&](const std::string& name) { return name.starts_with(prefix); };
    const bool lacks = std::none_of(names.begin(), names.end(), has_prefix);
    tensors.change(
        [&](EncodedTensor tensor, auto&& put) {
          if (lacks && !tensor.name.starts_with("lm_head.")) tensor.name.insert(0, prefix);
          if (tensor.shape.size() == 2 && is_float_dtype(tensor.dtype) && is_transposed_in_hub(config, tensor.name)) {
            std::swap(tensor.shape[0], tensor.shape[1]);
            tensor.transposed = !tensor.transposed;
          }
          put(std::move(tensor));
        },
        where);
  }
}

}  // namespace tulle
