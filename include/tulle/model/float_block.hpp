// SPDX-License-Identifier: Apache-2.0
/// \file Blocks of queries by pieces of keys and values as floats (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <tulle/core/checked.hpp>
#include <tulle/model/attention_block.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/query_block.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle::detail {

/// Products with keys and values as floats.
class FloatBlock final : public QueryBlock {
 public:
  /// Whether several rows share a block; a single row always fits.
  static constexpr bool fits(std::size_t queries, std::size_t head_dim) noexcept {
    return queries <= attention_block && round_up(queries, queries_at_once) * head_dim <= max_elements;
  }

  /// Requires `fits`, or one row of at most `attention_block` queries; head_dim <= max_head_dim.
  FloatBlock(const AttentionRows& of, std::size_t head_dim) noexcept : QueryBlock(of, head_dim) {
    with_instruction_set<isa::Active>([&](auto tag) {
      constexpr std::size_t lanes = score_lanes<decltype(tag)>;
      if constexpr (lanes != 0) {
        is_grouped_ = head_dim % lanes == 0;
        is_product_ = is_grouped_ && queries_ >= min_product && fits(queries_, head_dim);
        if (is_product_) {
          order_queries(lanes);
        } else {
          const std::size_t groups = (queries_ + queries_at_once - 1) / queries_at_once;
          group_ = (queries_ + groups - 1) / groups;  // 3 and 3, not 4 and 2
        }
      }
    });
  }

  template <class Element>
  void visit(const AttentionPiece<Element>& piece) noexcept {
    see(piece);
    // First the keys for all queries, then the values: so only one of them at a time has to stay in L1.
    with_instruction_set<isa::Active>([&](auto tag) {
      if constexpr (score_lanes<decltype(tag)> != 0) {
        if (is_product_) {
          keys_to_columns(tag, piece.keys, piece.count, head_dim_, floats_.data());
          for (std::size_t i = 0; i < queries_; i += queries_at_once) {
            score_block(tag, ordered_.data() + i * head_dim_, floats_.data(), piece.count, head_dim_,
                        weights_[i].data());
          }
          fold_all(tag, piece);
          add_together(tag, as_floats(tag, piece.values, piece.count, piece.next), {0, piece.count});
          return;
        }
      }
      if constexpr (decltype(tag)::runs_avx2) {
        if (is_grouped_) {
          with_prefetch(piece.count, head_dim_, NextRows<Element>{piece.values, piece.count},
                        [&](std::size_t first, std::size_t rows) {
                          score_together(piece.keys + first * head_dim_, {first, first + rows});
                        });
          fold_all(tag, piece);
          with_prefetch(piece.count, head_dim_, piece.next, [&](std::size_t first, std::size_t rows) {
            add_together(tag, piece.values, {first, first + rows});
          });
          return;
        }
      }
      const float* keys = as_floats(tag, piece.keys, piece.count, NextRows<Element>{piece.values, piece.count});
      for (std::size_t i = 0; i < queries_; ++i) {
        if (seen_[i].begin < seen_[i].end)
          attentions_[i].score(keys + seen_[i].begin * head_dim_, seen_[i].end - seen_[i].begin,
                               weights_[i].data() + seen_[i].begin);
      }
      fold_all(tag, piece);
      const float* values = as_floats(tag, piece.values, piece.count, piece.next);
      for (std::size_t i = 0; i < queries_; ++i) add(i, values, seen_[i]);
    });
  }

 private:
  static constexpr std::size_t max_elements = attention_block * 128;
  /// Fewer queries than this gain nothing from keys in columns.
  static constexpr std::size_t min_product = 7;

