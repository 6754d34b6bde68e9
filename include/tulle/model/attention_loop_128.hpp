// SPDX-License-Identifier: Apache-2.0
/// \file The inner loops of attention in plain C++, the reference of the other sets, and on vectors of 128 bits (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/half.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/simd128.hpp>

namespace tulle::detail {

/// Queries that are multiplied by a loaded key or value.
inline constexpr std::size_t queries_at_once = 4;

/// What a query gives the rows of a piece: scores, then weights. Some more are written.
struct alignas(64) PieceWeights : std::array<float, attention_tile + 16> {};
/// Floats from the weights of a query to those of the next.
inline constexpr std::size_t weights_stride = sizeof(PieceWeights) / sizeof(float);

/// Calls `run(std::integral_constant<std::size_t, count>)`, 1 <= count <= queries_at_once.
template <class Run>
void with_count(std::size_t count, Run&& run) noexcept {
  switch (count) {
    case 1: return run(std::integral_constant<std::size_t, 1>{});
    case 2: return run(std::integral_constant<std::size_t, 2>{});
    case 3: return run(std::integral_constant<std::size_t, 3>{});
    default: return run(std::integral_constant<std::size_t, queries_at_once>{});
  }
}

inline float element_value(float value) noexcept {
  return value;
}
inline float element_value(Half value) noexcept {
  return to_float(value);
}
inline float element_value(std::int8_t value) noexcept {
  return static_cast<float>(value);
}

/// scores[i] = sum_d query[d] * keys[i][d] for `count` rows of `size` elements. The order of each sum depends on `size`
/// alone. `Isa` chooses the loop.
template <class Element>
void score_keys(isa::Scalar, const float* query, const Element* keys, std::size_t count, std::size_t size,
                float* scores) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::size_t d = 0; d < size; ++d) sum = std::fma(query[d], element_value(keys[i * size + d]), sum);
    scores[i] = sum;
  }
}

/// out[d] += sum_i weights[i] * values[i][d], i in order, by fma.
template <class Element>
void add_values(isa::Scalar, const float* weights, const Element* values, std::size_t count, std::size_t size,
                float* out) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < size; ++d) out[d] = std::fma(weights[i], element_value(values[i * size + d]), out[d]);
  }
}

/// scores[i] *= scale, and by scales[i] where those are not null; returns the largest.
inline float scale_scores(isa::Scalar, float* scores, std::size_t count, float scale, const float* scales) noexcept {
  float largest = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] *= scales == nullptr ? scale : scale * scales[i];
    largest = std::max(largest, scores[i]);
  }
  return largest;
}

/// Elements as floats.
template <class Element>
void to_floats(isa::Scalar, const Element* from, std::size_t count, float* to) noexcept {
  for (std::size_t i = 0; i < count; ++i) to[i] = element_value(from[i]);
}

/// scores[i] = exp(scores[i] - maximum) in place; returns their sum, added in order. maximum >= every score.
inline float exponentials(isa::Scalar, float* scores, std::size_t count, float maximum) noexcept {
  float sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    scores[i] = std::exp(scores[i] - maximum);
    sum += scores[i];
  }
  return sum;
}

#if defined(TULLE_SIMD128)

/// What `exp_of_negative` needs, in memory as `simd128::HalfConstants` are.
struct ExpConstants {
  simd128::F32x4 least, log2_e, minus_ln_2[2], coefficients[7];
  simd128::I32x4 bias;
};
inline constexpr ExpConstants exp_constants{
    simd128::splat(-87.0f),
    simd128::splat(1.44269504f),
    {simd128::splat(-0.693359375f), simd128::splat(2.12194440e-4f)},
    {simd128::splat(1.0f / 720), simd128::splat(1.0f / 120), simd128::splat(1.0f / 24), simd128::splat(1.0f / 6),
     simd128::splat(0.5f), simd128::splat(1.0f), simd128::splat(1.0f)},
    simd128::splat(127)};

/// exp(x) for x <= 0, as on AVX2: 2^n * p(r), n = round(x / ln 2), r = x - n ln 2 in two steps (Cody, Waite), p of
/// degree 6. Below -87 the result is 0; a NaN stays one.
TULLE_INLINE_SIMD128 simd128::F32x4 exp_of_negative(simd128::F32x4 x) noexcept {
  using namespace simd128;
  const ExpConstants& of = *load_again(&exp_constants);
  const I32x4 vanishes = x < of.least;
  const I32x4 n = simd128::round((F32x4)((I32x4)x & ~vanishes) * of.log2_e);  // of 0 where it vanishes
  const F32x4 whole = as_floats(n);
  const F32x4 r = multiply_add(whole, of.minus_ln_2[1], multiply_add(whole, of.minus_ln_2[0], x));
  F32x4 p = of.coefficients[0];
  TULLE_UNROLL
  for (std::size_t i = 1; i < 7; ++i) p = multiply_add(p, r, of.coefficients[i]);
  const F32x4 result = p * (F32x4)((n + of.bias) << 23);
  const I32x4 broken = x != x;
  return (F32x4)(((I32x4)result & ~vanishes & ~broken) | ((I32x4)x & broken));
}

