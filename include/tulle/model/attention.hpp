// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention over whatever spans a cache layout has (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

namespace detail {

/// Rows of a head that are read soon. Without prefetching, attention over a short text is bound by the latency of
/// memory.
template <class Element>
struct NextRows {
  const Element* rows = nullptr;
  std::size_t count = 0;
};

/// Calls `visit(first, rows)` for parts of `count` rows, and prefetches as many of `next` before each.
template <class Element, class Visit>
void with_prefetch(std::size_t count, [[maybe_unused]] std::size_t head_dim, [[maybe_unused]] NextRows<Element> next,
                   Visit&& visit) noexcept {
  std::size_t first = 0;
#if defined(TULLE_X86)
  constexpr std::size_t few = 8, line = 64;  // more rows at once would fill the CPU's load queue
  for (; first < std::min(count, next.count); first += few) {
    const auto* ahead = reinterpret_cast<const std::byte*>(next.rows + first * head_dim);
    const std::size_t bytes = std::min(few, next.count - first) * head_dim * sizeof(Element);
    for (std::size_t i = 0; i < bytes; i += line) __builtin_prefetch(ahead + i);
    visit(first, std::min(few, count - first));
  }
#endif
  if (first < count) visit(first, count - first);
}

}  // namespace detail

/// What is done to the scores of one head before their softmax.
struct ScoreTerms {
  float cap = 0;    ///< cap * tanh(score / cap); 0: nothing
  float slope = 0;  ///< score - slope * distance of query and key: Press, Smith, Lewis, "ALiBi", 2021
};

/// softmax(q k / sqrt(d)) v of one query head, folded in one piece of positions at a time:
/// Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, with the values carried along.
class OnlineAttention {
 public:
  OnlineAttention() = default;

  /// out [head_dim] receives the result; query [head_dim] stays as it is.
  OnlineAttention(const float* query, std::size_t head_dim, ScoreTerms terms, float* out) noexcept
      : query_(query),
        head_dim_(head_dim),
        scale_(1.0f / std::sqrt(static_cast<float>(head_dim))),
        terms_(terms),
        out_(out) {
    std::fill_n(out, head_dim, 0.0f);
  }

  /// Weights of `count` <= attention_tile rows, for `add`; room for attention_tile + 8 of them. `distance`: positions
  /// from the first key to the query. Scales are null unless the elements carry one per row. `next`: what is read after
  /// the keys.
  template <class Element>
  void weigh(const Element* keys, const float* key_scales, const float* value_scales, std::size_t count,
             Position distance, float* weights, detail::NextRows<Element> next = {}) noexcept {
    with_instruction_set<isa::Active>([&](auto tag) {
      detail::with_prefetch(count, head_dim_, next, [&](std::size_t first, std::size_t rows) {
        detail::score_keys(tag, query_, keys + first * head_dim_, rows, head_dim_, weights + first);
      });
      float largest = detail::scale_scores(tag, weights, count, scale_, key_scales);
      if (terms_.cap != 0 || terms_.slope != 0) largest = apply_terms(weights, count, distance);
      const float maximum = std::max(maximum_, largest);
      if (maximum > maximum_) {
        const float shrink = std::exp(maximum_ - maximum);  // 0 for the first piece
        sum_ *= shrink;
        for (std::size_t d = 0; d < head_dim_; ++d) out_[d] *= shrink;
        maximum_ = maximum;
      }
      sum_ += detail::exponentials(tag, weights, count, maximum_);
      if (value_scales != nullptr) {
        for (std::size_t i = 0; i < count; ++i) weights[i] *= value_scales[i];
      }
    });
  }

  /// Adds the rows by those weights. `next`: what is read after them.
  template <class Element>
  void add(const float* weights, const Element* values, std::size_t count,
           detail::NextRows<Element> next = {}) noexcept {
    with_instruction_set<isa::Active>([&](auto tag) {
      detail::with_prefetch(count, head_dim_, next, [&](std::size_t first, std::size_t rows) {
        detail::add_values(tag, weights + first, values + first * head_dim_, rows, head_dim_, out_);
      });
    });
  }

  /// Divides by the sum of the weights.
  void finish() noexcept {
    const float inverse = 1.0f / sum_;
    for (std::size_t d = 0; d < head_dim_; ++d) out_[d] *= inverse;
  }

 private:
  /// Returns the largest of the new scores.
  float apply_terms(float* scores, std::size_t count, Position distance) const noexcept {
    if (terms_.cap != 0) soft_cap(terms_.cap, count, scores);
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < count; ++i) {
      scores[i] -= terms_.slope * (static_cast<float>(distance) - static_cast<float>(i));
      largest = std::max(largest, scores[i]);
    }
    return largest;
  }

  const float* query_ = nullptr;
  std::size_t head_dim_ = 0;
  float scale_ = 1;
  ScoreTerms terms_;
  float* out_ = nullptr;
  float maximum_ = -std::numeric_limits<float>::infinity();
  float sum_ = 0;
};

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
    return {query + row * query_stride + at,
            head_dim,
            {score_cap, slopes == nullptr ? 0 : slopes[head]},
            out + row * out_stride + at};
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
