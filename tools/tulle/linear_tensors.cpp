// SPDX-License-Identifier: Apache-2.0
#include "linear_tensors.hpp"

std::vector<LinearTensor> linear_tensors(const tulle::Architecture& model) {
  const tulle::WeightNames& names = model.names;
  std::vector<LinearTensor> tensors;
  for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
    const tulle::LayerSpec& spec = model.layers[layer];
    const std::string prefix = model.layer_prefix(layer);
    const auto add = [&](const std::string& name, std::size_t rows, std::size_t columns, bool has_bias) {
      if (!name.empty()) tensors.push_back({prefix + name, rows, columns, has_bias});
    };
    add(names.query, model.query_rows(), model.hidden, spec.qkv_bias);
    add(names.key, model.kv_rows(), model.hidden, spec.qkv_bias);
    add(names.value, model.kv_rows(), model.hidden, spec.qkv_bias);
    add(names.query_key_value, model.qkv_rows(), model.hidden, spec.qkv_bias);
    add(names.output, model.hidden, model.query_rows(), spec.output_bias);
    const auto add_mlp = [&](const std::string& inner, const std::string& gate, const std::string& up,
                             const std::string& down, std::size_t columns) {
      if (!gate.empty()) add(inner + gate, columns, model.hidden, spec.mlp_bias);
      add(inner + up, gate.empty() ? spec.up_rows(columns) : columns, model.hidden, spec.mlp_bias);
      add(inner + down, model.hidden, columns, spec.mlp_bias);
    };
    const auto add_expert = [&](const std::string& inner, std::size_t columns) {
      add_mlp(inner, names.expert_gate, names.expert_up, names.expert_down, columns);
    };
    if (!spec.is_mixture()) add_mlp("", names.gate, names.up, names.down, spec.intermediate);
    for (std::size_t i = 0; i < spec.experts.count; ++i) {
      add_expert(tulle::with_index(names.expert, i), spec.intermediate);
    }
    if (spec.experts.shared_intermediate != 0) add_expert(names.shared, spec.experts.shared_intermediate);
  }
  tensors.push_back({names.head, model.vocabulary, model.embedding_columns(), model.head_bias});
  return tensors;
}
