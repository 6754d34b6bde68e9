// SPDX-License-Identifier: Apache-2.0
/// \file The softmax of one query's scores, folded in piece by piece with the values it weighs (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include <tulle/core/types.hpp>
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
  /// The score of attention to nothing, which takes its share of the softmax: Xiao et al., 2023; GPT-OSS.
  float sink = -std::numeric_limits<float>::infinity();
};

/// Positions of a segment of a text. What a query takes from the positions of a segment is summed by itself, and the sums
/// are added in the order of the segments: so the bits are the same where threads share the segments of a text.
inline constexpr std::size_t attention_segment = 512;

/// softmax(q k / sqrt(d)) v of one query head, folded in one piece of positions at a time:
/// Milakov, Gimelshein, "Online normalizer calculation for softmax", 2018, with the values carried along.
class OnlineAttention {
 public:
  /// What the positions of a segment give: the sum of exp(score - maximum), and of the values by these weights.
  struct Segment {
    float maximum, sum;
    const float* values;  ///< [head_dim]
  };

  OnlineAttention() = default;  ///< nothing is set: an array of them costs nothing

  /// out [head_dim] receives the result; query [head_dim] stays as it is.
  OnlineAttention(const float* query, std::size_t head_dim, ScoreTerms terms, float* out) noexcept
      : query_(query),
        head_dim_(head_dim),
        scale_(1.0f / std::sqrt(static_cast<float>(head_dim))),
        cap_(terms.cap),
        slope_(terms.slope),
        out_(out),
        result_(out),
        maximum_(nothing),
        sum_(0),
        before_{terms.sink, terms.sink == nothing ? 0.0f : 1.0f, nullptr} {
    std::fill_n(out, head_dim, 0.0f);
  }

  /// Weights of `count` <= attention_tile rows, for `add`: `score`, then `fold`. `next`: what is read after the keys.
  template <class Element>
  void weigh(const Element* keys, const float* key_scales, const float* value_scales, std::size_t count,
             Position distance, float* weights, detail::NextRows<Element> next = {}) noexcept {
    score(keys, count, weights, next);
    fold(key_scales, value_scales, count, distance, weights);
  }

  /// Products with the keys.
  template <class Element>
  void score(const Element* keys, std::size_t count, float* scores, detail::NextRows<Element> next = {}) noexcept {
    with_instruction_set<isa::Active>([&](auto tag) {
      detail::with_prefetch(count, head_dim_, next, [&](std::size_t first, std::size_t rows) {
        detail::score_keys(tag, query_, keys + first * head_dim_, rows, head_dim_, scores + first);
      });
    });
  }

  /// Turns those products into weights, in place; there is room for a multiple of 16. `distance`: positions from the
  /// first key to the query. Scales are null unless the elements carry one per row.
  void fold(const float* key_scales, const float* value_scales, std::size_t count, Position distance,
            float* weights) noexcept {
    const float maximum = raise_maximum(key_scales, count, distance, weights);
    with_instruction_set<isa::Active>([&](auto tag) { take_sum(detail::exponentials(tag, weights, count, maximum)); });
    if (value_scales == nullptr) return;
    for (std::size_t i = 0; i < count; ++i) weights[i] *= value_scales[i];
  }

  /// The first step of `fold`: scores of products, and the largest score so far, which is returned.
  float raise_maximum(const float* key_scales, std::size_t count, Position distance, float* scores) noexcept {
    float largest = with_instruction_set<isa::Active>(
        [&](auto tag) { return detail::scale_scores(tag, scores, count, scale_, key_scales); });
    if (cap_ != 0 || slope_ != 0) largest = apply_terms(scores, count, distance);
    return raise_maximum(largest);
  }

  /// The same with the largest of the new scores, which were multiplied by `score_scale` already.
  float raise_maximum(float largest) noexcept {
    if (largest > maximum_) {
      const float shrink = std::exp(maximum_ - largest);  // 0 for the first piece
      sum_ *= shrink;
      tulle::scale(shrink, head_dim_, out_);
      maximum_ = largest;
    }
    return maximum_;
  }

  float score_scale() const noexcept { return scale_; }
  /// Whether a scaled product is the score.
  bool scores_are_products() const noexcept { return cap_ == 0 && slope_ == 0; }

  /// The next step, after the exponentials, whose sum is given.
  void take_sum(float sum) noexcept { sum_ += sum; }

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

  const float* query() const noexcept { return query_; }
  /// What products with the keys are multiplied by, besides 1 / sqrt(head_dim): for a query whose codes are multiplied.
  void scale_products(float factor) noexcept { scale_ *= factor; }
  float* out() noexcept { return out_; }

  /// Begins a segment behind what was folded in so far, where that is something. `scratch` [head_dim] stays in use until
  /// the next segment or `finish`.
  [[gnu::noinline]] void begin_segment(float* scratch) noexcept {
    if (sum_ == 0) return;
    end_segment();
    out_ = scratch;
    std::fill_n(out_, head_dim_, 0.0f);
  }

  /// What was folded in since the segment began; its values are in `out`.
  Segment segment() const noexcept { return {maximum_, sum_, out_}; }

  /// Takes a segment that was folded in elsewhere, behind those that were taken before.
  [[gnu::noinline]] void take(const Segment& segment) noexcept {
    if (segment.sum == 0) return;
    const bool raises = segment.maximum > before_.maximum;
    const float low = raises ? before_.maximum : segment.maximum, largest = raises ? segment.maximum : before_.maximum;
    const float shrink = std::exp(low - largest), old = raises ? shrink : 1, added = raises ? 1 : shrink;
    if (before_.values != nullptr) {
      weighted_sum(result_, old, segment.values, added, head_dim_, result_);
    } else {  // the first; its values may be there already
      if (segment.values != result_) std::copy_n(segment.values, head_dim_, result_);
      tulle::scale(added, head_dim_, result_);
    }
    before_ = {largest, before_.sum * old + segment.sum * added, result_};
  }

  /// Divides by the sum of the weights.
  void finish() noexcept {
    end_segment();
    tulle::scale(1.0f / before_.sum, head_dim_, result_);
  }

 private:
  static constexpr float nothing = -std::numeric_limits<float>::infinity();

  void end_segment() noexcept {
    take(segment());
    maximum_ = nothing;
    sum_ = 0;
  }

  /// Returns the largest of the new scores.
  float apply_terms(float* scores, std::size_t count, Position distance) const noexcept {
    if (cap_ != 0) soft_cap(cap_, count, scores);
    float largest = -std::numeric_limits<float>::infinity();
    for (std::size_t i = 0; i < count; ++i) {
      scores[i] -= slope_ * (static_cast<float>(distance) - static_cast<float>(i));
      largest = std::max(largest, scores[i]);
    }
    return largest;
  }

  const float* query_;
  std::size_t head_dim_;
  float scale_, cap_, slope_;
  float *out_, *result_;  // of the segment; of all
  float maximum_, sum_;   // of the segment
  Segment before_;        // those before it, and the sink; values: null until one was taken
};

}  // namespace tulle
