// SPDX-License-Identifier: Apache-2.0
#include "linear_tensors.hpp"

std::string layer_prefix(const tulle::Architecture& model, std::size_t layer) {
  std::string prefix = model.names.layer;
  return prefix.replace(prefix.find("{}"), 2, std::to_string(layer));
}

std::vector<LinearTensor> linear_tensors(const tulle::Architecture& model) {
  const tulle::WeightNames& names = model.names;
  std::vector<LinearTensor> tensors;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const tulle::LayerSpec& spec = model.layers[layer];
    const std::string prefix = layer_prefix(model, layer);
    const auto add = [&](const std::string& name, std::size_t rows, std::size_t columns, bool has_bias) {
      if (!name.empty()) tensors.push_back({prefix + name, rows, columns, has_bias});
    };
    add(names.query, model.query_rows(), model.hidden, spec.qkv_bias);
    add(names.key, model.kv_rows(), model.hidden, spec.qkv_bias);
    add(names.value, model.kv_rows(), model.hidden, spec.qkv_bias);
    add(names.query_key_value, model.qkv_rows(), model.hidden, false);
    add(names.output, model.hidden, model.query_rows(), spec.output_bias);
    add(names.gate, spec.intermediate, model.hidden, spec.mlp_bias);
    add(names.up, model.up_tensor_rows(spec), model.hidden, spec.mlp_bias);
    add(names.down, model.hidden, spec.intermediate, spec.mlp_bias);
  }
  tensors.push_back({names.head, model.vocabulary, model.hidden, model.head_bias});
  return tensors;
}
