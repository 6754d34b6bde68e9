// SPDX-License-Identifier: Apache-2.0
/// \file The tensors of a model by what they are: matrices that layers multiply with, tables, and everything else (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/hub_names.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// A matrix of weights in a source of tensors.
struct MatrixPart {
  std::string name;  ///< of the layer: "model.layers.0.mlp.up_proj"
  std::size_t rows = 0, columns = 0;
  CodeFormat format{};
  bool is_table = false;    ///< an embedding or the head
  bool transposed = false;  ///< files of the hub hold its floats as [columns, rows]

  bool operator==(const MatrixPart&) const = default;
};

/// What a model is made of.
struct ModelParts {
  std::vector<MatrixPart> matrices;
  std::vector<std::string> tensors;  ///< norms, biases, buffers: names of tensors
};

namespace detail {

/// Embeddings and heads, by the last part of a layer's name. All families call them so.
inline bool is_table_name(std::string_view layer) {
  constexpr std::array<std::string_view, 8> names{
      "embed_tokens", "wte", "wpe", "embed_in", "embed_out", "lm_head", "word_embeddings", "embed_positions"};
  const std::string_view last = layer.substr(layer.rfind('.') + 1);
  return std::find(names.begin(), names.end(), last) != names.end();
}

/// Whether a name is one of a form that keeps more than "P.weight": GPTQ's and AWQ's, or sparse-bitmask's.
inline bool is_part_name(std::string_view last) {
  constexpr std::array<std::string_view, 8> parts{"qweight", "qzeros",     "scales", "g_idx",
                                                  "bitmask", "compressed", "shape",  "row_offsets"};
  return std::find(parts.begin(), parts.end(), last) != parts.end();
}

/// "P" of "P.weight", "P.weight_packed" and of every other tensor that stores a part of P's weights; else "".
inline std::string_view layer_of_weights(std::string_view tensor) {
  constexpr std::array<std::string_view, 8> parts{"",       "_packed", "_mask",       "_values",
                                                  "_scale", "_shape",  "_zero_point", "_g_idx"};
  for (const std::string_view part : {"_blocks", "_scales"}) {  // MXFP4
    if (tensor.ends_with(part)) return tensor.substr(0, tensor.size() - part.size());
  }
  const std::size_t dot = tensor.rfind('.');
  if (dot == std::string_view::npos) return {};
  if (is_part_name(tensor.substr(dot + 1))) {
    const std::string_view stem = tensor.substr(0, dot), weight = ".weight";
    return stem.ends_with(weight) ? stem.substr(0, stem.size() - weight.size()) : stem;
  }
  if (!tensor.substr(dot).starts_with(".weight")) return {};
  const std::string_view part = tensor.substr(dot + std::string_view(".weight").size());
  return std::find(parts.begin(), parts.end(), part) == parts.end() ? std::string_view() : tensor.substr(0, dot);
}

/// Whether the matrix of a layer can be asked for: its weights have two extents, or are packed.
inline bool has_matrix(const TensorSource& source, const std::string& layer) {
  const EncodedTensor* weight = source.find(layer + ".weight");
  if (weight != nullptr) return weight->shape.size() == 2;
  for (const char* end : {".weight_packed", ".weight_mask", "_blocks", ".qweight"}) {
    if (source.find(layer + end) != nullptr) return true;
  }
  for (const char* end : {".bitmask", ".weight.bitmask"}) {
    const EncodedTensor* mask = source.find(layer + end);
    if (mask != nullptr) return mask->shape.size() == 2;
  }
  return false;
}

/// Whether a tensor stores a part of a vector that the source also has whole: see `expand_sparse_vectors`.
inline bool is_part_of_vector(const TensorSource& source, const std::string& tensor) {
  const std::size_t dot = tensor.rfind('.');
  if (dot == std::string::npos || !is_part_name(std::string_view(tensor).substr(dot + 1))) return false;
  const std::string stem = tensor.substr(0, dot);
  return source.find(stem) != nullptr || source.find(stem + ".weight") != nullptr;
}

}  // namespace detail

/// Opens every matrix once, for its size and format. `config`: the model's. Errors: those of `TensorSource::matrix`.
inline ModelParts model_parts(const TensorSource& source, const Json& config) {
  ModelParts parts;
  std::set<std::string, std::less<>> seen;
  for (const std::string& tensor : source.names()) {
    const std::string layer(detail::layer_of_weights(tensor));
    if (layer.empty() || !detail::has_matrix(source, layer)) {
      if (!detail::is_part_of_vector(source, tensor)) parts.tensors.push_back(tensor);
    } else if (seen.insert(layer).second) {
      const auto matrix = source.matrix(layer);
      if (matrix == nullptr) fail(ErrorCode::not_found, "the model has no matrix \"", layer, "\"");
      parts.matrices.push_back({layer, matrix->rows(), matrix->columns(), matrix->code_format(),
                                detail::is_table_name(layer), is_transposed_in_hub(config, layer + ".weight")});
    }
  }
  return parts;
}

}  // namespace tulle
