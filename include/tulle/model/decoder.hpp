// SPDX-License-Identifier: Apache-2.0
/// \file The one forward path: rows of tokens in, rows of logits out (L3).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/decoder_observer.hpp>
#include <tulle/model/linear_runner.hpp>
#include <tulle/model/mlp.hpp>
#include <tulle/model/residual_stream.hpp>
#include <tulle/model/self_attention.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// Runs a model over a ragged batch: a prefill chunk, a decode step, a verification, or a mixture of them, are all
/// rows.
///
/// The logits of a row depend on its sequence's tokens alone: not on the other rows, the chunks they came in, or the
/// number of threads. (Integer products are exact, float kernels keep one order of addition, everything else works on
/// one row.)
///
/// `forward` is `embed`, `run_layer` for every layer, `head`. `run_layer` is `queries_keys_values`, `attend`, `output`,
/// `up`, `down`. All may be called one by one, over a cache that holds one layer, too. Weights are read when a step
/// runs, so their owner may replace a matrix by one of the same shape between two steps.
///
/// Threads: one call at a time. The model's description and weights are only read and may be shared.
template <LinearKernel Kernel, CacheLayout Cache>
class Decoder {
 public:
  using Rows = std::span<const Row>;

  /// Room for `max_rows` rows a call. `architecture`, `weights` and `pool` must outlive the decoder. Errors: memory.
  Decoder(const Architecture& architecture, const ModelWeights<Kernel>& weights, ThreadPool& pool, std::size_t max_rows)
      : model_(architecture),
        weights_(weights),
        pool_(pool),
        max_rows_(max_rows),
        stream_(architecture, pool, max_rows),
        attention_(architecture, pool, max_rows),
        projected_(max_rows * std::max(model_.hidden, model_.embedding_columns())),
        runner_(pool, max_rows,
                std::max({model_.hidden, model_.embedding_columns(), model_.max_intermediate(), model_.query_rows()})),
        mlp_(model_, runner_, max_rows) {}

  const Architecture& architecture() const noexcept { return model_; }
  std::size_t max_rows() const noexcept { return max_rows_; }

  /// Bytes of the buffers between the layers and of the prepared activations.
  std::size_t workspace_bytes() const noexcept {
    return stream_.size_bytes() + attention_.size_bytes() + projected_.size_bytes() + runner_.size_bytes() +
           mlp_.size_bytes();
  }

  /// Called from now on with what every linear layer reads; null: none. Must outlive its use.
  void set_observer(DecoderObserver* observer) noexcept { observer_ = observer; }

