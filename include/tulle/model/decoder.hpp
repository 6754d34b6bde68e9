// SPDX-License-Identifier: Apache-2.0
/// \file The one forward path: rows of tokens in, rows of logits out (L3).
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/attention.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// Runs a model over a ragged batch: a prefill chunk, a decode step, a verification, or a mixture of them, are all rows.
///
/// The logits of a row depend on its sequence's tokens alone: not on the other rows, the chunks they came in, or the number
/// of threads. (Integer products are exact, float kernels keep one order of addition, everything else works on one row.)
///
/// Threads: one `forward` at a time. The model's description and weights are only read and may be shared.
template <LinearKernel Kernel, CacheLayout Cache>
class Decoder {
 public:
  /// Room for `max_rows` rows a call. `architecture`, `weights` and `pool` must outlive the decoder. Errors: memory.
  Decoder(const Architecture& architecture, const ModelWeights<Kernel>& weights, ThreadPool& pool, std::size_t max_rows)
      : model_(architecture),
        weights_(weights),
        pool_(pool),
        max_rows_(max_rows),
        widest_(std::max({model_.hidden, model_.intermediate, model_.query_rows()})),
        hidden_(max_rows * model_.hidden),
        normed_(max_rows * model_.hidden),
        query_key_value_(max_rows * model_.qkv_rows()),
        attended_(max_rows * model_.query_rows()),
        up_(max_rows * model_.up_rows()),
        projected_(max_rows * model_.hidden),
        cosines_(max_rows * model_.rotary.inverse_frequencies.size()),
        sines_(cosines_.size()),
        input_(max_rows, widest_),
        second_input_(model_.parallel_residual ? max_rows : 1, model_.parallel_residual ? widest_ : 1) {
    blocks_.reserve(max_rows);
  }

  const Architecture& architecture() const noexcept { return model_; }
  std::size_t max_rows() const noexcept { return max_rows_; }

  /// Bytes of the buffers between the layers.
  std::size_t workspace_bytes() const noexcept {
    return sizeof(float) * (hidden_.size() + normed_.size() + query_key_value_.size() + attended_.size() + up_.size() +
                            projected_.size() + 2 * cosines_.size());
  }