/// The sum of each of four vectors, as (0 + 1) + (2 + 3).
TULLE_INLINE_SIMD128 simd128::F32x4 sums_of(const simd128::F32x4* four) noexcept {
  using simd128::F32x4;
  const auto low = [&](int i) { return __builtin_shufflevector(four[i], four[i + 1], 0, 4, 1, 5); };
  const auto high = [&](int i) { return __builtin_shufflevector(four[i], four[i + 1], 2, 6, 3, 7); };
  const auto sums_of_pairs = [](F32x4 a, F32x4 b) {
    return __builtin_shufflevector(a, b, 0, 1, 4, 5) + __builtin_shufflevector(a, b, 2, 3, 6, 7);
  };
  return sums_of_pairs(low(0), low(2)) + sums_of_pairs(high(0), high(2));
}

template <class Element>
TULLE_TARGET_SIMD128 void score_keys(isa::Simd128, const float* query, const Element* keys, std::size_t count,
                                     std::size_t size, float* scores) noexcept {
  using namespace simd128;
  constexpr std::size_t at_once = 8;
  const std::size_t whole = size / 4 * 4;
  for (std::size_t i = 0; i < count; i += at_once) {
    const Element* rows[at_once];  // a last group repeats its final row
    F32x4 sums[at_once]{};
    TULLE_UNROLL
    for (std::size_t k = 0; k < at_once; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
    for (std::size_t d = 0; d < whole; d += 4) {
      const F32x4 q = load4(query + d);
      TULLE_UNROLL
      for (std::size_t k = 0; k < at_once; ++k) sums[k] = multiply_add(q, load4(rows[k] + d), sums[k]);
    }
    alignas(16) float out[at_once];
    TULLE_UNROLL
    for (std::size_t k = 0; k < at_once; k += 4) store(out + k, sums_of(sums + k));
    for (std::size_t k = 0; k < at_once && i + k < count; ++k) {
      float tail = 0;
      for (std::size_t d = whole; d < size; ++d) tail += query[d] * static_cast<float>(element_value(rows[k][d]));
      scores[i + k] = out[k] + tail;
    }
  }
}

/// 4 * Vectors columns of rows that are `size` apart: enough independent sums to hide the latency of the addition.
template <std::size_t Vectors, class Element>
TULLE_TARGET_SIMD128 void add_columns128(const float* weights, const Element* values, std::size_t count,
                                         std::size_t size, float* out) noexcept {
  using namespace simd128;
  F32x4 sums[Vectors];
  TULLE_UNROLL
  for (std::size_t k = 0; k < Vectors; ++k) sums[k] = load4(out + 4 * k);
  for (std::size_t i = 0; i < count; ++i) {
    const F32x4 weight = splat(weights[i]);
    const Element* row = values + i * size;
    TULLE_UNROLL
    for (std::size_t k = 0; k < Vectors; ++k) sums[k] = multiply_add(weight, load4(row + 4 * k), sums[k]);
  }
  TULLE_UNROLL
  for (std::size_t k = 0; k < Vectors; ++k) store(out + 4 * k, sums[k]);
}

template <class Element>
TULLE_TARGET_SIMD128 void add_values(isa::Simd128, const float* weights, const Element* values, std::size_t count,
                                     std::size_t size, float* out) noexcept {
  std::size_t d = 0;
  for (; d + 32 <= size; d += 32) add_columns128<8>(weights, values + d, count, size, out + d);
  for (; d + 4 <= size; d += 4) add_columns128<1>(weights, values + d, count, size, out + d);
  for (; d < size; ++d) {
    for (std::size_t i = 0; i < count; ++i) out[d] += weights[i] * element_value(values[i * size + d]);
  }
}

TULLE_TARGET_SIMD128 inline float scale_scores(isa::Simd128, float* scores, std::size_t count, float scale,
                                               const float* scales) noexcept {
  using namespace simd128;
  F32x4 most = splat(-std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const F32x4 score = load4(scores + i) * (scales == nullptr ? splat(scale) : splat(scale) * load4(scales + i));
    store(scores + i, score);
    most = most < score ? score : most;  // a NaN leaves `most` as it is
  }
  float largest = scale_scores(isa::Scalar{}, scores + i, count - i, scale, scales == nullptr ? nullptr : scales + i);
  for (int lane = 0; lane < 4; ++lane) largest = std::max(largest, float{most[lane]});
  return largest;
}

template <class Element>
TULLE_TARGET_SIMD128 void to_floats(isa::Simd128, const Element* from, std::size_t count, float* to) noexcept {
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) simd128::store(to + i, simd128::load4(from + i));
  for (; i < count; ++i) to[i] = element_value(from[i]);
}

/// `scores` has room for a multiple of 8.
TULLE_TARGET_SIMD128 inline float exponentials(isa::Simd128, float* scores, std::size_t count, float maximum) noexcept {
  using namespace simd128;
  std::fill(scores + count, scores + (count + 3) / 4 * 4,
            -std::numeric_limits<float>::infinity());  // of which nothing is left
  F32x4 sums{};
  for (std::size_t i = 0; i < count; i += 4) {
    const F32x4 value = exp_of_negative(load4(scores + i) - splat(maximum));
    store(scores + i, value);
    sums += value;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

#endif

}  // namespace tulle::detail
