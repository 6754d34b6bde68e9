// SPDX-License-Identifier: Apache-2.0
/// \file The tensors of GGUF files under Hugging Face's names: renamed, reordered, split (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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
    if (hub.name.find("{}") != std::string::npos) return split_experts(tensor, {&hub.name, 1});
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

  /// What some converters fuse for a family that has it apart: queries, keys and values, as attn_q, attn_k and attn_v;
  /// gate and up of all experts, as ffn_gate_exps and ffn_up_exps. Every other tensor stays as it is.
  void split_fused(EncodedTensor tensor) {
    const auto part_name = [&tensor](std::string_view whole, std::string_view part) {
      std::string name = tensor.name;
      const std::size_t at = name.find(whole);
      return at == std::string::npos ? std::string() : name.replace(at, whole.size(), part);
    };
    const auto hub = [&](std::string_view whole, std::string_view part) {
      return hub_name(*model_.architecture->names, part_name(whole, part));
    };
    constexpr std::string_view heads = ".attn_qkv.", experts = ".ffn_gate_up_exps.";
    if (hub(heads, ".attn_q.").entry != nullptr) {
      if (tensor.shape.empty() || tensor.shape.front() != fused_rows()) refuse(tensor, "its heads");
      std::size_t first = 0;
      for (const char* part : {".attn_q.", ".attn_k.", ".attn_v."}) {
        const auto rows = static_cast<std::size_t>((first == 0 ? model_.heads : model_.kv_heads) * model_.head_dim);
        add(rows_of_tensor(tensor, part_name(heads, part), first, rows));
        first += rows;
      }
    } else if (hub(experts, ".ffn_gate_exps.").entry != nullptr) {
      const std::array names{hub(experts, ".ffn_gate_exps.").name, hub(experts, ".ffn_up_exps.").name};
      split_experts(tensor, names);
    } else {
      tensors_.push_back(std::move(tensor));
    }
  }

  /// A matrix (or bias) for each expert, cut into equal parts for `names`, which have {} for its number.
  void split_experts(const EncodedTensor& tensor, std::span<const std::string> names) {
    const std::size_t rank = tensor.name.ends_with(".bias") ? 2 : 3;
    if (tensor.shape.size() != rank || tensor.shape[0] != model_.experts || tensor.elements() == 0 ||
        tensor.shape[1] % names.size() != 0) {
      refuse(tensor, "the number of experts");
    }
    const std::size_t rows = tensor.shape[1] / names.size();
    for (std::size_t expert = 0; expert < tensor.shape[0]; ++expert) {
      const EncodedTensor whole = part_of_tensor(tensor, expert, tensor.name);
      for (std::size_t i = 0; i < names.size(); ++i) {
        std::string own = names[i];
        own.replace(own.find("{}"), 2, std::to_string(expert));
        tensors_.push_back(rows_of_tensor(whole, std::move(own), i * rows, rows));
      }
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
