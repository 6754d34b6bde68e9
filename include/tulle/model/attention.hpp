// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention over whatever spans a cache layout has (L3).
#pragma once

#include <cstddef>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/query_block.hpp>

namespace tulle {

/// Attention of one query after the other.
template <CacheLayout Cache>
void attend(const Cache& cache, const AttentionRows& of) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim;
  detail::PieceWeights weights;
  for (std::size_t row = 0; row < of.rows; ++row) {
    const Position position = of.first + static_cast<Position>(row);
    const Visible visible{of.window.begin(position), position + 1};
    for (std::size_t head = 0; head < of.group; ++head) {
      OnlineAttention attention = of.start(row, head, head_dim);
      detail::for_each_piece(cache, of, visible, [&](const auto& piece) {
        if (piece.begins_segment) attention.begin_segment(of.scratch);
        attention.weigh(piece.keys, piece.key_scales, piece.value_scales, piece.count, position - piece.begin,
                        weights.data(), {piece.values, piece.count});
        attention.add(weights.data(), piece.values, piece.count, piece.next);
      });
      of.finish(row, head, attention);
    }
  }
}

namespace detail {

/// Whether the layout keeps all positions that a query at `position` attends to.
template <CacheLayout Cache>
bool keeps_all(const Cache& cache, const AttentionRows& of, Position position) noexcept {
  const Visible visible{of.window.begin(position), position + 1};
  std::size_t kept = 0;
  cache.for_each_span(of.layer, of.sequence, visible, [&](const auto& span) { kept += span.count; });
  return kept == visible.end - visible.begin;
}

}  // namespace detail

/// `attend`, with the same bits. The keys and values are read once for up to `attention_block` queries, which is what
/// makes a prompt, and heads that share keys, cheaper than one query after the other.
template <CacheLayout Cache>
void attend_rows(const Cache& cache, const AttentionRows& of) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim, queries = of.rows * of.group;
  if (queries == 1 || of.group > attention_block || head_dim > detail::QueryBlock::max_head_dim) {
    attend(cache, of);
    return;
  }
  // Where a layout's window has moved past its sinks, the spans differ from one query to the next.
  if (of.rows > 1 && (!detail::QueryBlock::fits(queries, head_dim) ||
                      detail::keeps_all(cache, of, of.first) != detail::keeps_all(cache, of, of.last()))) {
    attend_rows(cache, of.part(0, of.rows / 2));
    attend_rows(cache, of.part(of.rows / 2, of.rows - of.rows / 2));
    return;
  }
  detail::QueryBlock block(of, head_dim);
  const Visible visible{of.window.begin(of.first), of.last() + 1, static_cast<Position>(of.rows)};
  detail::for_each_piece(cache, of, visible, [&](const auto& piece) { block.visit(piece); });
  block.finish(of);
}

}  // namespace tulle
