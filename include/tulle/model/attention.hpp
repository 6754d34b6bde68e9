// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention over whatever spans a cache layout has (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_rows.hpp>
#include <tulle/model/code_block.hpp>
#include <tulle/model/float_block.hpp>

namespace tulle {

namespace detail {

/// Whether int8 keys and values are multiplied as integers: one rule, so that the bits are the same for one query and
/// for many.
inline bool multiplies_codes(const AttentionRows& of, std::size_t head_dim) noexcept {
  return of.group <= attention_block && head_dim <= QueryBlock::max_head_dim;
}

/// Whether the layout keeps all positions that a query at `position` attends to.
template <CacheLayout Cache>
bool keeps_all(const Cache& cache, const AttentionRows& of, Position position) noexcept {
  const Visible visible{of.window.begin(position), position + 1};
  std::size_t kept = 0;
  cache.for_each_span(of.layer, of.sequence, visible, [&](const auto& span) { kept += span.count; });
  return kept == visible.end - visible.begin;
}

/// Attention of queries that fit into a block. Requires `multiplies_codes`.
template <CacheLayout Cache>
[[gnu::noinline]] void attend_together(const Cache& cache, const AttentionRows& of, std::size_t head_dim) noexcept {
  union Block {
    Block() noexcept {}  // which it is, the first piece tells
    FloatBlock floats;
    BlockOf<std::int8_t> codes;
  } block;
  QueryBlock* queries = nullptr;
  const Visible visible{of.window.begin(of.first), of.last() + 1, static_cast<Position>(of.rows)};
  for_each_piece(cache, of, visible, [&]<class Element>(const AttentionPiece<Element>& piece) {
    using Products = BlockOf<Element>;
    if (queries == nullptr) queries = new (static_cast<void*>(&block)) Products(of, head_dim);
    static_cast<Products*>(queries)->visit(piece);
  });
  if (queries == nullptr) queries = new (static_cast<void*>(&block)) QueryBlock(of, head_dim);
  queries->finish(of);
}

}  // namespace detail

/// Attention of one query after the other.
template <CacheLayout Cache>
void attend(const Cache& cache, const AttentionRows& of) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim;
  const bool coded = detail::multiplies_codes(of, head_dim);
  detail::PieceWeights weights;
  for (std::size_t row = 0; row < of.rows; ++row) {
    const Position position = of.first + static_cast<Position>(row);
    const Visible visible{of.window.begin(position), position + 1};
    for (std::size_t head = 0; head < of.group; ++head) {
      const AttentionRows one = of.query_head(row, head, head_dim);
      OnlineAttention attention = one.start(0, 0, head_dim);
      std::optional<detail::BlockOf<std::int8_t>> codes;
      detail::for_each_piece(cache, one, visible, [&]<class Element>(const detail::AttentionPiece<Element>& piece) {
        if constexpr (!std::is_same_v<detail::BlockOf<Element>, detail::FloatBlock>) {
          if (coded) {
            if (!codes) codes.emplace(one, head_dim);
            codes->visit(piece);
            return;
          }
        }
        if (piece.begins_segment) attention.begin_segment(one.scratch);
        attention.weigh(piece.keys, piece.key_scales, piece.value_scales, piece.count, position - piece.begin,
                        weights.data(), {piece.values, piece.count});
        attention.add(weights.data(), piece.values, piece.count, piece.next);
      });
      if (codes) {
        codes->finish(one);
      } else {
        one.finish(0, 0, attention);
      }
    }
  }
}

/// `attend`, with the same bits. The keys and values are read once for up to `attention_block` queries, which is what
/// makes a prompt, and heads that share keys, cheaper than one query after the other.
template <CacheLayout Cache>
void attend_rows(const Cache& cache, const AttentionRows& of) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim, queries = of.rows * of.group;
  if (queries == 1 || !detail::multiplies_codes(of, head_dim)) {
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
  detail::attend_together(cache, of, head_dim);
}

}  // namespace tulle