  /// Runs `rows` (at most `max_rows`) through the model and writes logits [rows that need them, vocabulary], in order.
  /// Requires: tokens inside the vocabulary; per sequence the rows are in order of position and continue what `cache`
  /// holds; `cache.extend` was called for them. Returns false when `cancel` was set meanwhile: the cache then holds
  /// rows that must be truncated, and the logits are not written. Never inlined, so that a program may compile it once
  /// (`extern template class Decoder<...>`).
  [[gnu::noinline]] bool forward(Rows rows, Cache& cache, MatrixView<float> logits,
                                 const std::atomic<bool>* cancel = nullptr) noexcept {
    embed(rows);
    for (std::size_t layer = 0; layer < model_.layers.size(); ++layer) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return false;
      run_layer(layer, rows, cache);
    }
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return false;
    head(rows, logits);
    return true;
  }

  /// Fills the residual stream with the embeddings of `rows`, and `place`s them.
  [[gnu::noinline]] void embed(Rows rows) noexcept {
    attention_.place(rows);
    const bool projects = !weights_.project_embedding.parts.empty();
    const std::size_t columns = model_.embedding_columns();
    const MatrixView<float> embedded = projects ? stream_.normed(rows.size(), columns) : stream_.rows(rows.size());
    for_rows(pool_, rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        float* x = embedded[row];
        weights_.embed(rows[row].token, x);
        if (model_.embedding_scale != 1) scale(model_.embedding_scale, columns, x);
        attention_.find_angles(row, rows[row].position);
      }
    });
    if (projects) {
      runner_.prepare(weights_.project_embedding, embedded);
      runner_.multiply(weights_.project_embedding, residual(rows.size()));
    }
    if (!weights_.positions && weights_.embedding_norm.weight.empty()) return;
    for_rows(pool_, rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        if (weights_.positions) add_position(rows[row].position, row);
        if (!weights_.embedding_norm.weight.empty()) {
          stream_.normalize(weights_.embedding_norm, stream_.row(row), stream_.row(row));
        }
      }
    });
  }

  /// Makes `rows` those of the next steps, where the residual stream is filled by the caller in place of `embed`.
  [[gnu::noinline]] void place(Rows rows) noexcept {
    attention_.place(rows);
    for (std::size_t row = 0; row < rows.size(); ++row) attention_.find_angles(row, rows[row].position);
  }

  /// The residual stream [rows, hidden] between two steps.
  MatrixView<float> residual(std::size_t rows) noexcept { return stream_.rows(rows); }

  /// One layer over all rows. `cache_layer`: where the cache has its keys and values.
  [[gnu::noinline]] void run_layer(std::size_t layer, Rows rows, Cache& cache, std::size_t cache_layer) noexcept {
    queries_keys_values(layer, rows);
    const bool parallel = model_.layers[layer].residual == Residual::parallel;
    if (shares_norm(layer)) up_of_prepared(layer, rows);
    attend(layer, rows, cache, cache_layer);
    if (parallel && !shares_norm(layer)) up(layer, rows);
    output(layer, rows);
    if (!parallel) up(layer, rows);
    down(layer, rows);
  }
  void run_layer(std::size_t layer, Rows rows, Cache& cache) noexcept { run_layer(layer, rows, cache, layer); }

  /// The norm before attention, and the product with the stacked query, key and value matrix.
  void queries_keys_values(std::size_t layer, Rows rows) noexcept {
    const Linear<Kernel>& linear = weights_.layers[layer].query_key_value;
    const MatrixView<float> x = branch_input(layer, weights_.layers[layer].attention_norm, rows.size());
    observe(layer, LinearRole::query_key_value, rows, x);
    runner_.prepare(linear, x);
    runner_.multiply(linear, attention_.query_key_value(rows.size()));
  }

  /// Rotates the queries and keys, stores keys and values, and attends (`SelfAttention::attend`): once for every
  /// `queries_keys_values`.
  void attend(std::size_t layer, Rows rows, Cache& cache, std::size_t cache_layer) noexcept {
    attention_.attend(model_.layers[layer], weights_.layers[layer], rows, cache, cache_layer);
  }

  /// The residual stream += the output matrix times what attention gave.
  void output(std::size_t layer, Rows rows) noexcept {
    const MatrixView<float> x = attention_.attended(rows.size());
    observe(layer, LinearRole::output, rows, x);
    add_branch(layer, LinearRole::output, x);
  }

  /// The norm before the MLP (a parallel residual may share that of `queries_keys_values`), the product with gate and
  /// up, and the activation; of a mixture of experts the norm alone.
  void up(std::size_t layer, Rows rows) noexcept {
    const MatrixView<float> x = shares_norm(layer) ? stream_.normed(rows.size())
                                                   : branch_input(layer, weights_.layers[layer].mlp_norm, rows.size());
    observe(layer, LinearRole::up, rows, x);
    activated_ = x;
    if (model_.layers[layer].is_mixture()) return;
    runner_.prepare(weights_.layers[layer].up, x);
    activated_ = mlp_.up(weights_.layers[layer].up, model_.layers[layer].mlp, rows.size());
  }

  /// The residual stream += the down matrix times what `up` gave, or what the experts make of it.
  void down(std::size_t layer, Rows rows) noexcept {
    if (!model_.layers[layer].is_mixture()) observe(layer, LinearRole::down, rows, activated_);
    add_branch(layer, LinearRole::down, activated_);
  }

  /// The residual stream += norm(x W^T + bias) * residual_scale, of the matrix of `role` (`output` or `down`), with the
  /// norms that the layer has. x [rows, columns of the matrix]; of a mixture in place of `down` what its experts read.
  void add_branch(std::size_t layer, LinearRole role, MatrixView<float> x) noexcept {
    const LayerWeights<Kernel>& weights = weights_.layers[layer];
    const bool attention = role == LinearRole::output;
    const Linear<Kernel>& linear = attention ? weights.output : weights.down;
    const NormWeights& post_norm = attention ? weights.attention_post_norm : weights.mlp_post_norm;
    const MatrixView<float> y = projected(x.rows, model_.hidden);
    if (!attention && model_.layers[layer].is_mixture()) {
      mlp_.mix(model_.layers[layer], weights, x, y);
      stream_.add_rows(post_norm, y);
    } else if (runner_.prepare(linear, x); post_norm.weight.empty()) {  // every worker adds its columns
      runner_.multiply(linear, y, [&](std::size_t first, std::size_t last) noexcept {
        for (std::size_t row = 0; row < x.rows; ++row) stream_.add_columns(y[row], row, first, last);
      });
    } else {
      runner_.multiply(linear, y);
      stream_.add_rows(post_norm, y);
    }
    if (model_.layers[layer].residual != Residual::post_norm) return;
    stream_.normalize_rows(attention ? weights.attention_norm : weights.mlp_norm, x.rows);
  }

  /// The last norm and the head, for the rows that need logits: logits [rows that need them, vocabulary].
  [[gnu::noinline]] void head(Rows rows, MatrixView<float> logits) noexcept {
    std::size_t wanted = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row].wants_logits) continue;
      float* normed = stream_.normed(rows.size())[wanted++];
      if (weights_.final_norm.weight.empty()) {
        std::copy_n(stream_.row(row), model_.hidden, normed);
      } else {
        stream_.normalize(weights_.final_norm, stream_.row(row), normed);
      }
    }
    if (wanted == 0) return;
    MatrixView<float> x = stream_.normed(wanted);
    if (!weights_.project_logits.parts.empty()) {
      runner_.prepare(weights_.project_logits, x);
      x = projected(wanted, model_.embedding_columns());
      runner_.multiply(weights_.project_logits, x);
    }
    observe(model_.layers.size(), LinearRole::head, rows, x);
    runner_.prepare(weights_.head, x);
    const MatrixView<float> y{logits.data, wanted, model_.vocabulary, logits.stride};
    runner_.multiply(weights_.head, y, [&](std::size_t first, std::size_t last) noexcept {
      if (model_.logit_scale == 1 && model_.logit_cap == 0) return;
      for (std::size_t row = 0; row < wanted; ++row) {
        if (model_.logit_scale != 1) scale(model_.logit_scale, last - first, y[row] + first);
        if (model_.logit_cap != 0) soft_cap(model_.logit_cap, last - first, y[row] + first);
      }
    });
  }

 private:
  /// Room for the rows of a product.
  MatrixView<float> projected(std::size_t rows, std::size_t columns) noexcept {
    return {projected_.data(), rows, columns};
  }

  void observe(std::size_t layer, LinearRole role, Rows rows, MatrixView<float> x) noexcept {
    if (observer_ != nullptr) observer_->observe(layer, role, rows, {x.data, x.rows, x.columns, x.stride});
  }

  /// Whether both branches of a layer read one norm.
  bool shares_norm(std::size_t layer) const noexcept {
    return model_.layers[layer].residual == Residual::parallel && weights_.layers[layer].mlp_norm.weight.empty();
  }

  /// Adds the row of a learned position to the residual stream.
  void add_position(Position position, std::size_t row) noexcept {
    float* x = stream_.normed(row + 1)[row];
    const std::size_t at = model_.first_position + position;
    weights_.positions->row(static_cast<Token>(std::min(at, model_.learned_positions - 1)), x);
    add(x, model_.hidden, stream_.row(row));
  }

  /// `up` of a parallel residual right after `queries_keys_values`: both branches read one norm, so one preparation
  /// serves both matrices where their kernels read the same form.
  void up_of_prepared(std::size_t layer, Rows rows) noexcept {
    const LayerWeights<Kernel>& weights = weights_.layers[layer];
    const MatrixView<float> normed = stream_.normed(rows.size());
    const auto& read = weights.query_key_value.parts.front().weights;
    const bool shared = std::all_of(weights.up.parts.begin(), weights.up.parts.end(),
                                    [&](const auto& part) { return Kernel::shares_input(read, part.weights); });
    observe(layer, LinearRole::up, rows, normed);
    if (!shared) runner_.prepare(weights.up, normed);
    activated_ = mlp_.up(weights.up, model_.layers[layer].mlp, rows.size());
  }

  /// What a branch reads [count, hidden]: the residual stream through a norm, or as it is where none stands before it.
  MatrixView<float> branch_input(std::size_t layer, const NormWeights& norm, std::size_t count) noexcept {
    const bool before = !norm.weight.empty() && model_.layers[layer].residual != Residual::post_norm;
    return before ? stream_.normalized(norm, count) : stream_.rows(count);
  }

  const Architecture& model_;
  const ModelWeights<Kernel>& weights_;
  ThreadPool& pool_;
  DecoderObserver* observer_ = nullptr;
  std::size_t max_rows_;
  ResidualStream stream_;
  SelfAttention attention_;
  AlignedBuffer<float> projected_;  // what a matrix gives before it is added
  LinearRunner<Kernel> runner_;
  Mlp<Kernel> mlp_;
  MatrixView<float> activated_;  // what `down` or the experts read
};

}  // namespace tulle
