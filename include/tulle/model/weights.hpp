// SPDX-License-Identifier: Apache-2.0
/// \file The packed weights of a model, layer by layer (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// A linear layer Y = X W^T + bias: one packed matrix, or several whose output rows follow each other (q, k and v of a file
/// that encodes them differently).
template <LinearKernel Kernel>
struct Linear {
  struct Part {
    std::string name;  ///< of the tensors it was packed from
    std::size_t first_row = 0;
    typename Kernel::Weights weights;
  };
  std::vector<Part> parts;
  std::vector<float> bias;  ///< [rows], or empty

  std::size_t rows() const noexcept { return parts.empty() ? 0 : parts.back().first_row + parts.back().weights.rows(); }
  std::size_t columns() const noexcept { return parts.empty() ? 0 : parts.front().weights.columns(); }
  std::size_t size_bytes() const noexcept {
    std::size_t sum = bias.size() * sizeof(float);
    for (const Part& part : parts) sum += part.weights.size_bytes();
    return sum;
  }
};

struct NormWeights {
  std::vector<float> weight;
  std::vector<float> bias;  ///< empty for RMS norms
};

/// One row per token. The rows of the tied head where its kernel keeps every value, else a copy in the file's encoding.
template <LinearKernel Kernel>
class Embedding {
 public:
  Embedding() = default;

  /// Rows that live in the head's packed matrix, which must outlive this object's use.
  static Embedding of_head() { return Embedding(); }

  /// A copy of `rows`. Errors: memory.
  explicit Embedding(const WeightSource& rows) : rows_(rows.copied()) {}

  std::size_t size_bytes() const noexcept { return rows_ == nullptr ? 0 : rows_->size_bytes(); }

  /// out [hidden]. `token` is inside the vocabulary.
  void row(Token token, const Linear<Kernel>& head, float* out) const noexcept {
    const auto index = static_cast<std::size_t>(token);
    if (rows_ == nullptr) {
      Kernel::unpack_row(head.parts.front().weights, index, out);
    } else {
      rows_->decode_row(index, out);
    }
  }

 private:
  std::shared_ptr<const WeightSource> rows_;
};

template <LinearKernel Kernel>
struct LayerWeights {
  NormWeights attention_norm, mlp_norm;  ///< mlp_norm is empty in a parallel residual block
  Linear<Kernel> query_key_value;        ///< rows: query heads, key heads, value heads
  Linear<Kernel> output;
  Linear<Kernel> up;  ///< rows: gate then up, or up alone
  Linear<Kernel> down;
};

template <LinearKernel Kernel>
struct ModelWeights {
  Embedding<Kernel> embedding;
  std::vector<LayerWeights<Kernel>> layers;
  NormWeights final_norm;
  Linear<Kernel> head;

  /// Calls visit(linear) for every linear layer, in the order of the forward pass.
  template <class Visit>
  void for_each_linear(Visit&& visit) const {
    for (const auto& layer : layers) {
      visit(layer.query_key_value);
      visit(layer.output);
      visit(layer.up);
      visit(layer.down);
    }
    visit(head);
  }

  std::size_t size_bytes() const noexcept {
    std::size_t sum = embedding.size_bytes();
    for_each_linear([&](const Linear<Kernel>& linear) { sum += linear.size_bytes(); });
    return sum;
  }
};

}  // namespace tulle
