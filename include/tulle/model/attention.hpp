// SPDX-License-Identifier: Apache-2.0
/// \file Causal attention of one row over whatever spans a cache layout has (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle {

/// softmax(q k / sqrt(d)) v of one query head, folded in one piece of positions at a time:
/// Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, with the values carried along.
class OnlineAttention {
 public:
  /// out [head_dim] receives the result; query [head_dim] stays as it is.
  OnlineAttention(const float* query, std::size_t head_dim, float* out) noexcept
      : query_(query), head_dim_(head_dim), scale_(1.0f / std::sqrt(static_cast<float>(head_dim))), out_(out) {
    std::fill_n(out, head_dim, 0.0f);
  }

  /// Folds in `count` <= attention_tile rows. Scales are null unless the elements carry one per row.
  template <class Element>
  void fold(const Element* keys, const Element* values, const float* key_scales, const float* value_scales,
            std::size_t count) noexcept {
    with_instruction_set<isa::Active>([&](auto tag) {
      alignas(64) std::array<float, attention_tile + 8> scores;
      detail::score_keys(tag, query_, keys, count, head_dim_, scores.data());
      float maximum = maximum_;
      for (std::size_t i = 0; i < count; ++i) {
        scores[i] *= key_scales == nullptr ? scale_ : scale_ * key_scales[i];
        maximum = std::max(maximum, scores[i]);
      }
      if (maximum > maximum_) {
        const float shrink = std::exp(maximum_ - maximum);  // 0 for the first piece
        sum_ *= shrink;
        for (std::size_t d = 0; d < head_dim_; ++d) out_[d] *= shrink;
        maximum_ = maximum;
      }
      sum_ += detail::exponentials(tag, scores.data(), count, maximum_);
      if (value_scales != nullptr) {
        for (std::size_t i = 0; i < count; ++i) scores[i] *= value_scales[i];
      }
      detail::add_values(tag, scores.data(), values, count, head_dim_, out_);
    });
  }

  /// Divides by the sum of the weights.
  void finish() noexcept {
    const float inverse = 1.0f / sum_;
    for (std::size_t d = 0; d < head_dim_; ++d) out_[d] *= inverse;
  }

 private:
  const float* query_;
  std::size_t head_dim_;
  float scale_;
  float* out_;
  float maximum_ = -std::numeric_limits<float>::infinity();
  float sum_ = 0;
};

/// Attention of the `group` query heads that share key-value head `kv_head`, for one row at `position`.
/// query and out [group, head_dim]. Pieces end at multiples of `attention_tile`, so the bits depend on positions alone.
template <CacheLayout Cache>
void attend(const Cache& cache, std::size_t layer, SequenceId sequence, Position position, std::size_t kv_head,
            const float* query, std::size_t group, float* out) noexcept {
  const std::size_t head_dim = cache.shape().head_dim;
  for (std::size_t head = 0; head < group; ++head) {
    OnlineAttention attention(query + head * head_dim, head_dim, out + head * head_dim);
    cache.for_each_span(layer, sequence, position, [&](const auto& span) {
      const auto* keys = span.keys + kv_head * span.head_stride;
      const auto* values = span.values + kv_head * span.head_stride;
      for (std::size_t first = 0; first < span.count;) {
        const std::size_t to_boundary = attention_tile - (span.begin + first) % attention_tile;
        const std::size_t count = std::min(to_boundary, span.count - first);
        const std::size_t scale = kv_head * span.scale_stride + first;
        attention.fold(keys + first * head_dim, values + first * head_dim,
                       span.key_scales == nullptr ? nullptr : span.key_scales + scale,
                       span.value_scales == nullptr ? nullptr : span.value_scales + scale, count);
        first += count;
      }
    });
    attention.finish();
  }
}

}  // namespace tulle
