// SPDX-License-Identifier: Apache-2.0
/// \file The one forward path: rows of tokens in, rows of logits out (L3).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/attention.hpp>
#include <tulle/model/decoder_observer.hpp>
#include <tulle/model/linear_runner.hpp>
#include <tulle/model/mlp.hpp>
#include <tulle/model/row_places.hpp>
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
        places_(architecture, max_rows),
        hidden_(max_rows * model_.hidden),
        normed_(max_rows * std::max(model_.hidden, model_.embedding_columns())),
        query_key_value_(max_rows * model_.qkv_rows()),
        attended_(max_rows * model_.query_rows()),
        projected_(max_rows * std::max(model_.hidden, model_.embedding_columns())),
        runner_(pool, max_rows,
                std::max({model_.hidden, model_.embedding_columns(), model_.max_intermediate(), model_.query_rows()})),
        mlp_(model_, runner_, max_rows) {}

  const Architecture& architecture() const noexcept { return model_; }
  std::size_t max_rows() const noexcept { return max_rows_; }

  /// Bytes of the buffers between the layers and of the prepared activations.
  std::size_t workspace_bytes() const noexcept {
    return sizeof(float) *
               (hidden_.size() + normed_.size() + query_key_value_.size() + attended_.size() + projected_.size()) +
           places_.size_bytes() + runner_.size_bytes() + mlp_.size_bytes();
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
    places_.find_blocks(rows);
    const bool projects = !weights_.project_embedding.parts.empty();
    const std::size_t columns = model_.embedding_columns();
    runner_.for_rows(rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        float* x = (projects ? normed_ : hidden_).data() + row * columns;
        weights_.embed(rows[row].token, x);
        if (model_.embedding_scale != 1) scale(model_.embedding_scale, columns, x);
        places_.find_angles(row, rows[row].position);
      }
    });
    if (projects) {
      runner_.prepare(weights_.project_embedding, view(normed_, rows.size(), columns));
      runner_.multiply(weights_.project_embedding, residual(rows.size()));
    }
    if (!weights_.positions && weights_.embedding_norm.weight.empty()) return;
    runner_.for_rows(rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        if (weights_.positions) add_position(rows[row].position, row);
        if (!weights_.embedding_norm.weight.empty()) {
          normalize(weights_.embedding_norm, hidden_row(row), hidden_row(row));
        }
      }
    });
  }

  /// Makes `rows` those of the next steps, where the residual stream is filled by the caller in place of `embed`.
  [[gnu::noinline]] void place(Rows rows) noexcept {
    places_.find_blocks(rows);
    for (std::size_t row = 0; row < rows.size(); ++row) places_.find_angles(row, rows[row].position);
  }

  /// The residual stream [rows, hidden] between two steps.
  MatrixView<float> residual(std::size_t rows) noexcept { return view(hidden_, rows, model_.hidden); }

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
    runner_.multiply(linear, view(query_key_value_, rows.size(), model_.qkv_rows()));
  }

  /// Clips and normalizes queries and keys where the model does, rotates them, stores keys and values, then attends:
  /// every key-value head of a block of rows is a task. Changes the queries and keys in place: once for every
  /// `queries_keys_values`.
  void attend(std::size_t layer, Rows rows, Cache& cache, std::size_t cache_layer) noexcept {
    const std::size_t head_dim = model_.head_dim, table = model_.layers[layer].rotary;
    const Rotary& rotary = model_.rotary_tables[table];
    runner_.for_rows(rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        float* query = query_key_value_.data() + row * model_.qkv_rows();
        if (model_.qkv_clip != 0) clip(model_.qkv_clip, model_.qkv_rows(), query);
        normalize_queries_keys(layer, query);
        for (std::size_t head = 0; head < model_.heads + model_.kv_heads; ++head) {
          rotate(query + head * head_dim, places_.cosines(row, table), places_.sines(row, table),
                 rotary.inverse_frequencies.size(), rotary.pairing);
        }
        if (model_.query_scale != 1) scale(model_.query_scale, model_.query_rows(), query);
        const float* key = query + model_.query_rows();
        cache.append(cache_layer, rows[row].sequence, rows[row].position, key, key + model_.kv_rows());
      }
    });
    const std::size_t group = model_.heads / model_.kv_heads, tasks = places_.blocks().size() * model_.kv_heads;
    pool_.run([&](std::size_t worker) noexcept {
      // Tasks of later rows are longer: dealing them out round-robin keeps the workers equal.
      for (std::size_t task = worker; task < tasks; task += pool_.size()) {
        const RowBlock& block = places_.blocks()[task / model_.kv_heads];
        const std::size_t kv_head = task % model_.kv_heads, at = kv_head * group * head_dim;
        attend_rows(cache, {.layer = cache_layer,
                            .sequence = rows[block.first].sequence,
                            .window = model_.layers[layer].window,
                            .first = rows[block.first].position,
                            .rows = block.count,
                            .kv_head = kv_head,
                            .group = group,
                            .query = query_key_value_.data() + block.first * model_.qkv_rows() + at,
                            .query_stride = model_.qkv_rows(),
                            .out = attended_.data() + block.first * model_.query_rows() + at,
                            .out_stride = model_.query_rows(),
                            .score_cap = model_.score_cap,
                            .slopes = of_group(model_.alibi_slopes, kv_head),
                            .sinks = of_group(weights_.layers[layer].sinks, kv_head)});
      }
    });
  }

  /// The residual stream += the output matrix times what attention gave.
  void output(std::size_t layer, Rows rows) noexcept {
    const MatrixView<float> x = view(attended_, rows.size(), model_.query_rows());
    observe(layer, LinearRole::output, rows, x);
    add_branch(layer, LinearRole::output, x);
  }

  /// The norm before the MLP (a parallel residual may share that of `queries_keys_values`), the product with gate and
  /// up, and the activation; of a mixture of experts the norm alone.
  void up(std::size_t layer, Rows rows) noexcept {
    const MatrixView<float> x = shares_norm(layer) ? view(normed_, rows.size(), model_.hidden)
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
    const MatrixView<float> y = view(projected_, x.rows, model_.hidden);
    if (!attention && model_.layers[layer].is_mixture()) {
      mlp_.mix(model_.layers[layer], weights, x, y);
      add_rows(post_norm, y);
    } else if (runner_.prepare(linear, x); post_norm.weight.empty()) {  // every worker adds its columns
      runner_.multiply(linear, y, [&](std::size_t first, std::size_t last) noexcept {
        for (std::size_t row = 0; row < x.rows; ++row) add_columns(y[row], row, first, last);
      });
    } else {
      runner_.multiply(linear, y);
      add_rows(post_norm, y);
    }
    if (model_.layers[layer].residual != Residual::post_norm) return;
    normalize_stream(attention ? weights.attention_norm : weights.mlp_norm, x.rows);
  }

  /// The last norm and the head, for the rows that need logits: logits [rows that need them, vocabulary].
  [[gnu::noinline]] void head(Rows rows, MatrixView<float> logits) noexcept {
    std::size_t wanted = 0;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      if (!rows[row].wants_logits) continue;
      float* normed = normed_.data() + wanted++ * model_.hidden;
      if (weights_.final_norm.weight.empty()) {
        std::copy_n(hidden_row(row), model_.hidden, normed);
      } else {
        normalize(weights_.final_norm, hidden_row(row), normed);
      }
    }
    if (wanted == 0) return;
    MatrixView<float> x = view(normed_, wanted, model_.hidden);
    if (!weights_.project_logits.parts.empty()) {
      runner_.prepare(weights_.project_logits, x);
      x = view(projected_, wanted, model_.embedding_columns());
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
  static MatrixView<float> view(AlignedBuffer<float>& buffer, std::size_t rows, std::size_t columns) noexcept {
    return {buffer.data(), rows, columns};
  }
  float* hidden_row(std::size_t row) noexcept { return hidden_.data() + row * model_.hidden; }

  /// The part of a value for each head that belongs to the heads which share a key-value head; null where there is none.
  const float* of_group(const std::vector<float>& heads, std::size_t kv_head) const noexcept {
    return heads.empty() ? nullptr : heads.data() + kv_head * (model_.heads / model_.kv_heads);
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
    float* x = normed_.data() + row * model_.hidden;
    const std::size_t at = model_.first_position + position;
    weights_.positions->row(static_cast<Token>(std::min(at, model_.learned_positions - 1)), x);
    add(x, model_.hidden, hidden_row(row));
  }

  void normalize(const NormWeights& norm, const float* x, float* y) const noexcept {
    if (model_.norm == NormKind::rms) {
      rms_norm(x, norm.weight.data(), model_.hidden, model_.norm_epsilon, y);
    } else {
      layer_norm(x, norm.weight.data(), norm.bias.data(), model_.hidden, model_.norm_epsilon, y);
    }
  }

  /// The norms of a row's queries and keys, in place.
  void normalize_queries_keys(std::size_t layer, float* query) const noexcept {
    if (model_.layers[layer].query_key_norm == QueryKeyNorm::none) return;
    const LayerWeights<Kernel>& weights = weights_.layers[layer];
    const auto normalize_parts = [&](const NormWeights& norm, float* x, std::size_t size) {
      const std::size_t part = norm.weight.size();
      for (std::size_t at = 0; at < size; at += part) {
        rms_norm(x + at, norm.weight.data(), part, model_.norm_epsilon, x + at);
      }
    };
    normalize_parts(weights.query_norm, query, model_.query_rows());
    normalize_parts(weights.key_norm, query + model_.query_rows(), model_.kv_rows());
  }

  /// A row of the residual stream += y * residual_scale, in some of its columns.
  void add_columns(float* y, std::size_t row, std::size_t first, std::size_t last) noexcept {
    if (model_.residual_scale != 1) scale(model_.residual_scale, last - first, y + first);
    add(y + first, last - first, hidden_row(row) + first);
  }

  /// The residual stream += norm(y) * residual_scale, where there is a norm.
  void add_rows(const NormWeights& norm, MatrixView<float> y) noexcept {
    runner_.for_rows(y.rows, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        if (!norm.weight.empty()) normalize(norm, y[row], y[row]);
        add_columns(y[row], row, 0, model_.hidden);
      }
    });
  }

  /// The residual stream itself, normalized.
  void normalize_stream(const NormWeights& norm, std::size_t count) noexcept {
    runner_.for_rows(count, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) normalize(norm, hidden_row(row), hidden_row(row));
    });
  }

  /// `up` of a parallel residual right after `queries_keys_values`: both branches read one norm, so one preparation
  /// serves both matrices where their kernels read the same form.
  void up_of_prepared(std::size_t layer, Rows rows) noexcept {
    const LayerWeights<Kernel>& weights = weights_.layers[layer];
    const MatrixView<float> normed = view(normed_, rows.size(), model_.hidden);
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
    if (!before) return view(hidden_, count, model_.hidden);
    runner_.for_rows(count, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        normalize(norm, hidden_row(row), normed_.data() + row * model_.hidden);
      }
    });
    return view(normed_, count, model_.hidden);
  }

  const Architecture& model_;
  const ModelWeights<Kernel>& weights_;
  ThreadPool& pool_;
  DecoderObserver* observer_ = nullptr;
  std::size_t max_rows_;
  RowPlaces places_;  // of the rows that are being run
  AlignedBuffer<float> hidden_, normed_, query_key_value_, attended_, projected_;
  LinearRunner<Kernel> runner_;
  Mlp<Kernel> mlp_;
  MatrixView<float> activated_;  // what `down` or the experts read
};

}  // namespace tulle
