// SPDX-License-Identifier: Apache-2.0
/// \file What the inputs of a linear layer say about its weights: second moments over the calibration tokens (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include <tulle/compress/linear_algebra.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>

namespace tulle {

/// Means over the tokens t, each with a weight, of products of the compressed model's input x~, the dense model's input
/// x, and r - r~, what the residual stream lacks before the layer adds to it. Sums are float32 inside of 512 tokens and
/// float64 between them.
struct LayerStatistics {
  std::size_t columns = 0, outputs = 0;
  AlignedBuffer<double> hessian;     ///< x~ x~^T [columns, columns]
  AlignedBuffer<double> cross;       ///< x~ x^T [columns, columns]; empty without a dense model
  AlignedBuffer<double> correction;  ///< x~ (r - r~)^T [columns, outputs]; empty where the layer's output is not added
};

/// What `collect_statistics` reads of each token.
struct LayerSamples {
  MatrixView<const float> inputs;            ///< x~ [tokens, columns]
  MatrixView<const float> dense_inputs{};    ///< x, or nothing
  MatrixView<const float> residual{};        ///< r~ [tokens, outputs], or nothing
  MatrixView<const float> dense_residual{};  ///< r, where `residual` is there
  std::span<const float> weights{};          ///< of the tokens; empty: all 1
};

namespace detail {

/// The statistics of one range of x~'s columns, over all tokens in order.
class StatisticsTile {
 public:
  static constexpr std::size_t columns = 128, tokens = 512;

  StatisticsTile(const LayerSamples& samples, LayerStatistics& statistics, RowRange range)
      : samples_(samples),
        statistics_(statistics),
        range_(range),
        weighted_(tokens * range.count()),
        sums_(range.count() * std::max(statistics.columns, statistics.outputs)),
        lacks_(tokens * statistics.outputs) {}

  void add_all() noexcept {
    const std::size_t count = samples_.inputs.rows;
    for (std::size_t begin = 0; begin < count; begin += tokens) add({begin, std::min(count, begin + tokens)});
  }

 private:
  void add(RowRange rows) noexcept {
    const std::size_t n = statistics_.columns, m = statistics_.outputs;
    const MatrixView<float> x(weighted_.data(), rows.count(), range_.count());
    for (std::size_t row = 0; row < x.rows; ++row) {
      const float weight = samples_.weights.empty() ? 1.0f : samples_.weights[rows.begin + row];
      const float* from = samples_.inputs[rows.begin + row] + range_.begin;
      for (std::size_t j = 0; j < x.columns; ++j) x[row][j] = weight * from[j];
    }
    // Of the symmetric matrix the columns from the tile on.
    const MatrixView<const float> inputs = rows_of(samples_.inputs, rows);
    add_products(x, {inputs.data + range_.begin, inputs.rows, n - range_.begin, inputs.stride},
                 statistics_.hessian.data() + range_.begin * n + range_.begin, n);
    if (statistics_.cross.size() != 0) {
      add_products(x, rows_of(samples_.dense_inputs, rows), statistics_.cross.data() + range_.begin * n, n);
    }
    if (statistics_.correction.size() == 0) return;
    const MatrixView<float> lacks(lacks_.data(), rows.count(), m);
    for (std::size_t row = 0; row < lacks.rows; ++row) {
      const float *dense = samples_.dense_residual[rows.begin + row], *own = samples_.residual[rows.begin + row];
      for (std::size_t j = 0; j < m; ++j) lacks[row][j] = dense[j] - own[j];
    }
    add_products(x, lacks, statistics_.correction.data() + range_.begin * m, m);
  }

  /// to [x.columns, y.columns] += x^T y.
  void add_products(MatrixView<const float> x, MatrixView<const float> y, double* to, std::size_t stride) noexcept {
    const MatrixView<float> sums(sums_.data(), x.columns, y.columns);
    multiply_matrices<float>(x, Transposed::yes, y, Transposed::no, 1.0f, 0.0f, sums);
    for (std::size_t i = 0; i < sums.rows; ++i) {
      for (std::size_t j = 0; j < sums.columns; ++j) to[i * stride + j] += static_cast<double>(sums[i][j]);
    }
  }

  const LayerSamples& samples_;
  LayerStatistics& statistics_;
  RowRange range_;
  AlignedBuffer<float> weighted_, sums_, lacks_;
};

}  // namespace detail

/// The statistics of samples that come piece by piece; their order and their sizes make the low bits. Threads: one call
/// at a time.
class StatisticsSums {
 public:
  /// `samples` have the same columns as those before. Tiles of columns on all threads of `pool`; the sums do not depend
  /// on their number. Errors: memory.
  void add(const LayerSamples& samples, ThreadPool& pool) {
    if (count_ == 0) make(samples);
    count_ += samples.inputs.rows;
    const std::size_t n = sums_.columns;
    std::vector<detail::StatisticsTile> tiles;
    for (std::size_t begin = 0; begin < n; begin += detail::StatisticsTile::columns) {
      tiles.emplace_back(samples, sums_, RowRange{begin, std::min(n, begin + detail::StatisticsTile::columns)});
    }
    for_row_blocks(pool, tiles.size(), 1, [&](RowRange range) { tiles[range.begin].add_all(); });
  }

  /// Ends the sums.
  LayerStatistics means() {
    const double share = count_ == 0 ? 0 : 1 / static_cast<double>(count_);
    for (AlignedBuffer<double>* sums : {&sums_.hessian, &sums_.cross, &sums_.correction}) {
      for (double& sum : sums->span()) sum *= share;
    }
    const std::size_t n = sums_.columns;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) sums_.hessian[i * n + j] = sums_.hessian[j * n + i];
    }
    return std::move(sums_);
  }

 private:
  void make(const LayerSamples& samples) {
    const std::size_t n = sums_.columns = samples.inputs.columns;
    sums_.outputs = samples.residual.columns;
    sums_.hessian = AlignedBuffer<double>(n * n);
    if (samples.dense_inputs.data != nullptr) sums_.cross = AlignedBuffer<double>(n * n);
    if (samples.residual.data != nullptr) sums_.correction = AlignedBuffer<double>(n * sums_.outputs);
  }

  LayerStatistics sums_;
  std::size_t count_ = 0;  // of tokens
};

/// Of all samples at once.
inline LayerStatistics collect_statistics(const LayerSamples& samples, ThreadPool& pool) {
  StatisticsSums sums;
  sums.add(samples, pool);
  return sums.means();
}

/// min(1, median |y|^2 / |y_t|^2) of every token's row y_t [tokens, hidden] of the residual stream: tokens of large
/// norm, such as the first of a sequence ("attention sinks"), would outweigh all others.
inline std::vector<float> row_weights(MatrixView<const float> stream) {
  std::vector<float> norms(stream.rows);
  for (std::size_t row = 0; row < stream.rows; ++row) {
    float sum = 0;
    for (const float value : stream.row(row)) sum += value * value;
    norms[row] = sum;
  }
  const float middle = median<float>(norms);
  for (float& norm : norms) norm = norm <= middle ? 1.0f : middle / norm;
  return norms;
}

}  // namespace tulle
