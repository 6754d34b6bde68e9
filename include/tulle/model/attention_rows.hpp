// SPDX-License-Identifier: Apache-2.0
/// \file What attention reads: the queries of one key-value head, and the pieces of keys and values they visit (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/online_attention.hpp>

namespace tulle {

/// Query heads that share one key-value head, of consecutive rows of one sequence.
struct AttentionRows {
  std::size_t layer = 0;  ///< of the cache
  SequenceId sequence = 0;
  Window window{};                               ///< of the layer
  Position first = 0;                            ///< position of the first row
  std::size_t rows = 1, kv_head = 0, group = 1;  ///< `group`: query heads of a row that share `kv_head`
  const float* query = nullptr;                  ///< [rows, group, head_dim]; row i at query + i * query_stride
  std::size_t query_stride = 0;
  float* out = nullptr;  ///< as the query
  std::size_t out_stride = 0;
  float score_cap = 0;            ///< of `ScoreTerms`
  const float* slopes = nullptr;  ///< the same, of every head of the group; null: none
  const float* sinks = nullptr;   ///< the same
  float* scratch = nullptr;       ///< [attention_block, head_dim], where positions of two segments are visible
  /// Of one segment alone, where not null: [rows, group]; `out` then has their values, and is not divided by anything.
  OnlineAttention::Segment* segments = nullptr;
  std::size_t segment = 0;  ///< which one

  /// `count` of these rows, from row `begin` on.
  AttentionRows part(std::size_t begin, std::size_t count) const noexcept {
    AttentionRows rest = *this;
    rest.first += static_cast<Position>(begin);
    rest.rows = count;
    rest.query += begin * query_stride;
    rest.out += begin * out_stride;
    if (segments != nullptr) rest.segments += begin * group;
    return rest;
  }
  /// Query `head` of row `row` alone.
  AttentionRows query_head(std::size_t row, std::size_t head, std::size_t head_dim) const noexcept {
    AttentionRows one = part(row, 1);
    one.group = 1;
    one.query += head * head_dim;
    one.out += head * head_dim;
    if (slopes != nullptr) one.slopes += head;
    if (sinks != nullptr) one.sinks += head;
    if (segments != nullptr) one.segments += head;
    return one;
  }
  Position last() const noexcept { return first + static_cast<Position>(rows) - 1; }

  /// Query `head` of the group, in row `row`.
  OnlineAttention start(std::size_t row, std::size_t head, std::size_t head_dim) const noexcept {
    const std::size_t at = head * head_dim;
    ScoreTerms terms{.cap = score_cap};
    if (slopes != nullptr) terms.slope = slopes[head];
    if (sinks != nullptr) terms.sink = sinks[head];
    return {query + row * query_stride + at, head_dim, terms, out + row * out_stride + at};
  }
  /// Ends what `start` began, behind the last piece.
  void finish(std::size_t row, std::size_t head, OnlineAttention& attention) const noexcept {
    if (segments == nullptr) {
      attention.finish();
    } else {
      segments[row * group + head] = attention.segment();
    }
  }
};

namespace detail {

/// Keys and values of one head at up to `attention_tile` consecutive positions.
template <class Element>
struct AttentionPiece {
  Position begin;
  std::size_t count;
  const Element *keys, *values;
  const float *key_scales, *value_scales;  ///< null unless the elements carry one per row
  Window window;                           ///< of the layout, as in `KeyValueSpan`
  NextRows<Element> next;                  ///< keys that are visited next
  bool begins_segment;                     ///< `attention_segment`; not said of the first piece
};

/// Visits what is visible, in order, in pieces that end at multiples of `attention_tile`: so the bits of attention
/// depend on positions alone.
template <CacheLayout Cache, class Visit>
void for_each_piece(const Cache& cache, const AttentionRows& of, const Visible& visible, Visit&& visit) noexcept {
  const std::size_t head_dim = cache.shape().layers[of.layer].head_dim, kv_head = of.kv_head;
  std::size_t last_segment = visible.begin / attention_segment;
  cache.for_each_span(of.layer, of.sequence, visible, [&](const auto& span) {
    const auto* keys = span.keys + kv_head * span.head_stride;
    const auto* values = span.values + kv_head * span.head_stride;
    for (std::size_t first = 0; first < span.count;) {
      const std::size_t to_boundary = attention_tile - (span.begin + first) % attention_tile;
      const std::size_t count = std::min(to_boundary, span.count - first), scale = kv_head * span.scale_stride + first;
      const std::size_t segment = (span.begin + first) / attention_segment;
      const bool begins = std::exchange(last_segment, segment) != segment;
      using Element = std::remove_cvref_t<decltype(*keys)>;
      NextRows<Element> next{keys + (first + count) * head_dim, span.count - first - count};
      if (next.count == 0 && span.next_count != 0)
        next = {span.next_keys + kv_head * span.next_stride, span.next_count};
      if (of.segments == nullptr || segment == of.segment) {
        visit(AttentionPiece<Element>{
            static_cast<Position>(span.begin + first), count, keys + first * head_dim, values + first * head_dim,
            span.key_scales == nullptr ? nullptr : span.key_scales + scale,
            span.value_scales == nullptr ? nullptr : span.value_scales + scale, span.window, next, begins});
      }
      first += count;
    }
  });
}

}  // namespace detail

}  // namespace tulle
