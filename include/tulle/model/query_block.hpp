// SPDX-License-Identifier: Apache-2.0
/// \file Queries that visit the pieces of a cache together, so that what is read serves all of them (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/checked.hpp>
#include <tulle/core/types.hpp>
#include <tulle/model/attention_block.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/online_attention.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// The maximum number of queries of one key-value head that share a visit of its rows.
inline constexpr std::size_t attention_block = 64;

namespace detail {

/// The queries of an `AttentionRows`, with the bits of one query after the other. 115 KiB: it lives on the stack.
class QueryBlock {
 public:
  static constexpr std::size_t max_head_dim = 256;

  /// Whether several rows share a block; a single row always fits.
  static constexpr bool fits(std::size_t queries, std::size_t head_dim) noexcept {
    return queries <= attention_block && round_up(queries, queries_at_once) * head_dim <= max_elements;
  }

  /// Requires `fits`, or one row of at most `attention_block` queries; head_dim <= max_head_dim.
  QueryBlock(const AttentionRows& of, std::size_t head_dim) noexcept
      : window_(of.window), head_dim_(head_dim), queries_(of.rows * of.group), scratch_(of.scratch) {
    for (std::size_t row = 0, i = 0; row < of.rows; ++row) {
      for (std::size_t head = 0; head < of.group; ++head, ++i) {
        attentions_[i] = of.start(row, head, head_dim);
        positions_[i] = of.first + static_cast<Position>(row);
      }
    }
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
    for (std::size_t i = 0; i < queries_; ++i) {
      if (piece.begins_segment) attentions_[i].begin_segment(scratch_ + i * head_dim_);
      const Position position = positions_[i];
      const Position begin = std::max(window_.begin(position), piece.window.begin(position));
      seen_[i].begin = begin <= piece.begin ? 0 : std::min<std::size_t>(piece.count, begin - piece.begin);
      seen_[i].end = position < piece.begin ? 0 : std::min<std::size_t>(piece.count, position + 1 - piece.begin);
    }
    // First the keys for all queries, then the values: so only one of them at a time has to stay in L1.
    with_instruction_set<isa::Active>([&](auto tag) {
      if constexpr (score_lanes<decltype(tag)> != 0) {
        if (is_product_) {
          keys_to_columns(tag, piece.keys, piece.count, head_dim_, floats_.data());
          for (std::size_t i = 0; i < queries_; i += queries_at_once) {
            score_block(tag, ordered_.data() + i * head_dim_, floats_.data(), piece.count, head_dim_,
                        weights_[i].data());
          }
          fold(piece);
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
          fold(piece);
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
      fold(piece);
      const float* values = as_floats(tag, piece.values, piece.count, piece.next);
      for (std::size_t i = 0; i < queries_; ++i) add(i, values, seen_[i]);
    });
  }

  /// `of`: as in the constructor.
  void finish(const AttentionRows& of) noexcept {
    for (std::size_t i = 0; i < queries_; ++i) of.finish(i / of.group, i % of.group, attentions_[i]);
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

  /// Makes weights of the scores of a piece: in groups where all of a group attend to a whole tile.
  template <class Element>
  void fold(const AttentionPiece<Element>& piece) noexcept {
    for (std::size_t i = 0; i < queries_; i += queries_at_once) {
      const std::size_t end = std::min(i + queries_at_once, queries_);
      float maximums[queries_at_once], sums[queries_at_once];
      bool whole = end - i == queries_at_once;
      for (std::size_t q = i; q < end; ++q) {
        const auto [first, last] = seen_[q];
        whole = whole && last - first == attention_tile;
        if (first >= last) continue;
        maximums[q - i] = attentions_[q].raise_maximum(
            piece.key_scales == nullptr ? nullptr : piece.key_scales + first, last - first,
            positions_[q] - piece.begin - static_cast<Position>(first), weights_[q].data() + first);
      }
      with_instruction_set<isa::Active>([&](auto tag) {
        if (whole) exponentials_block(tag, weights_[i].data(), maximums, sums);
        for (std::size_t q = i; q < end; ++q) {
          const auto [first, last] = seen_[q];
          if (first >= last) continue;
          float* weights = weights_[q].data() + first;
          if (!whole) sums[q - i] = exponentials(tag, weights, last - first, maximums[q - i]);
          attentions_[q].take_sum(sums[q - i], piece.value_scales == nullptr ? nullptr : piece.value_scales + first,
                                  last - first, weights);
        }
      });
    }
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

  Window window_;
  std::size_t head_dim_, queries_;
  float* scratch_;
  std::size_t group_ = queries_at_once;           ///< queries that share what is loaded
  bool is_grouped_ = false, is_product_ = false;  ///< whether they do; whether by keys in columns
  std::array<OnlineAttention, attention_block> attentions_;
  std::array<Position, attention_block> positions_;
  std::array<RowRange, attention_block> seen_;  ///< rows of a piece that each query attends to
  std::array<PieceWeights, attention_block> weights_;
  alignas(64) std::array<float, max_elements> ordered_;
  alignas(64) std::array<float, attention_tile * max_head_dim> floats_;
};

}  // namespace detail

}  // namespace tulle
