// SPDX-License-Identifier: Apache-2.0
/// \file Queries that visit the pieces of a cache together, so that what is read serves all of them (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include <tulle/cache/cache_layout.hpp>
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

/// The queries of an `AttentionRows`, with the bits of one query after the other: what each sees of a piece, and how its
/// scores become weights. How products are made is the derived classes'. They live on the stack, 100 KiB and more.
class QueryBlock {
 public:
  static constexpr std::size_t max_head_dim = 256;

  /// Requires at most `attention_block` queries; head_dim <= max_head_dim.
  QueryBlock(const AttentionRows& of, std::size_t head_dim) noexcept
      : head_dim_(head_dim), queries_(of.rows * of.group), window_(of.window), scratch_(of.scratch) {
    for (std::size_t row = 0, i = 0; row < of.rows; ++row) {
      for (std::size_t head = 0; head < of.group; ++head, ++i) {
        attentions_[i] = of.start(row, head, head_dim);
        positions_[i] = of.first + static_cast<Position>(row);
      }
    }
  }

  /// `of`: as in the constructor.
  void finish(const AttentionRows& of) noexcept {
    for (std::size_t i = 0; i < queries_; ++i) of.finish(i / of.group, i % of.group, attentions_[i]);
  }

 protected:
  /// Finds which rows of a piece each query attends to, and begins segments.
  template <class Element>
  void see(const AttentionPiece<Element>& piece) noexcept {
    for (std::size_t i = 0; i < queries_; ++i) {
      if (piece.begins_segment) attentions_[i].begin_segment(scratch_ + i * head_dim_);
      const Position position = positions_[i];
      const Position begin = std::max(window_.begin(position), piece.window.begin(position));
      const std::size_t first = begin <= piece.begin ? 0 : begin - piece.begin;
      const std::size_t last =
          position < piece.begin ? 0 : std::min<std::size_t>(piece.count, position + 1 - piece.begin);
      seen_[i] = first < last ? RowRange{first, last} : RowRange{0, 0};
    }
  }

  /// Whether `count` queries from `i` on attend to a whole tile.
  bool see_all(std::size_t i, std::size_t count) const noexcept {
    return std::all_of(&seen_[i], &seen_[i] + count,
                       [](const RowRange& seen) { return seen.end - seen.begin == attention_tile; });
  }

  /// Makes weights of the products of a piece's keys with `count` <= queries_at_once queries from `i` on: together where
  /// all attend to a whole tile. Weights are multiplied by `factors` where these are not null.
  template <class Isa, class Element>
  void fold(Isa tag, const AttentionPiece<Element>& piece, const float* factors, std::size_t i, std::size_t count,
            PieceWeights* weights) noexcept {
    if (count == queries_at_once && see_all(i, count)) {
      fold_tile(tag, piece, i, weights);
      for (std::size_t q = 0; q < count && factors != nullptr; ++q) {
        for (std::size_t k = 0; k < attention_tile; ++k) weights[q][k] *= factors[k];
      }
      return;
    }
    const auto from = [](const float* scales, std::size_t row) { return scales == nullptr ? nullptr : scales + row; };
    for (std::size_t q = 0; q < count; ++q) {
      const auto [first, last] = seen_[i + q];
      if (last == 0) continue;
      attentions_[i + q].fold(from(piece.key_scales, first), from(factors, first), last - first,
                              positions_[i + q] - piece.begin - static_cast<Position>(first),
                              weights[q].data() + first);
    }
  }

  /// Calls `run(first, count)` for groups of at most queries_at_once queries.
  template <class Run>
  void for_each_group(Run&& run) noexcept {
    for (std::size_t i = 0; i < queries_; i += queries_at_once) run(i, std::min(queries_at_once, queries_ - i));
  }

  std::size_t head_dim_, queries_;
  std::array<OnlineAttention, attention_block> attentions_;
  std::array<RowRange, attention_block> seen_;  ///< rows of a piece that each query attends to; none: 0 to 0

 private:
  /// The same for queries_at_once queries.
  template <class Isa, class Element>
  void fold_tile(Isa tag, const AttentionPiece<Element>& piece, std::size_t i, PieceWeights* weights) noexcept {
    float maximums[queries_at_once], sums[queries_at_once];
    if (std::all_of(&attentions_[i], &attentions_[i] + queries_at_once,
                    [](const OnlineAttention& attention) { return attention.scores_are_products(); })) {
      float scales[queries_at_once], largest[queries_at_once];
      for (std::size_t q = 0; q < queries_at_once; ++q) scales[q] = attentions_[i + q].score_scale();
      scale_block(tag, weights->data(), scales, piece.key_scales, largest);
      for (std::size_t q = 0; q < queries_at_once; ++q) maximums[q] = attentions_[i + q].raise_maximum(largest[q]);
    } else {
      for (std::size_t q = 0; q < queries_at_once; ++q) {
        maximums[q] = attentions_[i + q].raise_maximum(piece.key_scales, attention_tile,
                                                       positions_[i + q] - piece.begin, weights[q].data());
      }
    }
    exponentials_block(tag, weights->data(), maximums, sums);
    for (std::size_t q = 0; q < queries_at_once; ++q) attentions_[i + q].take_sum(sums[q]);
  }

  Window window_;
  float* scratch_;
  std::array<Position, attention_block> positions_;
};

}  // namespace detail

}  // namespace tulle
