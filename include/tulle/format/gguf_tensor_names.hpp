// SPDX-License-Identifier: Apache-2.0
/// \file The tensors of GGUF files under Hugging Face's names: renamed, reordered, split (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/gguf_architectures.hpp>
#include <tulle/format/gguf_model.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/split_experts.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/row_order.hpp>

namespace tulle {

namespace detail {

/// Hugging Face's name, without "{}" for an expert, and what follows of the tensor's own.
struct HubName {
  const GgufName* entry = nullptr;  ///< null: it has none
  std::string name{};
};

/// The name of "blk.N.STEM", "STEM" and "STEM.weight".
inline HubName hub_name(const GgufNames& names, const std::string& tensor) {
  const std::size_t dot = tensor.rfind('.');
  if (dot == std::string::npos) return {};
  const std::string_view stem = std::string_view(tensor).substr(0, dot), kind = std::string_view(tensor).substr(dot);
  for (const GgufName& each : names.outside) {
    if (stem == each.gguf) return {&each, each.huggingface + std::string(kind)};
  }
  const std::size_t own = stem.starts_with("blk.") ? tensor.find('.', 4) : std::string::npos;
  if (own == std::string::npos || own >= dot) return {};
  const std::string layer = names.layer + tensor.substr(4, own - 3);
  for (const auto& table : names.tables) {
    for (const GgufName& each : table) {
      if (stem.substr(own + 1) == each.gguf) return {&each, layer + each.huggingface + std::string(kind)};
      if (std::string_view(tensor).substr(own + 1) == each.gguf) return {&each, layer + each.huggingface};
    }
  }
  return {};
}

/// `count` of the tensor's outermost extent from `first` on, which are there, under another name.
inline EncodedTensor rows_of_tensor(const EncodedTensor& whole, std::string name, std::size_t first,
                                    std::size_t count) {
  EncodedTensor part = whole;
  part.name = std::move(name);
  const std::size_t each = dtype_bytes(whole.dtype, whole.elements() / whole.shape.front(), whole.name);
  part.shape.front() = count;
  part.file_offset += first * each;
  if (!whole.bytes.empty()) part.bytes = whole.bytes.subspan(first * each, count * each);
  return part;
}

class GgufTensors {
 public:
  GgufTensors(const GgufModel& model, std::string_view where) : model_(model), where_(where) {}

  void add(EncodedTensor tensor) {
    const GgufArchitecture& architecture = *model_.architecture;
    HubName hub = hub_name(*architecture.names, tensor.name);
    if (hub.entry == nullptr) return split_fused(std::move(tensor));
    const std::string_view stem = hub.entry->gguf;
    if (hub.name.find("{}") != std::string::npos) return split_experts(tensor, hub.name);
    tensor.name = std::move(hub.name);
    tensor.order = order(stem, tensor.shape);
    if (architecture.adds_one && tensor.name.ends_with("norm.weight")) tensor.offset = -1;
    // One row of a matrix.
    if (stem == "ffn_gate_inp_shexp" && tensor.shape.size() == 1) tensor.shape.insert(tensor.shape.begin(), 1);
    tensors_.push_back(std::move(tensor));
  }

  std::vector<EncodedTensor> take() { return std::move(tensors_); }

 private:
  /// The order of the rows (or elements) of a tensor. Other shapes are refused by who loads them.
  RowOrder order(std::string_view stem, const std::vector<std::size_t>& shape) const {
    if (shape.empty()) return {};
    const std::uint64_t rows = shape.front(), head = model_.head_dim;
    const GgufRows kind = model_.architecture->rows;
    if (kind == GgufRows::adjacent_pairs && head % 2 == 0) {
      const std::uint64_t heads = stem == "attn_q" ? model_.heads : stem == "attn_k" ? model_.kv_heads : 0;
      if (heads == 0 || rows != heads * head) return {};
      return RowOrder::halves_of_pairs(static_cast<std::size_t>(heads), static_cast<std::size_t>(head));
    }
    if (kind == GgufRows::stacked_by_group && stem == "attn_qkv" && model_.heads % model_.kv_heads == 0) {
      if (rows != fused_rows()) return {};
      const std::uint64_t query = model_.heads / model_.kv_heads * head;
      return RowOrder::blocks_of_stacked(static_cast<std::size_t>(model_.kv_heads), static_cast<std::size_t>(query),
                                         static_cast<std::size_t>(head));
    }
    return {};
  }

  std::uint64_t fused_rows() const { return (model_.heads + 2 * model_.kv_heads) * model_.head_dim; }

  [[noreturn]] void refuse(const EncodedTensor& tensor, const char* what) const {
    fail(ErrorCode::malformed, where_, ": the shape of tensor ", quoted_name(tensor.name), " does not fit ", what);
  }

  /// Queries, keys and values in one, which some converters write for a family that has them apart, as attn_q, attn_k
  /// and attn_v; every other tensor as it is.
  void split_fused(EncodedTensor tensor) {
    constexpr std::string_view fused = ".attn_qkv.";
    const std::size_t at = tensor.name.find(fused);
    if (!tensor.name.starts_with("blk.") || at == std::string::npos ||
        hub_name(*model_.architecture->names, "blk.0.attn_q.weight").entry == nullptr) {
      tensors_.push_back(std::move(tensor));
      return;
    }
    if (tensor.shape.empty() || tensor.shape.front() != fused_rows()) refuse(tensor, "its heads");
    std::size_t first = 0;
    for (const char* part : {".attn_q.", ".attn_k.", ".attn_v."}) {
      const std::uint64_t heads = first == 0 ? model_.heads : model_.kv_heads;
      const auto rows = static_cast<std::size_t>(heads * model_.head_dim);
      std::string name = tensor.name;
      add(rows_of_tensor(tensor, name.replace(at, fused.size(), part), first, rows));
      first += rows;
    }
  }

  /// A matrix (or bias) for each expert. `name` has {} for its number.
  void split_experts(const EncodedTensor& tensor, const std::string& name) {
    const std::size_t rank = name.ends_with(".bias") ? 2 : 3;
    if (tensor.shape.size() != rank || tensor.shape.front() != model_.experts || tensor.elements() == 0)
      refuse(tensor, "the number of experts");
    for (std::size_t expert = 0; expert < tensor.shape.front(); ++expert) {
      std::string own = name;
      own.replace(own.find("{}"), 2, std::to_string(expert));
      tensors_.push_back(part_of_tensor(tensor, expert, std::move(own)));
    }
  }

  const GgufModel& model_;
  std::string_view where_;
  std::vector<EncodedTensor> tensors_;
};

}  // namespace detail

/// A tensor of a GGUF file as those of Hugging Face that it holds, with the order of their rows; what has no such name
/// keeps its own. Weights and biases. Nothing is copied. Source: llama.cpp's convert_hf_to_gguf.py
/// (`LlamaModel.permute`). Errors: malformed for experts and heads that do not fit their tensors.
inline std::vector<EncodedTensor> huggingface_tensors(EncodedTensor tensor, const GgufModel& model,
                                                      std::string_view where) {
  detail::GgufTensors tensors(model, where);
  tensors.add(std::move(tensor));
  return tensors.take();
}

}  // namespace tulle
