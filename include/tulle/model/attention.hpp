// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention over whatever spans a cache layout has (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/code_block.hpp>
#include <tulle/model/float_block.hpp>

namespace tulle {

namespace detail {

/// Whether a row's queries fit into a block.
inline bool fits_block(const AttentionRows& of, std::size_t head_dim) noexcept {
  return of.group <= attention_block && head_dim <= QueryBlock::max_head_dim;
}

/// Whether int8 keys and values are multiplied as integers: one rule for a layer, so that the bits are the same for one
/// token and for many. Where a key has one query head, bringing rows into pairs costs a token more than integers save.
inline bool multiplies_codes(const AttentionRows& of, std::size_t head_dim) noexcept {
  return !std::is_same_v<BlockOf<std::int8_t>, FloatBlock> && of.group > 1 && fits_block(of, head_dim);
}

/// Whether the layout keeps all positions that a query at `position` attends to.
template <CacheLayout Cache>
bool keeps_all(const Cache& cache, const AttentionRows& of, Position position) noexcept {
  const Visible visible{of.window.begin(position), position + 1};
  std::size_t kept = 0;
  cache.for_each_span(of.layer, of.sequence, visible, [&](const auto& span) { kept += span.count; });
  return kept == visible.end - visible.begin;
}

/// Whether keys and values are int8.
template <CacheLayout Cache>
bool holds_codes(const Cache& cache, const AttentionRows& of) noexcept {
  bool codes = false;
  cache.for_each_span(
      of.layer, of.sequence, {of.window.begin(of.first), of.first + 1},
      [&]<class Element>(const KeyValueSpan<Element>&) { codes = std::is_same_v<Element, std::int8_t>; });
  return codes;
}

/// Attention of queries that fit into a block. `coded`: `multiplies_codes` of the whole group.
template <CacheLayout Cache>
[[gnu::noinline]] void attend_together(const Cache& cache, const AttentionRows& of, std::size_t head_dim,
                                       bool coded) noexcept {
  union Block {
    Block() noexcept {}  // which it is, the first piece tells
    FloatBlock floats;
    BlockOf<std::int8_t> codes;
  } block;
  QueryBlock* queries = nullptr;
  const auto visit = [&]<class Products>(std::type_identity<Products>, const auto& piece) {
    if (queries == nullptr) queries = new (static_cast<void*>(&block)) Products(of, head_dim);
    static_cast<Products*>(queries)->visit(piece);
  };
  const Visible visible{of.window.begin(of.first), of.last() + 1, static_cast<Position>(of.rows)};
  for_each_piece(cache, of, visible, [&]<class Element>(const AttentionPiece<Element>& piece) {
    if (coded) {
      visit(std::type_identity<BlockOf<Element>>(), piece);
    } else {
      visit(std::type_identity<FloatBlock>(), piece);
    }
  });
  if (queries == nullptr) queries = new (static_cast<void*>(&block)) QueryBlock(of, head_dim);
  queries->finish(of);
}

}  // namespace detail

/// Attention of one query after the other.
template <CacheLayout Cache>
void attend(const Cache& cache, const AttentionRows& of) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim;
  if (detail::multiplies_codes(of, head_dim) && detail::holds_codes(cache, of)) {
    for (std::size_t row = 0; row < of.rows; ++row) {
      for (std::size_t head = 0; head < of.group; ++head) {
        detail::attend_together(cache, of.query_head(row, head, head_dim), head_dim, true);
      }
    }
    return;
  }
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

/// `attend`, with the same bits. The keys and values are read once for up to `attention_block` queries, which is what
/// makes a prompt, and heads that share keys, cheaper than one query after the other.
template <CacheLayout Cache>
void attend_rows(const Cache& cache, const AttentionRows& of) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim, queries = of.rows * of.group;
  if (queries == 1 || !detail::fits_block(of, head_dim)) {
    attend(cache, of);
    return;
  }
  // Where a layout's window has moved past its sinks, the spans differ from one query to the next.
  if (of.rows > 1 && (!detail::FloatBlock::fits(queries, head_dim) ||
                      detail::keeps_all(cache, of, of.first) != detail::keeps_all(cache, of, of.last()))) {
    attend_rows(cache, of.part(0, of.rows / 2));
    attend_rows(cache, of.part(of.rows / 2, of.rows - of.rows / 2));
    return;
  }
  detail::attend_together(cache, of, head_dim, detail::multiplies_codes(of, head_dim));
}

}  // namespace tulle
