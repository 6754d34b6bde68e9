// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention of one whole sequence, and its gradient (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

#include <tulle/compress/linear_algebra.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// softmax(q k^T / sqrt(d)) v for queries, keys and values [tokens, qkv_rows] that are ready: rotated and scaled. Weights
/// are computed again for the gradient, 128 queries at a time, so memory grows with the length and not with its square.
/// Threads: one call at a time.
class SequenceAttention {
 public:
  /// `sinks`: `ScoreTerms::sink` of every head, or none. All must outlive the object. Errors: memory.
  SequenceAttention(const Architecture& model, const LayerSpec& spec, std::span<const float> sinks,
                    std::size_t max_length)
      : model_(model),
        spec_(spec),
        sinks_(sinks),
        scale_(1.0f / std::sqrt(static_cast<float>(model.head_dim))),
        weights_(block_of_rows * padded(max_length)),
        capped_(model.score_cap == 0 ? 0 : weights_.size()),
        gradients_(weights_.size()),
        row_(padded(max_length)) {}

  /// out [tokens, query_rows].
  void forward(MatrixView<const float> qkv, MatrixView<float> out) noexcept {
    for_each_block(qkv.rows, [&](const Block& block) {
      find_weights(qkv, block);
      multiply_matrices<float>(view(weights_, block), Transposed::no, values(qkv, block), Transposed::no, 1, 0,
                               queries(out, block));
    });
  }

  /// dqkv [tokens, qkv_rows] of dout [tokens, query_rows].
  void backward(MatrixView<const float> qkv, MatrixView<const float> dout, MatrixView<float> dqkv) noexcept {
    for (std::size_t row = 0; row < dqkv.rows; ++row) std::fill_n(dqkv[row], dqkv.columns, 0.0f);
    for_each_block(qkv.rows, [&](const Block& block) {
      find_weights(qkv, block);
      const MatrixView<const float> weights = view(weights_, block), given = queries(dout, block);
      const MatrixView<float> gradients = view(gradients_, block);
      multiply_matrices<float>(weights, Transposed::yes, given, Transposed::no, 1, 1, values(dqkv, block));
      multiply_matrices<float>(given, Transposed::no, values(qkv, block), Transposed::yes, 1, 0, gradients);
      for (std::size_t row = 0; row < weights.rows; ++row) softmax_backward(row, block, weights[row], gradients[row]);
      multiply_matrices<float>(gradients, Transposed::no, keys(qkv, block), Transposed::no, scale_, 0,
                               queries(dqkv, block));
      multiply_matrices<float>(gradients, Transposed::yes, queries(qkv, block), Transposed::no, scale_, 1,
                               keys(dqkv, block));
    });
  }

 private:
  /// Rows [first, end) of a query head, which see keys from `key` on.
  struct Block {
    std::size_t head, first, end, key;
  };

  static constexpr std::size_t padded(std::size_t count) noexcept { return (count + 15) / 16 * 16; }

  template <class Visit>
  void for_each_block(std::size_t length, Visit&& visit) const noexcept {
    for (std::size_t head = 0; head < model_.heads; ++head) {
      for (std::size_t first = 0; first < length; first += block_of_rows) {
        visit(Block{head, first, std::min(length, first + block_of_rows),
                    spec_.window.begin(static_cast<Position>(first))});
      }
    }
  }

  static MatrixView<float> view(AlignedBuffer<float>& buffer, const Block& block) noexcept {
    const std::size_t keys = block.end - block.key;
    return {buffer.data(), block.end - block.first, keys, padded(keys)};
  }
  template <class T>
  MatrixView<T> queries(MatrixView<T> rows, const Block& block) const noexcept {
    return {rows[block.first] + block.head * model_.head_dim, block.end - block.first, model_.head_dim, rows.stride};
  }
  template <class T>
  MatrixView<T> keys(MatrixView<T> rows, const Block& block, std::size_t behind = 0) const noexcept {
    const std::size_t kv_head = block.head / (model_.heads / model_.kv_heads);
    return {rows[block.key] + model_.query_rows() + behind + kv_head * model_.head_dim, block.end - block.key,
            model_.head_dim, rows.stride};
  }
  template <class T>
  MatrixView<T> values(MatrixView<T> rows, const Block& block) const noexcept {
    return keys(rows, block, model_.kv_rows());
  }

  void find_weights(MatrixView<const float> qkv, const Block& block) noexcept {
    const MatrixView<float> weights = view(weights_, block);
    multiply_matrices<float>(queries(qkv, block), Transposed::no, keys(qkv, block), Transposed::yes, scale_, 0,
                             weights);
    for (std::size_t row = 0; row < weights.rows; ++row) softmax(row, block, weights[row]);
  }

  /// The scores of a row [keys, padded] become weights; 0 where it does not see a key.
  void softmax(std::size_t row, const Block& block, float* scores) noexcept {
    const std::size_t position = block.first + row, keys = block.end - block.key;
    const std::size_t begin = spec_.window.begin(static_cast<Position>(position)) - block.key;
    const std::size_t count = position + 1 - block.key - begin;
    // Visible scores are moved to the front: the exponentials write whole vectors.
    float* own = row_.data();
    std::copy_n(scores + begin, count, own);
    if (model_.score_cap != 0) {
      soft_cap(model_.score_cap, count, own);
      std::copy_n(own, count, view(capped_, block)[row] + begin);
    }
    if (!model_.alibi_slopes.empty()) {
      const float slope = model_.alibi_slopes[block.head];
      for (std::size_t i = 0; i < count; ++i) own[i] -= slope * static_cast<float>(count - 1 - i);
    }
    float maximum = sinks_.empty() ? -std::numeric_limits<float>::infinity() : sinks_[block.head];
    for (std::size_t i = 0; i < count; ++i) maximum = std::max(maximum, own[i]);
    float sum =
        with_instruction_set<isa::Active>([&](auto tag) { return detail::exponentials(tag, own, count, maximum); });
    if (!sinks_.empty()) sum += std::exp(sinks_[block.head] - maximum);
    std::fill_n(scores, begin, 0.0f);
    for (std::size_t i = 0; i < count; ++i) scores[begin + i] = own[i] / sum;
    std::fill(scores + begin + count, scores + keys, 0.0f);
  }

  /// `gradient` of the weights of a row becomes that of its scores: p (g - sum(p g)), times the slope of the cap.
  void softmax_backward(std::size_t row, const Block& block, const float* weights, float* gradient) noexcept {
    const std::size_t keys = block.end - block.key;
    double sum = 0;
    for (std::size_t i = 0; i < keys; ++i) sum += static_cast<double>(weights[i]) * static_cast<double>(gradient[i]);
    for (std::size_t i = 0; i < keys; ++i) gradient[i] = weights[i] * (gradient[i] - static_cast<float>(sum));
    if (model_.score_cap == 0) return;
    const float* capped = view(capped_, block)[row];
    for (std::size_t i = 0; i < keys; ++i) {
      if (weights[i] == 0) continue;
      const float share = capped[i] / model_.score_cap;
      gradient[i] *= 1 - share * share;
    }
  }

  const Architecture& model_;
  const LayerSpec& spec_;
  std::span<const float> sinks_;
  float scale_;
  AlignedBuffer<float> weights_, capped_, gradients_;  // [128 queries, keys]
  AlignedBuffer<float> row_;                           // scores of one query
};

}  // namespace tulle