  /// The queries [head_dim][queries_at_once], for every group of so many, in the order of the additions.
  void order_queries(std::size_t lanes) noexcept {
    std::fill_n(ordered_.data(), round_up(queries_, queries_at_once) * head_dim_, 0.0f);
    for (std::size_t i = 0; i < queries_; ++i) {
      const float* query = attentions_[i].query();
      float* to = ordered_.data() + i / queries_at_once * queries_at_once * head_dim_ + i % queries_at_once;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        for (std::size_t d = lane; d < head_dim_; d += lanes, to += queries_at_once) *to = query[d];
      }
    }
  }

  /// Rows of a piece as floats, for queries that read them many times. Meanwhile those that follow come into the cache.
  template <class Isa>
  const float* as_floats(Isa, const float* rows, std::size_t, NextRows<float>) noexcept {
    return rows;
  }
  template <class Isa, class Element>
  const float* as_floats(Isa tag, const Element* rows, std::size_t count, NextRows<Element> next) noexcept {
    with_prefetch(count, head_dim_, next, [&](std::size_t first, std::size_t part) {
      to_floats(tag, rows + first * head_dim_, part * head_dim_, floats_.data() + first * head_dim_);
    });
    return floats_.data();
  }

  /// Scores of all queries by the rows `part` of a piece, also by those that a query does not attend to.
  template <class Element>
  void score_together(const Element* keys, RowRange part) noexcept {
    const float* queries[queries_at_once];
    for (std::size_t i = 0; i < queries_; i += group_) {
      const std::size_t count = std::min(group_, queries_ - i);
      for (std::size_t q = 0; q < count; ++q) queries[q] = attentions_[i + q].query();
      score_few(queries, count, keys, part.count(), head_dim_, weights_[i].data() + part.begin);
    }
  }

  template <class Isa, class Element>
  void fold_all(Isa tag, const AttentionPiece<Element>& piece) noexcept {
    for_each_group([&](std::size_t i, std::size_t count) noexcept {
      fold(tag, piece, piece.value_scales, i, count, &weights_[i]);
    });
  }

  /// Adds the values that a query attends to.
  template <class Element>
  void add(std::size_t i, const Element* values, RowRange range) noexcept {
    if (range.begin >= range.end) return;
    attentions_[i].add(weights_[i].data() + range.begin, values + range.begin * head_dim_, range.end - range.begin);
  }

  /// The same for all queries: a group at once where all of it attend, one by one before and after, in order.
  template <class Isa, class Element>
  void add_together(Isa tag, const Element* values, RowRange part) noexcept {
    for (std::size_t i = 0; i < queries_; i += group_) {
      const std::size_t count = std::min(group_, queries_ - i);
      RowRange common = part;
      for (std::size_t q = i; q < i + count; ++q) {
        common.begin = std::max(common.begin, seen_[q].begin);
        common.end = std::min(common.end, seen_[q].end);
      }
      if (common.begin >= common.end) common = {part.end, part.end};
      for (std::size_t q = i; q < i + count; ++q) {
        add(q, values, {std::max(part.begin, seen_[q].begin), std::min(common.begin, seen_[q].end)});
      }
      if (common.begin == part.end) continue;
      add_group(tag, i, count, values + common.begin * head_dim_, common);
      for (std::size_t q = i; q < i + count; ++q) add(q, values, {common.end, std::min(part.end, seen_[q].end)});
    }
  }

  /// `values`: the first of the rows `range`, to which `count` queries from `first` on attend.
  template <class Isa, class Element>
  void add_group(Isa tag, std::size_t first, std::size_t count, const Element* values, RowRange range) noexcept {
    float* out[queries_at_once];
    for (std::size_t q = 0; q < count; ++q) out[q] = attentions_[first + q].out();
    const float* weights = weights_[first].data() + range.begin;
    if constexpr (Isa::runs_avx2) {
      if (count < queries_at_once || !std::is_same_v<Element, float>) {
        add_few(weights, count, values, range.count(), head_dim_, out);
        return;
      }
    }
    if constexpr (std::is_same_v<Element, float>) {
      if (count == queries_at_once) {
        add_block(tag, weights, values, range.count(), head_dim_, out);
        return;
      }
    }
    for (std::size_t q = 0; q < count; ++q)
      attentions_[first + q].add(weights + q * weights_stride, values, range.count());
  }

  std::size_t group_ = queries_at_once;           // queries that share what is loaded
  bool is_grouped_ = false, is_product_ = false;  // whether they do; whether by keys in columns
  std::array<PieceWeights, attention_block> weights_;
  alignas(64) std::array<float, max_elements> ordered_;
  alignas(64) std::array<float, attention_tile * max_head_dim> floats_;
};

}  // namespace tulle::detail
