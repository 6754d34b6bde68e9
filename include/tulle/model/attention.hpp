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

namespace tulle {

namespace detail {

/// Rows of a head that are read soon. Where nobody asks for them ahead, the rows of a short text mostly wait for memory.
template <class Element>
struct NextRows {
  const Element* rows = nullptr;
  std::size_t count = 0;
};

/// Calls `visit(first, rows)` for parts of `count` rows, and asks for as many of `next` before each.
template <class Element, class Visit>
void with_prefetch(std::size_t count, [[maybe_unused]] std::size_t head_dim, [[maybe_unused]] NextRows<Element> next,
                   Visit&& visit) noexcept {
  std::size_t first = 0;
#if defined(TULLE_X86)
  constexpr std::size_t few = 8, line = 64;  // more rows at once would fill the processor's queue of loads
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

/// softmax(q k / sqrt(d)) v of one query head, folded in one piece of positions at a time:
/// Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, with the values carried along.
class OnlineAttention {
 public:
  OnlineAttention() = default;

  /// out [head_dim] receives the result; query [head_dim] stays as it is.
  OnlineAttention(const float* query, std::size_t head_dim, float* out) noexcept
      : query_(query), head_dim_(head_dim), scale_(1.0f / std::sqrt(static_cast<float>(head_dim))), out_(out) {
    std::fill_n(out, head_dim, 0.0f);
  }

  /// Weights of `count` <= attention_tile rows, for `add`; room for attention_tile + 8 of them.
  /// Scales are null unless the elements carry one per row. `next`: what is read after the keys.
  template <class Element>
  void weigh(const Element* keys, const float* key_scales, const float* value_scales, std::size_t count, float* weights,
             detail::NextRows<Element> next = {}) noexcept {
    with_instruction_set<isa::Active>([&](auto tag) {
      detail::with_prefetch(count, head_dim_, next, [&](std::size_t first, std::size_t rows) {
        detail::score_keys(tag, query_, keys + first * head_dim_, rows, head_dim_, weights + first);
      });
      const float maximum = std::max(maximum_, detail::scale_scores(tag, weights, count, scale_, key_scales));
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
  const float* query_ = nullptr;
  std::size_t head_dim_ = 0;
  float scale_ = 1;
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
  static constexpr std::size_t max_head_dim = 128;

  /// `count` elements; what was asked for before is lost.
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
};

/// Visits what a query at `position` sees, in order, in pieces that end at multiples of `attention_tile`: so the bits
/// of attention depend on positions alone.
template <CacheLayout Cache, class Visit>
void for_each_piece(const Cache& cache, std::size_t layer, SequenceId sequence, Position position, std::size_t kv_head,
                    Visit&& visit) noexcept {
  const std::size_t head_dim = cache.shape().head_dim;
  cache.for_each_span(layer, sequence, position, [&](const auto& span) {
    const auto* keys = span.keys + kv_head * span.head_stride;
    const auto* values = span.values + kv_head * span.head_stride;
    for (std::size_t first = 0; first < span.count;) {
      const std::size_t to_boundary = attention_tile - (span.begin + first) % attention_tile;
      const std::size_t count = std::min(to_boundary, span.count - first), scale = kv_head * span.scale_stride + first;
      visit(AttentionPiece<std::remove_cvref_t<decltype(*keys)>>{
          static_cast<Position>(span.begin + first), count, span.count - first - count, keys + first * head_dim,
          values + first * head_dim, span.key_scales == nullptr ? nullptr : span.key_scales + scale,
          span.value_scales == nullptr ? nullptr : span.value_scales + scale});
      first += count;
    }
  });
}

/// Whether a query at `position` sees every position up to its own; then so does every earlier one.
template <CacheLayout Cache>
bool sees_everything(const Cache& cache, std::size_t layer, SequenceId sequence, Position position) noexcept {
  std::size_t seen = 0;
  cache.for_each_span(layer, sequence, position, [&](const auto& span) { seen += span.count; });
  return seen == std::size_t{position} + 1;
}

}  // namespace detail

/// Attention of the `group` query heads that share key-value head `kv_head`, for one row at `position`.
/// query and out [group, head_dim].
template <CacheLayout Cache>
void attend(const Cache& cache, std::size_t layer, SequenceId sequence, Position position, std::size_t kv_head,
            const float* query, std::size_t group, float* out) noexcept {
  const std::size_t head_dim = cache.shape().head_dim;
  detail::PieceWeights weights;
  for (std::size_t head = 0; head < group; ++head) {
    OnlineAttention attention(query + head * head_dim, head_dim, out + head * head_dim);
    detail::for_each_piece(cache, layer, sequence, position, kv_head, [&](const auto& piece) {
      attention.weigh(piece.keys, piece.key_scales, piece.value_scales, piece.count, weights.data(),
                      {piece.values, piece.count});
      attention.add(weights.data(), piece.values, piece.count, {piece.keys + piece.count * head_dim, piece.following});
    });
    attention.finish();
  }
}

/// At most so many queries of one key-value head are worth one visit of its rows.
inline constexpr std::size_t attention_block = 16;

/// `attend` for `rows` consecutive rows of one sequence, the first at position `first`, with the same bits. Row i reads
/// query + i * query_stride and writes out + i * out_stride. The keys and values are read once for up to
/// `attention_block` queries, which is what makes a prompt, and heads that share keys, cheaper than one query after the other.
template <CacheLayout Cache>
void attend_rows(const Cache& cache, std::size_t layer, SequenceId sequence, Position first, std::size_t rows,
                 std::size_t kv_head, const float* query, std::size_t query_stride, std::size_t group, float* out,
                 std::size_t out_stride) noexcept {
  const std::size_t head_dim = cache.shape().head_dim, queries = rows * group;
  const Position last = first + static_cast<Position>(rows) - 1;
  if (queries == 1 || queries > attention_block || head_dim > detail::FloatRows::max_head_dim ||
      !detail::sees_everything(cache, layer, sequence, last)) {
    for (std::size_t row = 0; row < rows; ++row) {
      attend(cache, layer, sequence, first + static_cast<Position>(row), kv_head, query + row * query_stride, group,
             out + row * out_stride);
    }
    return;
  }
  std::array<OnlineAttention, attention_block> attentions;
  for (std::size_t i = 0; i < queries; ++i) {
    const std::size_t row = i / group, at = i % group * head_dim;
    attentions[i] = OnlineAttention(query + row * query_stride + at, head_dim, out + row * out_stride + at);
  }
  detail::FloatRows floats;
  std::array<detail::PieceWeights, attention_block> weights;
  detail::for_each_piece(cache, layer, sequence, last, kv_head, [&](const auto& piece) {
    const auto visible = [&](std::size_t i) -> std::size_t {  // rows of the piece that query i sees
      const Position end = first + static_cast<Position>(i / group) + 1;
      return end <= piece.begin ? 0 : std::min<std::size_t>(piece.count, end - piece.begin);
    };
    // First the keys for all queries, then the values: so that one of them at a time has to stay in the nearest cache.
    const float* keys = floats.of(piece.keys, piece.count * head_dim);
    for (std::size_t i = 0; i < queries; ++i) {
      if (visible(i) == 0) continue;
      attentions[i].weigh(keys, piece.key_scales, piece.value_scales, visible(i), weights[i].data());
    }
    const float* values = floats.of(piece.values, piece.count * head_dim);
    for (std::size_t i = 0; i < queries; ++i) attentions[i].add(weights[i].data(), values, visible(i));
  });
  for (std::size_t i = 0; i < queries; ++i) attentions[i].finish();
}

}  // namespace tulle
