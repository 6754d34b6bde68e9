// SPDX-License-Identifier: Apache-2.0
/// \file The inner loops of attention on vectors of 128 bits (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tulle/model/attention_loop_scalar.hpp>
#include <tulle/tensor/simd128.hpp>

#if defined(TULLE_SIMD128)

namespace tulle::detail {

/// exp(x) for x <= 0, as on AVX2: 2^n * p(r), n = round(x / ln 2), r = x - n ln 2 in two steps (Cody, Waite), p of degree 6.
/// Below -87 the result is 0; a NaN stays one.
TULLE_INLINE_SIMD128 simd128::F32x4 exp_of_negative(simd128::F32x4 x) noexcept {
  using namespace simd128;
  const I32x4 vanishes = x < -87.0f;
  const I32x4 n = simd128::round((F32x4)((I32x4)x & ~vanishes) * 1.44269504f);  // of 0 where it vanishes
  const F32x4 whole = as_floats(n);
  F32x4 r = multiply_add(whole, splat(-0.693359375f), x);
  r = multiply_add(whole, splat(2.12194440e-4f), r);
  F32x4 p = splat(1.0f / 720);
  for (const float coefficient : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) p = multiply_add(p, r, splat(coefficient));
  const F32x4 result = p * (F32x4)((n + 127) << 23);
  const I32x4 broken = x != x;
  return (F32x4)(((I32x4)result & ~vanishes & ~broken) | ((I32x4)x & broken));
}

template <class Element>
TULLE_TARGET_SIMD128 void score_keys(isa::Simd128, const float* query, const Element* keys, std::size_t count,
                                     std::size_t size, float* scores) noexcept {
  using namespace simd128;
  const std::size_t whole = size / 4 * 4;
  for (std::size_t i = 0; i < count; i += 4) {
    const Element* rows[4];  // a last group repeats its final row
    F32x4 sums[4]{};
    TULLE_UNROLL
    for (std::size_t k = 0; k < 4; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
    for (std::size_t d = 0; d < whole; d += 4) {
      const F32x4 q = load4(query + d);
      TULLE_UNROLL
      for (std::size_t k = 0; k < 4; ++k) sums[k] = multiply_add(q, load4(rows[k] + d), sums[k]);
    }
    TULLE_UNROLL
    for (std::size_t k = 0; k < 4; ++k) {
      if (i + k >= count) break;
      float tail = 0;
      for (std::size_t d = whole; d < size; ++d) tail += query[d] * static_cast<float>(element_value(rows[k][d]));
      scores[i + k] = (sums[k][0] + sums[k][1]) + (sums[k][2] + sums[k][3]) + tail;
    }
  }
}

/// 4 * Vectors columns of rows that are `size` apart: sums enough that none waits for itself.
template <std::size_t Vectors, class Element>
TULLE_TARGET_SIMD128 void add_columns128(const float* weights, const Element* values, std::size_t count, std::size_t size,
                                         float* out) noexcept {
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
  F32x4 sums{};
  for (std::size_t i = 0; i < count; i += 4) {
    const auto at = static_cast<std::int32_t>(i);
    const I32x4 inside = I32x4{at, at + 1, at + 2, at + 3} < static_cast<std::int32_t>(count);
    const F32x4 value = (F32x4)((I32x4)exp_of_negative(load4(scores + i) - splat(maximum)) & inside);
    store(scores + i, value);
    sums += value;
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace tulle::detail

#endif
