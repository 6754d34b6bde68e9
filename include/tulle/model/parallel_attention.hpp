// SPDX-License-Identifier: Apache-2.0
/// \file Attention of blocks of rows on all threads (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/model/attention.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/online_attention.hpp>

namespace tulle {

/// Shares attention among threads: every key-value head of a block of rows is a task. Where these are too few to keep
/// all threads busy, every segment of a long text is one: Dao et al., "Flash-Decoding for long-context inference", 2023,
/// with cuts that depend on positions alone. So the bits are those of one thread.
/// Threads: one call at a time.
class ParallelAttention {
 public:
  /// `pool` must outlive the object. Errors: memory.
  ParallelAttention(ThreadPool& pool, std::size_t heads, std::size_t kv_heads, std::size_t head_dim)
      : pool_(pool),
        kv_heads_(kv_heads),
        group_(heads / kv_heads),
        head_dim_(head_dim),
        scratch_(pool.size() * attention_block * head_dim, Uninitialized{}),
        values_(pool.size() == 1 ? 0 : max_segments * heads * head_dim, Uninitialized{}),
        segments_(max_segments * heads),
        sums_(kv_heads * std::max(attention_block, group_)) {}

  std::size_t size_bytes() const noexcept {
    return scratch_.size_bytes() + values_.size_bytes() + segments_.size() * sizeof(OnlineAttention::Segment) +
           sums_.size() * sizeof(OnlineAttention);
  }

  /// `rows_of(block, kv_head)`: the `AttentionRows` of a key-value head and a block, below `blocks`. Requires: one row, or
  /// at most `attention_block` queries of a key-value head in a block.
  template <CacheLayout Cache, class RowsOf>
  void attend(const Cache& cache, std::size_t blocks, RowsOf&& rows_of) noexcept {
    const std::size_t tasks = blocks * kv_heads_, threads = pool_.size();
    const bool uneven = tasks < few_tasks * threads && tasks % threads != 0;
    const auto is_cut = [&](std::size_t block) { return uneven && has_segments(rows_of(block, 0)); };
    std::size_t whole = 0;
    for (std::size_t block = 0; block < blocks; ++block) {
      if (is_cut(block)) {
        attend_segments(cache, [&](std::size_t kv_head) noexcept { return rows_of(block, kv_head); });
      } else {
        ++whole;
      }
    }
    if (whole == 0) return;
    pool_.run([&](std::size_t worker) noexcept {
      // Tasks of later rows are longer: dealing them out round-robin keeps the workers equal.
      for (std::size_t task = worker; task < tasks; task += threads) {
        if (is_cut(task / kv_heads_)) continue;
        AttentionRows of = rows_of(task / kv_heads_, task % kv_heads_);
        of.scratch = scratch_.data() + worker * attention_block * head_dim_;
        attend_rows(cache, of);
      }
    });
  }

 private:
  static constexpr std::size_t few_tasks = 4;      // for each thread: of more, one that is left over matters little
  static constexpr std::size_t max_segments = 64;  // of one row at a time

  static std::size_t first(const AttentionRows& of) noexcept { return of.window.begin(of.first) / attention_segment; }
  static std::size_t last(const AttentionRows& of) noexcept { return of.last() / attention_segment; }
  static bool has_segments(const AttentionRows& of) noexcept {
    return of.rows <= max_segments / 2 && last(of) > first(of);
  }

  /// All key-value heads of one block: as many segments as there is room for, then their sums, in order, and so on.
  template <CacheLayout Cache, class RowsOf>
  void attend_segments(const Cache& cache, RowsOf&& rows_of) noexcept {
    const AttentionRows of = rows_of(0);
    const std::size_t queries = of.rows * group_, each = kv_heads_ * queries;
    for (std::size_t i = 0; i < each; ++i) {
      const std::size_t query = i % queries;
      sums_[i] = rows_of(i / queries).start(query / group_, query % group_, head_dim_);
    }
    const std::size_t end = last(of) + 1, most = max_segments / of.rows;
    for (std::size_t begin = first(of); begin < end; begin += most) {
      const std::size_t tasks = std::min(most, end - begin) * kv_heads_;
      pool_.run([&](std::size_t worker) noexcept {
        for (std::size_t task = worker; task < tasks; task += pool_.size()) {
          AttentionRows part = rows_of(task % kv_heads_);
          part.segment = begin + task / kv_heads_;
          part.segments = segments_.data() + task * queries;
          part.out = values_.data() + task * queries * head_dim_;
          part.out_stride = group_ * head_dim_;
          attend_rows(cache, part);
        }
      });
      for (std::size_t i = 0; i < tasks * queries; ++i) sums_[i % each].take(segments_[i]);
    }
    for (std::size_t i = 0; i < each; ++i) sums_[i].finish();
  }

  ThreadPool& pool_;
  std::size_t kv_heads_, group_, head_dim_;
  AlignedBuffer<float> scratch_;                    // [threads, attention_block, head_dim]
  AlignedBuffer<float> values_;                     // [segments, kv heads, rows, group, head_dim]
  std::vector<OnlineAttention::Segment> segments_;  // [segments, kv heads, rows, group]
  std::vector<OnlineAttention> sums_;               // [kv heads, rows, group]
};

}  // namespace tulle
