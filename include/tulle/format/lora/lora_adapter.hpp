// SPDX-License-Identifier: Apache-2.0
/// \file A LoRA adapter as PEFT saves it: adapter_config.json and its tensors (L3).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/lora/lora_config.hpp>
#include <tulle/format/lora/lora_rows.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/pytorch/pytorch_checkpoint.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/safetensors_checkpoint.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// The changes of matrices, and whole tensors in the place of the model's. Names are Hugging Face's.
/// Files on disk stay mapped as long as the object lives. Threads: immutable once opened.
class LoraAdapter {
 public:
  /// The change of a module's matrix: scale * B * A; of an embedding, whose tensors are transposed, (scale * B * A)^T.
  struct Change {
    const EncodedTensor* a = nullptr;  ///< [rank, columns]; of an embedding [rank, vocabulary]
    const EncodedTensor* b = nullptr;  ///< [rows, rank]; of an embedding [hidden, rank]
    bool of_embedding = false;
    float scale = 1;

    std::size_t rows() const noexcept { return of_embedding ? a->shape[1] : b->shape[0]; }
    std::size_t columns() const noexcept { return of_embedding ? b->shape[0] : a->shape[1]; }
  };

  /// Files: adapter_config.json with adapter_model.safetensors or adapter_model.bin.
  /// Errors: not_found, io, malformed, unsupported.
  explicit LoraAdapter(const ModelFiles& files) {
    parts_.path = files.where();
    if (!files.has("adapter_config.json")) {
      fail(ErrorCode::not_found, parts_.path, " holds no LoRA adapter; looked for adapter_config.json");
    }
    const LoraConfig config(files.json("adapter_config.json"), files.path("adapter_config.json"));
    if (files.has("adapter_model.safetensors")) {
      detail::open_safetensors(files, "adapter_model.safetensors", parts_);
    } else if (files.has("adapter_model.bin")) {
      detail::open_pytorch(files, "adapter_model.bin", parts_);
    } else {
      fail(ErrorCode::not_found, parts_.path, " has no weights; looked for adapter_model.safetensors and ",
           "adapter_model.bin");
    }
    for (const std::string& name : parts_.tensors.names()) add(*parts_.tensors.find(name));
    for (auto& [module, change] : changes_) complete(module, change, config);
    if (changes_.empty() && replaced_.empty()) fail(ErrorCode::malformed, parts_.path, " changes no tensor");
  }

  const std::string& path() const noexcept { return parts_.path; }
  const TensorFiles& tensors() const noexcept { return parts_.tensors; }
  const std::map<std::string, Change>& changes() const noexcept { return changes_; }  ///< by module

  /// By the name of the model's tensor ("lm_head.weight").
  const std::map<std::string, const EncodedTensor*>& replaced() const noexcept { return replaced_; }

  /// Decodes a change. `scale`: multiplies that of the adapter. Errors: those of reading.
  std::shared_ptr<const LowRankProduct> product(const Change& change, float scale) const {
    const std::size_t rank = change.a->shape[0];
    const std::vector<float> a = read_floats(parts_.tensors, *change.a), b = read_floats(parts_.tensors, *change.b);
    const float factor = change.scale * scale;
    Matrix left(change.rows(), rank), right(rank, change.columns());
    for (std::size_t row = 0; row < left.rows; ++row) {
      for (std::size_t k = 0; k < rank; ++k) {
        left[row][k] = factor * (change.of_embedding ? a[k * left.rows + row] : b[row * rank + k]);
      }
    }
    for (std::size_t k = 0; k < rank; ++k) {
      for (std::size_t column = 0; column < right.columns; ++column) {
        right[k][column] = change.of_embedding ? b[column * rank + k] : a[k * right.columns + column];
      }
    }
    return std::make_shared<const LowRankProduct>(LowRankProduct{std::move(left), std::move(right)});
  }

