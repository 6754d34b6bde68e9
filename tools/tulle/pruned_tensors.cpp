// SPDX-License-Identifier: Apache-2.0
#include "pruned_tensors.hpp"

#include <algorithm>
#include <tulle/format/encoding/code_scales.hpp>
#include <tulle/format/encoding/encodings.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/tensor/weight_source.hpp>

PrunedTensors::PrunedTensors(const tulle::TensorSource& source, const tulle::Architecture& model,
                             const Pruning& pruning)
    : source_(source), pruning_(pruning) {
  for (const LinearTensor& tensor : linear_tensors(model)) {
    const bool tied = model.tied_head && tensor.name == model.names.head;
    const std::vector<std::size_t> shape{tensor.rows, tensor.columns};
    matrices_[tensor.name] = {tied ? model.names.embedding : tensor.name,
                              tensor.rows,
                              tensor.columns,
                              {},
                              {tensor.name + ".weight", tulle::DType::i8, shape, {}},
                              {tulle::scale_name(tensor.name + ".weight"), tulle::DType::f32, {tensor.rows, 1}, {}}};
  }
}

const tulle::EncodedTensor* PrunedTensors::find(std::string_view name) const {
  const bool is_scale = name.ends_with(tulle::scale_name(".weight"));
  if (!is_scale && !name.ends_with(".weight")) return source_.find(name);
  const auto found = matrices_.find(name.substr(0, name.rfind('.')));
  if (found == matrices_.end()) return source_.find(name);
  Matrix& matrix = found->second;
  if (matrix.values.codes.empty() && !make(matrix)) {
    // The reader of this type reports what is wrong.
    return source_.find(matrix.source_name + std::string(name.substr(name.rfind('.'))));
  }
  return is_scale ? &matrix.scale : &matrix.weight;
}

std::vector<std::string> PrunedTensors::names() const {
  std::vector<std::string> all = source_.names();
  for (const auto& [name, matrix] : matrices_) {
    for (const tulle::EncodedTensor* tensor : {&matrix.weight, &matrix.scale}) {
      if (std::find(all.begin(), all.end(), tensor->name) == all.end()) all.push_back(tensor->name);
    }
  }
  return all;
}

void PrunedTensors::release(std::span<const std::byte> bytes) const noexcept {
  for (auto& [name, matrix] : matrices_) {
    if (matrix.values.codes.empty() || matrix.weight.bytes.data() != bytes.data()) continue;
    matrix.values = {};
    matrix.weight.bytes = matrix.scale.bytes = {};
    return;
  }
  source_.release(bytes);
}

std::shared_ptr<const tulle::WeightSource> PrunedTensors::matrix(const std::string& name) const {
  return tulle::open_matrix(*this, name);
}

/// False where the source has no such matrix of weights.
bool PrunedTensors::make(Matrix& matrix) const {
  const auto rows = source_.matrix(matrix.source_name);
  if (rows == nullptr || rows->rows() != matrix.rows || rows->columns() != matrix.columns) return false;
  tulle::RowQuantizer quantized(*rows, tulle::RowQuantizer::Codes::one_scale_per_row);
  matrix.values = {matrix.rows, matrix.columns, std::vector<std::int8_t>(matrix.rows * matrix.columns),
                   std::vector<float>(matrix.rows)};
  for (std::size_t first = 0; first < matrix.rows; first += tulle::panel_rows) {
    const tulle::PanelRows panel(first, matrix.rows);
    quantized.read(panel, {matrix.values.codes.data() + first * matrix.columns, panel.size(), matrix.columns},
                   &matrix.values.scales[first]);
  }
  prune(matrix.values, pruning_);
  matrix.weight.bytes = std::as_bytes(std::span(matrix.values.codes));
  matrix.scale.bytes = std::as_bytes(std::span(matrix.values.scales));
  return true;
}