  /// Runs `rows` (at most `max_rows`) through the model and writes logits [rows that want them, vocabulary], in order.
  /// Requires: tokens inside the vocabulary; per sequence the rows are in order of position and continue what `cache`
  /// holds; `cache.extend` was called for them. Returns false when `cancel` was set meanwhile: the cache then holds rows
  /// that must be truncated, and the logits are not written.
  /// Never inlined, so that a program may compile it once (`extern template class Decoder<...>`).
  [[gnu::noinline]] bool forward(std::span<const Row> rows, Cache& cache, MatrixView<float> logits,
                                 const std::atomic<bool>* cancel = nullptr) noexcept {
    assert(rows.size() <= max_rows_);
    const std::size_t count = rows.size();
    find_blocks(rows);
    embed(rows);
    for (std::size_t layer = 0; layer < model_.layers; ++layer) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return false;
      run_layer(layer, rows, cache);
    }
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return false;
    // Only the rows whose logits are wanted go through the head.
    std::size_t wanted = 0;
    for (std::size_t row = 0; row < count; ++row) {
      if (rows[row].wants_logits)
        normalize(weights_.final_norm, hidden_row(row), normed_.data() + wanted++ * model_.hidden);
    }
    if (wanted == 0) return true;
    prepare(weights_.head, view(normed_, wanted, model_.hidden), input_);
    multiply(weights_.head, input_, {logits.data, wanted, model_.vocabulary, logits.stride});
    return true;
  }

 private:
  using Input = typename Kernel::Input;

  static MatrixView<float> view(AlignedBuffer<float>& buffer, std::size_t rows, std::size_t columns) noexcept {
    return {buffer.data(), rows, columns};
  }
  float* hidden_row(std::size_t row) noexcept { return hidden_.data() + row * model_.hidden; }

  /// Calls `work(begin, end)` for parts of `count` rows: on this thread for one tile of rows, on all of them for more.
  template <class Work>
  void for_rows(std::size_t count, Work&& work) noexcept {
    if (count <= 8) {
      work(std::size_t{0}, count);
      return;
    }
    pool_.run([&](std::size_t worker) noexcept {
      const Share share = share_of(count, 8, worker, pool_.size());
      if (share.begin < share.end) work(share.begin, share.end);
    });
  }

  void embed(std::span<const Row> rows) noexcept {
    const auto& frequencies = model_.rotary.inverse_frequencies;
    for_rows(rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        weights_.embedding.row(rows[row].token, weights_.head, hidden_row(row));
        for (std::size_t j = 0; j < frequencies.size(); ++j) {
          const auto angle = static_cast<double>(static_cast<float>(rows[row].position) * frequencies[j]);
          cosines_[row * frequencies.size() + j] = static_cast<float>(std::cos(angle));
          sines_[row * frequencies.size() + j] = static_cast<float>(std::sin(angle));
        }
      }
    });
  }

  void normalize(const NormWeights& norm, const float* x, float* y) const noexcept {
    if (model_.norm == NormKind::rms) {
      rms_norm(x, norm.weight.data(), model_.hidden, model_.norm_epsilon, y);
    } else {
      layer_norm(x, norm.weight.data(), norm.bias.data(), model_.hidden, model_.norm_epsilon, y);
    }
  }

  /// Makes the activations x ready for a linear layer: in every form that one of its parts reads.
  void prepare(const Linear<Kernel>& linear, MatrixView<float> x, Input& input) noexcept {
    const auto& first = linear.parts.front().weights;
    for (const auto& part : linear.parts) {
      if (&part.weights != &first && Kernel::shares_input(first, part.weights)) continue;
      Kernel::start(part.weights, x.rows, input);
      for_rows(x.rows, [&](std::size_t begin, std::size_t end) noexcept {
        Kernel::prepare(part.weights, x, input, {begin, end});
      });
    }
  }

  /// y = x W^T + bias; every worker computes a share of the output rows. `then(begin, end)` runs on that share.
  template <class Then>
  void multiply(const Linear<Kernel>& linear, const Input& input, MatrixView<float> y, Then&& then) noexcept {
    pool_.run([&](std::size_t worker) noexcept {
      for (const auto& part : linear.parts) {
        const RowRange share = row_share(part.weights, y.rows, worker, pool_.size());
        if (share.begin == share.end) continue;
        const std::size_t first = part.first_row + share.begin, last = part.first_row + share.end;
        Kernel::multiply(part.weights, input, {y.data + part.first_row, y.rows, y.columns, y.stride}, share);
        if (!linear.bias.empty()) {
          for (std::size_t row = 0; row < y.rows; ++row) add(linear.bias.data() + first, last - first, y[row] + first);
        }
        then(first, last);
      }
    });
  }
  void multiply(const Linear<Kernel>& linear, const Input& input, MatrixView<float> y) noexcept {
    multiply(linear, input, y, [](std::size_t, std::size_t) noexcept {});
  }

  /// The residual stream += x W^T + bias.
  void multiply_residual(const Linear<Kernel>& linear, const Input& input, std::size_t count) noexcept {
    const MatrixView<float> y = view(projected_, count, model_.hidden);
    multiply(linear, input, y, [&](std::size_t first, std::size_t last) noexcept {
      for (std::size_t row = 0; row < count; ++row) add(y[row] + first, last - first, hidden_row(row) + first);
    });
  }

  /// The input of `down`, in the first `intermediate` columns of `up_`: the product, and the MLP's activation in place.
  void multiply_up(const Linear<Kernel>& linear, const Input& input, std::size_t count) noexcept {
    const MatrixView<float> y = view(up_, count, model_.up_rows());
    if (model_.mlp == MlpKind::gelu) {
      multiply(linear, input, y, [&](std::size_t first, std::size_t last) noexcept {
        for (std::size_t row = 0; row < count; ++row) gelu_new(y[row] + first, last - first);
      });
      return;
    }
    multiply(linear, input, y);  // the gate and what it multiplies are of different shares
    for_rows(count, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        silu_times(y[row], y[row] + model_.intermediate, model_.intermediate, y[row]);
      }
    });
  }

  void run_layer(std::size_t index, std::span<const Row> rows, Cache& cache) noexcept {
    const LayerWeights<Kernel>& layer = weights_.layers[index];
    const std::size_t count = rows.size();
    const MatrixView<float> normed = view(normed_, count, model_.hidden);
    normalize_rows(layer.attention_norm, count);
    prepare(layer.query_key_value, normed, input_);
    multiply(layer.query_key_value, input_, view(query_key_value_, count, model_.qkv_rows()));
    if (model_.parallel_residual) {
      // Both branches read one norm: one input serves both matrices where their kernels agree.
      const auto& read = layer.query_key_value.parts.front().weights;
      const bool shared = std::all_of(layer.up.parts.begin(), layer.up.parts.end(),
                                      [&](const auto& part) { return Kernel::shares_input(read, part.weights); });
      if (!shared) prepare(layer.up, normed, second_input_);
      multiply_up(layer.up, shared ? input_ : second_input_, count);
    }
    attention(index, rows, cache);
    prepare(layer.output, view(attended_, count, model_.query_rows()), input_);
    multiply_residual(layer.output, input_, count);
    if (!model_.parallel_residual) {
      normalize_rows(layer.mlp_norm, count);
      prepare(layer.up, normed, input_);
      multiply_up(layer.up, input_, count);
    }
    prepare(layer.down, {up_.data(), count, model_.intermediate, model_.up_rows()}, input_);
    multiply_residual(layer.down, input_, count);
  }

  void normalize_rows(const NormWeights& norm, std::size_t count) noexcept {
    for_rows(count, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row)
        normalize(norm, hidden_row(row), normed_.data() + row * model_.hidden);
    });
  }

  /// Rotates queries and keys, stores keys and values, then attends: every key-value head of a block of rows is a task.
  void attention(std::size_t layer, std::span<const Row> rows, Cache& cache) noexcept {
    const std::size_t head_dim = model_.head_dim, pairs = model_.rotary.inverse_frequencies.size();
    for_rows(rows.size(), [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        float* query = query_key_value_.data() + row * model_.qkv_rows();
        const float *cosines = cosines_.data() + row * pairs, *sines = sines_.data() + row * pairs;
        for (std::size_t head = 0; head < model_.heads + model_.kv_heads; ++head) {
          rotate(query + head * head_dim, cosines, sines, pairs, model_.rotary.pairing);
        }
        const float* key = query + model_.query_rows();
        cache.append(layer, rows[row].sequence, rows[row].position, key, key + model_.kv_rows());
      }
    });
    const std::size_t group = model_.heads / model_.kv_heads, tasks = blocks_.size() * model_.kv_heads;
    pool_.run([&](std::size_t worker) noexcept {
      // Tasks of later rows are longer: dealing them out in turn keeps the workers equal.
      for (std::size_t task = worker; task < tasks; task += pool_.size()) {
        const RowBlock& block = blocks_[task / model_.kv_heads];
        const std::size_t kv_head = task % model_.kv_heads, at = kv_head * group * head_dim;
        attend_rows(cache, layer, rows[block.first].sequence, rows[block.first].position, block.count, kv_head,
                    query_key_value_.data() + block.first * model_.qkv_rows() + at, model_.qkv_rows(), group,
                    attended_.data() + block.first * model_.query_rows() + at, model_.query_rows());
      }
    });
  }

  /// Rows of one sequence that follow each other, as many as attention takes at once.
  struct RowBlock {
    std::size_t first, count;
  };

  void find_blocks(std::span<const Row> rows) noexcept {
    const std::size_t most = std::max<std::size_t>(1, attention_block / (model_.heads / model_.kv_heads));
    blocks_.clear();
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const bool follows = !blocks_.empty() && blocks_.back().count < most &&
                           rows[row - 1].sequence == rows[row].sequence &&
                           rows[row - 1].position + 1 == rows[row].position;
      if (follows) {
        ++blocks_.back().count;
      } else {
        blocks_.push_back({row, 1});
      }
    }
  }

  const Architecture& model_;
  const ModelWeights<Kernel>& weights_;
  ThreadPool& pool_;
  std::size_t max_rows_, widest_;
  AlignedBuffer<float> hidden_, normed_, query_key_value_, attended_, up_, projected_, cosines_, sines_;
  std::vector<RowBlock> blocks_;  // of the rows that are being run
  Input input_, second_input_;
};

}  // namespace tulle
