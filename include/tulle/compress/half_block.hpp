// SPDX-License-Identifier: Apache-2.0
/// \file Half of a decoder layer, attention or MLP, over one sequence: its output and the gradients of its matrices (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <tulle/compress/backward/activation.hpp>
#include <tulle/compress/backward/attention.hpp>
#include <tulle/compress/backward/layer_norm.hpp>
#include <tulle/compress/backward/query_key.hpp>
#include <tulle/compress/backward/rms_norm.hpp>
#include <tulle/compress/blas_linear.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// The first matrix is query-key-value or gate and up, the second output or down.
enum class BlockHalf { attention, mlp };

/// y = base + norm(second(inner(first(norm(entry))))), where inner is attention or the activation, and the norms are
/// those that the layer has. Threads: one call at a time; objects share nothing that changes.
class HalfBlock {
 public:
  /// Values of the two matrices, or their gradients.
  struct Matrices {
    MatrixView<float> first, second;
  };

  /// Room for sequences of `max_length` tokens. `weights` gives norms, biases and sinks. All must outlive the object.
  /// Errors: memory.
  HalfBlock(const Architecture& model, const LayerSpec& spec, const LayerWeights<BlasLinear>& weights, BlockHalf half,
            std::size_t max_length)
      : model_(model),
        spec_(spec),
        is_attention_(half == BlockHalf::attention),
        first_(is_attention_ ? weights.query_key_value : weights.up),
        second_(is_attention_ ? weights.output : weights.down),
        norm_(is_attention_ || weights.mlp_norm.weight.empty() ? weights.attention_norm : weights.mlp_norm),
        inner_norm_(is_attention_ ? weights.attention_post_norm : weights.mlp_post_norm),
        normed_(max_length, model.hidden),
        inner_(max_length, first_.rows()),
        ready_(is_attention_ ? max_length : 0, first_.rows()),
        read_(max_length, second_.columns()),
        given_(max_length, model.hidden),
        sum_(max_length, model.hidden),
        dread_(max_length, second_.columns()),
        dinner_(max_length, first_.rows()),
        buffer_(first_.rows()) {
    if (!is_attention_) return;
    steps_.emplace(model, spec, weights.query_norm, weights.key_norm, max_length);
    attention_.emplace(model, spec, weights.sinks, max_length);
  }

  /// y [tokens, hidden] of `entry` and `base` [tokens, hidden]: what the half reads, and what its branch is added to.
  void forward(const Matrices& values, MatrixView<const float> entry, MatrixView<const float> base,
               MatrixView<float> y) noexcept {
    tokens_ = entry.rows;
    const MatrixView<float> inner = rows(inner_), read = rows(read_), given = rows(given_);
    normalize_entry(entry);
    multiply(rows(normed_), values.first, first_.bias, inner);
    if (steps_ && attention_) {
      const MatrixView<float> ready = rows(ready_);
      for (std::size_t row = 0; row < tokens_; ++row) {
        std::copy_n(inner[row], inner.columns, ready[row]);
        steps_->forward(row, ready[row]);
      }
      attention_->forward(ready, read);
    } else {
      for (std::size_t row = 0; row < tokens_; ++row)
        activation_forward(spec_.mlp, inner[row], read.columns, read[row]);
    }
    multiply(read, values.second, second_.bias, given);
    for (std::size_t row = 0; row < tokens_; ++row) {
      if (inner_norm_.weight.empty()) {
        std::copy_n(given[row], model_.hidden, y[row]);
      } else {
        normalize(inner_norm_, given[row], y[row]);
      }
      if (model_.residual_scale != 1) scale(model_.residual_scale, model_.hidden, y[row]);
      add(base[row], model_.hidden, y[row]);
      if (spec_.residual != Residual::post_norm) continue;
      std::copy_n(y[row], model_.hidden, rows(sum_)[row]);
      normalize(norm_, rows(sum_)[row], y[row]);
    }
  }

