// SPDX-License-Identifier: Apache-2.0
/// \file Queries, keys and values of a batch, and attention over the cache that keys and values go into (L3).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>
#include <tulle/model/architecture.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/parallel_attention.hpp>
#include <tulle/model/row_places.hpp>
#include <tulle/model/weights.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

/// Threads: one call at a time; `find_angles` may run for several rows at once.
class SelfAttention {
 public:
  using Rows = std::span<const Row>;

  /// Room for `max_rows` rows. `model` and `pool` must outlive the object. Errors: memory.
  SelfAttention(const Architecture& model, ThreadPool& pool, std::size_t max_rows)
      : model_(model),
        pool_(pool),
        places_(model, max_rows),
        query_key_value_(max_rows * model.qkv_rows()),
        attended_(max_rows * model.query_rows()),
        parallel_(pool, model.heads, model.kv_heads, model.head_dim) {}

  std::size_t size_bytes() const noexcept {
    return places_.size_bytes() + query_key_value_.size_bytes() + attended_.size_bytes() + parallel_.size_bytes();
  }

  /// Makes `rows` those of the next calls; the angles of each are found by `find_angles`.
  void place(Rows rows) noexcept { places_.find_blocks(rows); }
  void find_angles(std::size_t row, Position position) noexcept { places_.find_angles(row, position); }

  /// Where a layer writes its queries, keys and values: [rows, queries then keys then values].
  MatrixView<float> query_key_value(std::size_t rows) noexcept {
    return {query_key_value_.data(), rows, model_.qkv_rows()};
  }
  /// What `attend` gave: [rows, query rows].
  MatrixView<float> attended(std::size_t rows) noexcept { return {attended_.data(), rows, model_.query_rows()}; }

  /// Clips and normalizes queries and keys where the model does, rotates them, stores keys and values, then attends
  /// (`ParallelAttention`). Changes the queries and keys in place: once for every product that wrote them.
  template <class Kernel, CacheLayout Cache>
  void attend(const LayerSpec& spec, const LayerWeights<Kernel>& weights, Rows rows, Cache& cache,
              std::size_t cache_layer) noexcept {
    const auto store = [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t row = begin; row < end; ++row) {
        float* query = query_key_value_.data() + row * model_.qkv_rows();
        finish_queries_keys(spec, weights, row, query);
        const float* key = query + model_.query_rows();
        cache.append(cache_layer, rows[row].sequence, rows[row].position, key, key + model_.kv_rows());
      }
    };
    for_rows(pool_, rows.size(), store, 2);
    const std::size_t group = model_.heads / model_.kv_heads;
    parallel_.attend(cache, places_.blocks().size(), [&](std::size_t at, std::size_t kv_head) noexcept {
      const RowBlock& block = places_.blocks()[at];
      const std::size_t offset = kv_head * group * model_.head_dim;
      return AttentionRows{.layer = cache_layer,
                           .sequence = rows[block.first].sequence,
                           .window = spec.window,
                           .first = rows[block.first].position,
                           .rows = block.count,
                           .kv_head = kv_head,
                           .group = group,
                           .query = query_key_value_.data() + block.first * model_.qkv_rows() + offset,
                           .query_stride = model_.qkv_rows(),
                           .out = attended_.data() + block.first * model_.query_rows() + offset,
                           .out_stride = model_.query_rows(),
                           .score_cap = model_.score_cap,
                           .slopes = of_group(model_.alibi_slopes, kv_head),
                           .sinks = of_group(weights.sinks, kv_head)};
    });
  }

 private:
  /// Queries and keys of a row: clipped, normalized, rotated, scaled, in place.
  template <class Kernel>
  void finish_queries_keys(const LayerSpec& spec, const LayerWeights<Kernel>& weights, std::size_t row,
                           float* query) const noexcept {
    const Rotary& rotary = model_.rotary_tables[spec.rotary];
    if (model_.qkv_clip != 0) clip(model_.qkv_clip, model_.qkv_rows(), query);
    if (spec.query_key_norm != QueryKeyNorm::none) {
      normalize_parts(weights.query_norm, query, model_.query_rows());
      normalize_parts(weights.key_norm, query + model_.query_rows(), model_.kv_rows());
    }
    for (std::size_t head = 0; head < model_.heads + model_.kv_heads; ++head) {
      rotate(query + head * model_.head_dim, places_.cosines(row, spec.rotary), places_.sines(row, spec.rotary),
             rotary.inverse_frequencies.size(), rotary.pairing);
    }
    if (model_.query_scale != 1) scale(model_.query_scale, model_.query_rows(), query);
  }

  /// Every part of x that is as long as the norm's weights.
  void normalize_parts(const NormWeights& norm, float* x, std::size_t size) const noexcept {
    const std::size_t part = norm.weight.size();
    for (std::size_t at = 0; at < size; at += part) {
      rms_norm(x + at, norm.weight.data(), part, model_.norm_epsilon, x + at);
    }
  }

  /// The part of a value for each head that belongs to the heads which share a key-value head; null where there is none.
  const float* of_group(const std::vector<float>& heads, std::size_t kv_head) const noexcept {
    return heads.empty() ? nullptr : heads.data() + kv_head * (model_.heads / model_.kv_heads);
  }

  const Architecture& model_;
  ThreadPool& pool_;
  RowPlaces places_;  // of the rows that are being run
  AlignedBuffer<float> query_key_value_, attended_;
  ParallelAttention parallel_;
};

}  // namespace tulle
