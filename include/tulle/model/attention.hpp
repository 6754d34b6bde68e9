// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention over whatever spans a cache layout has (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/model/online_attention.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

namespace detail {

/// What a query gives the rows of a piece; some more are written.
struct alignas(64) PieceWeights : std::array<float, attention_tile + 8> {};

/// Rows of a piece as floats, for those who read them many times.
class FloatRows {
 public:
  static constexpr std::size_t max_head_dim = 256;

  /// `count` elements; what an earlier call returned is lost.
  const float* of(const float* from, std::size_t) noexcept { return from; }
  template <class Element>
  const float* of(const Element* from, std::size_t count) noexcept {
    with_instruction_set<isa::Active>([&](auto tag) { to_floats(tag, from, count, floats_.data()); });
    return floats_.data();
  }

 private:
  alignas(64) std::array<float, attention_tile * max_head_dim> floats_;
};

/// Keys and values of one head at up to `attention_tile` consecutive positions.
template <class Element>
struct AttentionPiece {
  Position begin;
  std::size_t count, following;  ///< and rows that follow in memory and are visited next
  const Element *keys, *values;
  const float *key_scales, *value_scales;  ///< null unless the elements carry one per row
  Window window;                           ///< of the layout, as in `KeyValueSpan`
};

/// Visits what is visible, in order, in pieces that end at multiples of `attention_tile`: so the bits of attention
/// depend on positions alone.
template <CacheLayout Cache, class Visit>
void for_each_piece(const Cache& cache, std::size_t layer, SequenceId sequence, const Visible& visible,
                    std::size_t kv_head, Visit&& visit) noexcept {
  const std::size_t head_dim = cache.shape().layers[layer].head_dim;
  cache.for_each_span(layer, sequence, visible, [&](const auto& span) {
    const auto* keys = span.keys + kv_head * span.head_stride;
    const auto* values = span.values + kv_head * span.head_stride;
    for (std::size_t first = 0; first < span.count;) {
      const std::size_t to_boundary = attention_tile - (span.begin + first) % attention_tile;
      const std::size_t count = std::min(to_boundary, span.count - first), scale = kv_head * span.scale_stride + first;
      visit(AttentionPiece<std::remove_cvref_t<decltype(*keys)>>{
          static_cast<Position>(span.begin + first), count, span.count - first - count, keys + first * head_dim,
          values + first * head_dim, span.key_scales == nullptr ? nullptr : span.key_scales + scale,
          span.value_scales == nullptr ? nullptr : span.value_scales + scale, span.window});
      first += count;
    }
  });
}

}  // namespace detail

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

  /// `count` of these rows, from row `begin` on.
  AttentionRows part(std::size_t begin, std::size_t count) const noexcept {
    AttentionRows rest = *this;
    rest.first += static_cast<Position>(begin);
    rest.rows = count;
    rest.query += begin * query_stride;
    rest.out += begin * out_stride;
    return rest;
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
};

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
      detail::for_each_piece(cache, of.layer, of.sequence, visible, of.kv_head, [&](const auto& piece) {
        attention.weigh(piece.keys, piece.key_scales, piece.value_scales, piece.count, position - piece.begin,
                        weights.data(), {piece.values, piece.count});
        attention.add(weights.data(), piece.values, piece.count,
                      {piece.keys + piece.count * head_dim, piece.following});
      });
      attention.finish();
    }
  }
}

/// The maximum number of queries of one key-value head that share a visit of its rows.
inline constexpr std::size_t attention_block = 16;

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
  if (queries == 1 || queries > attention_block || head_dim > detail::FloatRows::max_head_dim) {
    attend(cache, of);
    return;
  }
  // Where a layout's window has moved past its sinks, the spans differ from one query to the next.
  if (of.rows > 1 && detail::keeps_all(cache, of, of.first) != detail::keeps_all(cache, of, of.last())) {
    attend_rows(cache, of.part(0, of.rows / 2));
    attend_rows(cache, of.part(of.rows / 2, of.rows - of.rows / 2));
    return;
  }
  std::array<OnlineAttention, attention_block> attentions;
  for (std::size_t i = 0; i < queries; ++i) attentions[i] = of.start(i / of.group, i % of.group, head_dim);
  detail::FloatRows floats;
  std::array<detail::PieceWeights, attention_block> weights;
  std::array<RowRange, attention_block> seen;  // rows of a piece that each query attends to
  const Visible visible{of.window.begin(of.first), of.last() + 1, static_cast<Position>(of.rows)};
  detail::for_each_piece(cache, of.layer, of.sequence, visible, of.kv_head, [&](const auto& piece) {
    for (std::size_t i = 0; i < queries; ++i) {
      const Position position = of.first + static_cast<Position>(i / of.group);
      const Position begin = std::max(of.window.begin(position), piece.window.begin(position));
      seen[i].begin = begin <= piece.begin ? 0 : std::min<std::size_t>(piece.count, begin - piece.begin);
      seen[i].end = position < piece.begin ? 0 : std::min<std::size_t>(piece.count, position + 1 - piece.begin);
    }
    // First the keys for all queries, then the values: so only one of them at a time has to stay in L1.
    const float* keys = floats.of(piece.keys, piece.count * head_dim);
    for (std::size_t i = 0; i < queries; ++i) {
      const auto [begin, end] = seen[i];
      if (begin >= end) continue;
      const Position position = of.first + static_cast<Position>(i / of.group);
      attentions[i].weigh(keys + begin * head_dim, piece.key_scales == nullptr ? nullptr : piece.key_scales + begin,
                          piece.value_scales == nullptr ? nullptr : piece.value_scales + begin, end - begin,
                          position - piece.begin - static_cast<Position>(begin), weights[i].data());
    }
    const float* values = floats.of(piece.values, piece.count * head_dim);
    for (std::size_t i = 0; i < queries; ++i) {
      const auto [begin, end] = seen[i];
      if (begin < end) attentions[i].add(weights[i].data(), values + begin * head_dim, end - begin);
    }
  });
  for (std::size_t i = 0; i < queries; ++i) attentions[i].finish();
}

}  // namespace tulle