  /// The gradients of the matrices for what `forward` last did, from that of y, `dy` [tokens, hidden], which is changed.
  void backward(const Matrices& values, MatrixView<float> dy, const Matrices& gradients) noexcept {
    const MatrixView<float> inner = rows(inner_), dread = rows(dread_), dinner = rows(dinner_);
    for (std::size_t row = 0; row < tokens_; ++row) {
      if (spec_.residual == Residual::post_norm) unnormalize(norm_, rows(sum_)[row], dy[row]);
      if (model_.residual_scale != 1) scale(model_.residual_scale, model_.hidden, dy[row]);
      if (!inner_norm_.weight.empty()) unnormalize(inner_norm_, rows(given_)[row], dy[row]);
    }
    multiply_matrices<float>(dy, Transposed::yes, rows(read_), Transposed::no, 1, 0, gradients.second);
    multiply_matrices<float>(dy, Transposed::no, values.second, Transposed::no, 1, 0, dread);
    if (steps_ && attention_) {
      attention_->backward(rows(ready_), dread, dinner);
      for (std::size_t row = 0; row < tokens_; ++row) {
        steps_->backward(row, inner[row], dinner[row], buffer_.data());
      }
    } else {
      for (std::size_t row = 0; row < tokens_; ++row) {
        activation_backward(spec_.mlp, inner[row], dread.columns, dread[row], dinner[row]);
      }
    }
    multiply_matrices<float>(dinner, Transposed::yes, rows(normed_), Transposed::no, 1, 0, gradients.first);
  }

 private:
  MatrixView<float> rows(Matrix& matrix) const noexcept { return {matrix.values.data(), tokens_, matrix.columns}; }

  void normalize_entry(MatrixView<const float> entry) noexcept {
    const bool before = !norm_.weight.empty() && spec_.residual != Residual::post_norm;
    for (std::size_t row = 0; row < tokens_; ++row) {
      if (before) {
        normalize(norm_, entry[row], normed_[row]);
      } else {
        std::copy_n(entry[row], model_.hidden, normed_[row]);
      }
    }
  }

  void normalize(const NormWeights& norm, const float* x, float* y) const noexcept {
    if (model_.norm == NormKind::rms) {
      rms_norm(x, norm.weight.data(), model_.hidden, model_.norm_epsilon, y);
    } else {
      layer_norm(x, norm.weight.data(), norm.bias.data(), model_.hidden, model_.norm_epsilon, y);
    }
  }
  /// The gradient of the norm of x becomes that of x.
  void unnormalize(const NormWeights& norm, const float* x, float* gradient) const noexcept {
    if (model_.norm == NormKind::rms) {
      rms_norm_backward(x, norm.weight.data(), model_.hidden, model_.norm_epsilon, gradient, gradient);
    } else {
      layer_norm_backward(x, norm.weight.data(), model_.hidden, model_.norm_epsilon, gradient, gradient);
    }
  }

  /// y = x W^T + bias.
  static void multiply(MatrixView<const float> x, MatrixView<const float> weights, const std::vector<float>& bias,
                       MatrixView<float> y) noexcept {
    multiply_matrices<float>(x, Transposed::no, weights, Transposed::yes, 1, 0, y);
    if (bias.empty()) return;
    for (std::size_t row = 0; row < y.rows; ++row) add(bias.data(), bias.size(), y[row]);
  }

  const Architecture& model_;
  const LayerSpec& spec_;
  bool is_attention_;
  const Linear<BlasLinear>&first_, &second_;
  const NormWeights &norm_, &inner_norm_;
  std::optional<QueryKeySteps> steps_;
  std::optional<SequenceAttention> attention_;
  std::size_t tokens_ = 0;
  Matrix normed_, inner_, ready_, read_, given_, sum_;  // of `forward`; ready_: queries and keys that attention reads
  Matrix dread_, dinner_;
  std::vector<float> buffer_;
};

}  // namespace tulle
