// SPDX-License-Identifier: Apache-2.0
/// \file What old files of the hub name and store in another way than the class that reads them (L3).
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/json.hpp>
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

/// Whether a tensor is the weight of one of GPT-2's `Conv1D`, which holds the transpose of a linear layer's.
inline bool is_transposed_in_hub(std::string_view model_type, std::string_view name) {
  if (model_type != "gpt2") return false;
  for (const std::string_view end :
       {".attn.c_attn.weight", ".attn.c_proj.weight", ".mlp.c_fc.weight", ".mlp.c_proj.weight"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

}  // namespace detail

/// Gives the tensors of a directory the names and the shapes that its model type's description expects.
/// Errors: malformed where two tensors would have one name.
inline void complete_hub_names(const Json& config, TensorFiles& tensors, std::string_view where) {
  const auto type = config.is_object() ? config.find("model_type") : config.end();
  if (type == config.end() || !type->is_string()) return;
  const auto model_type = type->get<std::string>();
  const auto known = std::find_if(detail::hub_prefixes.begin(), detail::hub_prefixes.end(),
                                  [&](const auto& each) { return each.first == model_type; });
  if (known == detail::hub_prefixes.end()) return;
  const std::string_view prefix = known->second;
  const std::vector<std::string> names = tensors.names();
  const bool lacks =
      std::none_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(prefix); });
  tensors.change(
      [&](EncodedTensor& tensor) {
        if (lacks && !tensor.name.starts_with("lm_head.")) tensor.name.insert(0, prefix);
        if (tensor.shape.size() == 2 && detail::is_transposed_in_hub(model_type, tensor.name)) {
          std::swap(tensor.shape[0], tensor.shape[1]);
          tensor.transposed = true;
        }
      },
      where);
}

}  // namespace tulle
