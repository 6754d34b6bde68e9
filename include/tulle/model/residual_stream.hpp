// SPDX-License-Identifier: Apache-2.0
/// \file The residual stream of a decoder, and its norms (L3).
#pragma once

#include <algorithm>
#include <cstddef>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// One row of hidden values for every row of a batch, and room for what a norm makes of them.
/// Threads: one call at a time; `normalize` and `add` of columns may run for several rows at once.
class ResidualStream {
 public:
  /// Room for `max_rows` rows. `model` and `pool` must outlive the object. Errors: memory.
  ResidualStream(const Architecture& model, ThreadPool& pool, std::size_t max_rows)
      : model_(model),
        pool_(pool),
        rows_(max_rows * model.hidden),
        normed_(max_rows * std::max(model.hidden, model.embedding_columns())) {}

  std::size_t size_bytes() const noexcept { return rows_.size_bytes() + normed_.size_bytes(); }

  float* row(std::size_t row) noexcept { return rows_.data() + row * model_.hidden; }
  MatrixView<float> rows(std::size_t count) noexcept { return {rows_.data(), count, model_.hidden}; }

  /// What `normalized` made of them, or room for as many rows of up to hidden or embedding columns.
  MatrixView<float> normed(std::size_t count, std::size_t columns) noexcept { return {normed_.data(), count, columns}; }
  MatrixView<float> normed(std::size_t count) noexcept { return normed(count, model_.hidden); }

  /// y [hidden] = norm(x) by the model's kind of norm. y may be x.
  void normalize(const NormWeights& norm, const float* x, float* y) const noexcept {
    if (model_.norm == NormKind::rms) {
      rms_norm(x, norm.weight.data(), model_.hidden, model_.norm_epsilon, y);
    } else {
      layer_norm(x, norm.weight.data(), norm.bias.data(), model_.hidden, model_.norm_epsilon, y);
    }
  }

  /// The first `count` rows through a norm, in `normed`.
  MatrixView<float> normalized(const NormWeights& norm, std::size_t count) noexcept {
    for_rows(pool_, count, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t i = begin; i < end; ++i) normalize(norm, row(i), normed_.data() + i * model_.hidden);
    });
    return normed(count);
  }

  /// The rows themselves become normalized.
  void normalize_rows(const NormWeights& norm, std::size_t count) noexcept {
    for_rows(pool_, count, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t i = begin; i < end; ++i) normalize(norm, row(i), row(i));
    });
  }

  /// Some columns of a row += y * residual_scale. Changes y [hidden].
  void add_columns(float* y, std::size_t i, std::size_t first, std::size_t last) noexcept {
    if (model_.residual_scale != 1) scale(model_.residual_scale, last - first, y + first);
    add(y + first, last - first, row(i) + first);
  }

  /// The rows += norm(y) * residual_scale, where there is a norm. Changes y [rows, hidden].
  void add_rows(const NormWeights& norm, MatrixView<float> y) noexcept {
    for_rows(pool_, y.rows, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t i = begin; i < end; ++i) {
        if (!norm.weight.empty()) normalize(norm, y[i], y[i]);
        add_columns(y[i], i, 0, model_.hidden);
      }
    });
  }

 private:
  const Architecture& model_;
  ThreadPool& pool_;
  AlignedBuffer<float> rows_, normed_;
};

}  // namespace tulle
