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
      : window_(of.window), head_dim_(head_dim), queries_(of.rows * of.group) {
    for (std::size_t row = 0, i = 0; row < of.rows; ++row) {
      for (std::size_t head = 0; head < of.group; ++head, ++i) {
        attentions_[i] = of.start(row, head, head_dim);
        positions_[i] = of.first + static_cast<Position>(row);
      }
    }
    with_instruction_set<isa::Active>([&](auto tag) {
      constexpr std::size_t lanes = score_lanes<decltype(tag)>;
      if constexpr (lanes != 0) {
        is_product_ = queries_ >= min_product && head_dim % lanes == 0 && fits(queries_, head_dim);
        if (is_product_) order_queries(lanes);
      }
    });
  }

  template <class Element>
  void visit(const AttentionPiece<Element>& piece) noexcept {
    for (std::size_t i = 0; i < queries_; ++i) {
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
          add_products(tag, as_floats(tag, piece.values, piece.count, piece.next), piece.count);
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

  void finish() noexcept {
    for (std::size_t i = 0; i < queries_; ++i) attentions_[i].finish();
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
  void add(std::size_t i, const float* values, RowRange range) noexcept {
    if (range.begin >= range.end) return;
    attentions_[i].add(weights_[i].data() + range.begin, values + range.begin * head_dim_, range.end - range.begin);
  }

  /// The same for all queries: in groups where all of a group attend, one by one before and after, in order.
  template <class Isa>
  void add_products(Isa tag, const float* values, std::size_t count) noexcept {
    std::size_t i = 0;
    for (; i + queries_at_once <= queries_; i += queries_at_once) {
      RowRange common{0, count};
      float* out[queries_at_once];
      for (std::size_t q = 0; q < queries_at_once; ++q) {
        common.begin = std::max(common.begin, seen_[i + q].begin);
        common.end = std::min(common.end, seen_[i + q].end);
        out[q] = attentions_[i + q].out();
      }
      if (common.begin >= common.end) common = {count, count};
      for (std::size_t q = 0; q < queries_at_once; ++q) {
        add(i + q, values, {seen_[i + q].begin, std::min(common.begin, seen_[i + q].end)});
      }
      if (common.begin == count) continue;
      add_block(tag, weights_[i].data() + common.begin, values + common.begin * head_dim_, common.end - common.begin,
                head_dim_, out);
      for (std::size_t q = 0; q < queries_at_once; ++q) add(i + q, values, {common.end, seen_[i + q].end});
    }
    for (; i < queries_; ++i) add(i, values, seen_[i]);
  }

  Window window_;
  std::size_t head_dim_, queries_;
  bool is_product_ = false;  ///< whether queries are multiplied in groups
  std::array<OnlineAttention, attention_block> attentions_;
  std::array<Position, attention_block> positions_;
  std::array<RowRange, attention_block> seen_;  ///< rows of a piece that each query attends to
  std::array<PieceWeights, attention_block> weights_;
  alignas(64) std::array<float, max_elements> ordered_;
  alignas(64) std::array<float, attention_tile * max_head_dim> floats_;
};

}  // namespace detail

}  // namespace tulle