 private:
  /// Errors: malformed, unsupported.
  void add(const EncodedTensor& tensor) {
    constexpr std::string_view prefix = "base_model.model.";
    if (!tensor.name.starts_with(prefix)) {
      fail(ErrorCode::unsupported, parts_.path, ": tensor ", detail::quoted_name(tensor.name),
           " does not begin with \"base_model.model.\"; did PEFT save this adapter?");
    }
    if (!is_float_dtype(tensor.dtype)) {
      fail(ErrorCode::unsupported, parts_.path, ": tensor ", detail::quoted_name(tensor.name), " is ",
           dtype_name(tensor.dtype), "; needed is F32, F16 or BF16");
    }
    std::string name = tensor.name.substr(prefix.size());
    const std::size_t at = name.rfind(".lora_");
    if (at == std::string::npos) {
      constexpr std::string_view base_layer = ".base_layer.";  // an embedding beside its own change
      const std::size_t inner = name.rfind(base_layer);
      if (inner != std::string::npos) name.erase(inner, base_layer.size() - 1);
      put(replaced_[name], tensor);
      return;
    }
    Change& change = changes_[name.substr(0, at)];
    const std::string_view part = std::string_view(name).substr(at + 1);
    if (is_factor(part, "lora_A", ".weight")) return put(change.a, tensor);
    if (is_factor(part, "lora_B", ".weight")) return put(change.b, tensor);
    change.of_embedding = true;
    if (is_factor(part, "lora_embedding_A", "")) return put(change.a, tensor);
    if (is_factor(part, "lora_embedding_B", "")) return put(change.b, tensor);
    fail(ErrorCode::unsupported, parts_.path, ": tensor ", detail::quoted_name(tensor.name),
         " is no matrix of plain LoRA; merge it with PEFT (merge_and_unload) and load the saved model");
  }

  /// Whether `part` is KIND + END, or has an adapter's name in between: "lora_A.default.weight".
  static bool is_factor(std::string_view part, std::string_view kind, std::string_view end) {
    if (!part.starts_with(kind) || !part.ends_with(end)) return false;
    part.remove_prefix(kind.size());
    if (part.size() < end.size()) return false;
    part.remove_suffix(end.size());
    return part.empty() || (part.size() > 1 && part.rfind('.') == 0);
  }

  void put(const EncodedTensor*& place, const EncodedTensor& tensor) const {
    if (place != nullptr) {
      fail(ErrorCode::malformed, parts_.path, ": tensors ", detail::quoted_name(place->name), " and ",
           detail::quoted_name(tensor.name), " are for the same matrix");
    }
    place = &tensor;
  }

  /// Checks the two matrices of a change, and sets its scale.
  void complete(const std::string& module, Change& change, const LoraConfig& config) const {
    if (change.a == nullptr || change.b == nullptr) {
      fail(ErrorCode::malformed, parts_.path, ": module ", detail::quoted_name(module), " has no matrix ",
           change.a == nullptr ? "A" : "B", "; is the adapter complete?");
    }
    const bool is_embedding[] = {change.a->name.find(".lora_embedding_") != std::string::npos,
                                 change.b->name.find(".lora_embedding_") != std::string::npos};
    for (const EncodedTensor* tensor : {change.a, change.b}) {
      if (tensor->shape.size() == 2) continue;
      fail(ErrorCode::unsupported, parts_.path, ": tensor ", detail::quoted_name(tensor->name), " has ",
           tensor->shape.size(), " dimensions where a matrix is needed");
    }
    if (is_embedding[0] != is_embedding[1] || change.a->shape[0] != change.b->shape[1]) {
      fail(ErrorCode::malformed, parts_.path, ": matrices A and B of module ", detail::quoted_name(module),
           " do not belong together");
    }
    change.scale = config.scale(module, change.a->shape[0]);
  }

  CheckpointParts parts_;
  std::map<std::string, Change> changes_;
  std::map<std::string, const EncodedTensor*> replaced_;
};

}  // namespace tulle
