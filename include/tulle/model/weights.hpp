// SPDX-License-Identifier: Apache-2.0
/// \file The packed weights of a model, layer by layer (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// A linear layer Y = X W^T + bias: one packed matrix, or several whose output rows follow each other (q, k and v of a
/// file that encodes them differently).
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
  std::vector<float> weight;  ///< [size]; empty where there is no such norm
  std::vector<float> bias;    ///< [size]; empty for RMS norms
};

/// One row per token, in the encoding of the file or as `HalfRows`.
class Embedding {
 public:
  /// A copy of `rows`. Errors: memory.
  explicit Embedding(const WeightSource& rows) : rows_(rows.copied()) {}

  /// Rows that keep their own memory.
  explicit Embedding(std::shared_ptr<const WeightSource> rows) : rows_(std::move(rows)) {}

  std::size_t size_bytes() const noexcept { return rows_->size_bytes(); }
  std::span<const std::byte> bytes() const noexcept { return rows_->bytes(); }  ///< as of `WeightSource`

  /// out [hidden]. `token` is inside the vocabulary.
  void row(Token token, float* out) const noexcept { rows_->decode_row(static_cast<std::size_t>(token), out); }

 private:
  std::shared_ptr<const WeightSource> rows_;
};

/// Scores of the experts: weight x + bias, in f32.
struct RouterWeights {
  std::vector<float> weight;  ///< [experts, hidden]
  std::vector<float> bias;    ///< [experts], or empty
};

template <LinearKernel Kernel>
struct ExpertWeights {
  Linear<Kernel> up, down;  ///< as those of a layer
};

template <LinearKernel Kernel>
struct LayerWeights {
  NormWeights attention_norm, mlp_norm;            ///< [hidden]; empty where a branch reads the residual stream itself
  NormWeights query_norm, key_norm;                ///< [head_dim] or [heads * head_dim]; empty where there are none
  NormWeights attention_post_norm, mlp_post_norm;  ///< [hidden]; empty where there are none
  Linear<Kernel> query_key_value;  ///< [(heads + 2 kv_heads) * head_dim, hidden]: query, key, value heads
  Linear<Kernel> output;           ///< [hidden, heads * head_dim]
  Linear<Kernel> up;               ///< [2 intermediate, hidden]: gate, up; or [intermediate, hidden]: up alone
  Linear<Kernel> down;             ///< [hidden, intermediate]
  std::vector<float> sinks;        ///< [heads]: see `ScoreTerms::sink`; empty where there are none
  /// A mixture of experts; `up` and `down` are then those of the expert that all rows share, or no matrices.
  RouterWeights router;
  std::vector<ExpertWeights<Kernel>> experts;
  std::vector<float> shared_gate;  ///< [hidden], or empty
};

template <LinearKernel Kernel>
struct ModelWeights {
  std::optional<Embedding> embedding;  ///< [vocabulary, embedding columns]; nothing where the head's rows serve
  std::optional<Embedding> positions;  ///< [learned positions, hidden]; nothing where there are none
  NormWeights embedding_norm;          ///< [hidden]
  Linear<Kernel> project_embedding;    ///< [hidden, embedding columns], or no matrix
  std::vector<LayerWeights<Kernel>> layers;
  NormWeights final_norm;         ///< [hidden]
  Linear<Kernel> project_logits;  ///< [embedding columns, hidden], or no matrix
  Linear<Kernel> head;            ///< [vocabulary, embedding columns]

  /// The embedding of a token that is inside the vocabulary. out [embedding columns].
  void embed(Token token, float* out) const noexcept {
    if (embedding) {
      embedding->row(token, out);
    } else {
      Kernel::unpack_row(head.parts.front().weights, static_cast<std::size_t>(token), out);
    }
  }

  /// Calls visit(linear) for every linear layer, in the order of the forward pass.
  template <class Visit>
  void for_each_linear(Visit&& visit) const {
    if (!project_embedding.parts.empty()) visit(project_embedding);
    for (const auto& layer : layers) {
      visit(layer.query_key_value);
      visit(layer.output);
      if (!layer.up.parts.empty()) {
        visit(layer.up);
        visit(layer.down);
      }
      for (const auto& expert : layer.experts) {
        visit(expert.up);
        visit(expert.down);
      }
    }
    if (!project_logits.parts.empty()) visit(project_logits);
    visit(head);
  }

  std::size_t size_bytes() const noexcept {
    std::size_t sum = embedding ? embedding->size_bytes() : 0;
    if (positions) sum += positions->size_bytes();
    for_each_linear([&](const Linear<Kernel>& linear) { sum += linear.size_bytes(); });
    return sum;
  }
};

}  // namespace tulle
