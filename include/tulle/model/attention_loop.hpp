// SPDX-License-Identifier: Apache-2.0
/// \file The inner loops of attention over rows of keys and values, on every instruction set (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include <tulle/core/half.hpp>
#include <tulle/model/attention_loop_128.hpp>
#include <tulle/tensor/ops_avx2.hpp>

namespace tulle::detail {

#if defined(TULLE_X86)

template <class Element>
TULLE_TARGET_AVX2 void score_keys(isa::Avx2, const float* query, const Element* keys, std::size_t count,
                                  std::size_t size, float* scores) noexcept {
  const std::size_t whole = size / 8 * 8;
  for (std::size_t i = 0; i < count; i += 4) {
    // Four rows at a time share the horizontal additions; a last group repeats its final row.
    const Element* rows[4];
    __m256 sums[4];
    float tails[4] = {};
#pragma GCC unroll 4
    for (std::size_t k = 0; k < 4; ++k) {
      rows[k] = keys + std::min(i + k, count - 1) * size;
      sums[k] = _mm256_setzero_ps();
    }
    for (std::size_t d = 0; d < whole; d += 8) {
      const __m256 q = _mm256_loadu_ps(query + d);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) sums[k] = _mm256_fmadd_ps(q, load8(rows[k] + d), sums[k]);
    }
    for (std::size_t d = whole; d < size; ++d) {
      for (std::size_t k = 0; k < 4; ++k) tails[k] += query[d] * element_value(rows[k][d]);
    }
    const __m256 pairs = _mm256_hadd_ps(_mm256_hadd_ps(sums[0], sums[1]), _mm256_hadd_ps(sums[2], sums[3]));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
    alignas(16) float out[4];
    _mm_store_ps(out, _mm_add_ps(four, _mm_loadu_ps(tails)));
    for (std::size_t k = 0; k < 4 && i + k < count; ++k) scores[i + k] = out[k];
  }
}

/// `add_values` to 8 * Vectors columns of every out[q], by the weights at q * weights_stride: enough independent sums to
/// hide the latency of the addition.
template <std::size_t Queries, std::size_t Vectors, class Element>
TULLE_TARGET_AVX2 void add_columns(const float* weights, const Element* values, std::size_t count, std::size_t size,
                                   float* const* out, std::size_t d) noexcept {
  __m256 sums[Queries][Vectors];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm256_loadu_ps(out[q] + d + 8 * v);
  }
  for (std::size_t i = 0; i < count; ++i) {
    __m256 weight[Queries];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Queries; ++q) weight[q] = _mm256_broadcast_ss(weights + q * weights_stride + i);
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) {
      const __m256 row = load8(values + i * size + d + 8 * v);
#pragma GCC unroll 4
      for (std::size_t q = 0; q < Queries; ++q) sums[q][v] = _mm256_fmadd_ps(weight[q], row, sums[q][v]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t q = 0; q < Queries; ++q) {
#pragma GCC unroll 8
    for (std::size_t v = 0; v < Vectors; ++v) _mm256_storeu_ps(out[q] + d + 8 * v, sums[q][v]);
  }
}

template <class Element>
TULLE_TARGET_AVX2 void add_values(isa::Avx2, const float* weights, const Element* values, std::size_t count,
                                  std::size_t size, float* out) noexcept {
  std::size_t d = 0;
  for (; d + 64 <= size; d += 64) add_columns<1, 8>(weights, values, count, size, &out, d);
  for (; d + 32 <= size; d += 32) add_columns<1, 4>(weights, values, count, size, &out, d);
  for (; d + 8 <= size; d += 8) add_columns<1, 1>(weights, values, count, size, &out, d);
  for (; d < size; ++d) {
    for (std::size_t i = 0; i < count; ++i) out[d] = std::fma(weights[i], element_value(values[i * size + d]), out[d]);
  }
}

/// The largest of eight.
TULLE_INLINE_AVX2 float largest_of(__m256 most) noexcept {
  __m128 four = _mm_max_ps(_mm256_castps256_ps128(most), _mm256_extractf128_ps(most, 1));
  four = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return std::max(_mm_cvtss_f32(four), _mm_cvtss_f32(_mm_movehdup_ps(four)));
}

TULLE_TARGET_AVX2 inline float scale_scores(isa::Avx2, float* scores, std::size_t count, float scale,
                                            const float* scales) noexcept {
  const __m256 common = _mm256_set1_ps(scale);
  __m256 most = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 factor = scales == nullptr ? common : _mm256_mul_ps(common, _mm256_loadu_ps(scales + i));
    const __m256 score = _mm256_mul_ps(_mm256_loadu_ps(scores + i), factor);
    _mm256_storeu_ps(scores + i, score);
    most = _mm256_max_ps(score, most);  // a NaN leaves `most` as it is, as std::max does
  }
  const float rest =
      scale_scores(isa::Scalar{}, scores + i, count - i, scale, scales == nullptr ? nullptr : scales + i);
  return std::max(largest_of(most), rest);
}

template <class Element>
TULLE_TARGET_AVX2 void to_floats(isa::Avx2, const Element* from, std::size_t count, float* to) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) _mm256_storeu_ps(to + i, load8(from + i));
  for (; i < count; ++i) to[i] = element_value(from[i]);
}

/// `scores` has room for a multiple of 8.
TULLE_TARGET_AVX2 inline float exponentials(isa::Avx2, float* scores, std::size_t count, float maximum) noexcept {
  const __m256 top = _mm256_set1_ps(maximum);
  __m256 sums = _mm256_setzero_ps();
  for (std::size_t i = 0; i < count; i += 8) {
    const __m256i index =
        _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(static_cast<int>(i)));
    const __m256 inside = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), index));
    const __m256 value = _mm256_and_ps(inside, exponential(_mm256_sub_ps(_mm256_loadu_ps(scores + i), top)));
    _mm256_storeu_ps(scores + i, value);
    sums = _mm256_add_ps(sums, value);
  }
  return sum_of_lanes(sums);
}

/// scores[q * weights_stride + i]: query q by key i. Size is a multiple of 8; up to 3 scores behind the last are
/// written too.
template <std::size_t Queries, class Element>
TULLE_TARGET_AVX2 void score_few(const float* const* queries, const Element* keys, std::size_t count, std::size_t size,
                                 float* scores) noexcept {
  static_assert(Queries >= 1 && Queries <= queries_at_once);
  constexpr std::size_t at_once = Queries == 4 ? 2 : 4;  // keys, so that the sums fit into the registers
  for (std::size_t i = 0; i < count; i += at_once) {
    const Element* rows[at_once];  // a last group repeats its final row
    __m256 sums[Queries * at_once];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < at_once; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
#pragma GCC unroll 12
    for (std::size_t j = 0; j < Queries * at_once; ++j) sums[j] = _mm256_setzero_ps();
    for (std::size_t d = 0; d < size; d += 8) {
      __m256 query[Queries];
#pragma GCC unroll 4
      for (std::size_t q = 0; q < Queries; ++q) query[q] = _mm256_loadu_ps(queries[q] + d);
#pragma GCC unroll 4
      for (std::size_t k = 0; k < at_once; ++k) {
        const __m256 key = load8(rows[k] + d);
#pragma GCC unroll 4
        for (std::size_t q = 0; q < Queries; ++q) {
          sums[q * at_once + k] = _mm256_fmadd_ps(query[q], key, sums[q * at_once + k]);
        }
      }
    }
#pragma GCC unroll 3
    for (std::size_t j = 0; j < Queries * at_once; j += 4) {
      const __m256 pairs =
          _mm256_hadd_ps(_mm256_hadd_ps(sums[j], sums[j + 1]), _mm256_hadd_ps(sums[j + 2], sums[j + 3]));
      const __m128 four = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps(pairs, 1));
      float* to = scores + j / at_once * weights_stride + i;
      if constexpr (at_once == 4) {
        _mm_storeu_ps(to, four);
      } else {
        _mm_storel_pi(reinterpret_cast<__m64*>(to), four);
        _mm_storeh_pi(reinterpret_cast<__m64*>(to + weights_stride), four);
      }
    }
  }
}

/// Of `number` queries, at most queries_at_once.
template <class Element>
void score_few(const float* const* queries, std::size_t number, const Element* keys, std::size_t count,
               std::size_t size, float* scores) noexcept {
  with_count(number, [&](auto q) { score_few<q>(queries, keys, count, size, scores); });
}

/// All columns of `number` queries, at most queries_at_once; size is a multiple of 8.
template <class Element>
void add_few(const float* weights, std::size_t number, const Element* values, std::size_t count, std::size_t size,
             float* const* out) noexcept {
  with_count(number, [&](auto q) {
    constexpr std::size_t vectors = q == 1 ? 8 : q == 4 ? 2 : 4;  // as many sums as fit into the registers
    std::size_t d = 0;
    for (; d + 8 * vectors <= size; d += 8 * vectors) {
      add_columns<q, vectors>(weights, values, count, size, out, d);
    }
    for (; d < size; d += 8) add_columns<q, 1>(weights, values, count, size, out, d);
  });
}

// One query at a time, the rows of a head are too short for wider vectors to pay.
template <class Element>
void score_keys(isa::Avx512, const float* query, const Element* keys, std::size_t count, std::size_t size,
                float* scores) noexcept {
  score_keys(isa::Avx2{}, query, keys, count, size, scores);
}
template <class Element>
void add_values(isa::Avx512, const float* weights, const Element* values, std::size_t count, std::size_t size,
                float* out) noexcept {
  add_values(isa::Avx2{}, weights, values, count, size, out);
}
template <class Element>
TULLE_TARGET_AVX512 void to_floats(isa::Avx512, const Element* from, std::size_t count, float* to) noexcept {
  std::size_t i = 0;
  for (; i + 16 <= count; i += 16) _mm512_storeu_ps(to + i, load16(from + i));
  to_floats(isa::Avx2{}, from + i, count - i, to + i);
}
inline float scale_scores(isa::Avx512, float* scores, std::size_t count, float scale, const float* scales) noexcept {
  return scale_scores(isa::Avx2{}, scores, count, scale, scales);
}

/// The bits of `exponential` for x <= 88.
TULLE_INLINE_AVX512 __m512 exponential(__m512 x) noexcept {
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.0f / 720);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, _mm512_set1_ps(-87.0f), _CMP_NLT_UQ), p, n);
}

/// `scores` has room for a multiple of 16. The sum is that of AVX2.
TULLE_TARGET_AVX512 inline float exponentials(isa::Avx512, float* scores, std::size_t count, float maximum) noexcept {
  const __m512 top = _mm512_set1_ps(maximum);
  __m256 sums = _mm256_setzero_ps();
  for (std::size_t i = 0; i < count; i += 16) {
    const auto inside = static_cast<__mmask16>((1u << std::min<std::size_t>(count - i, 16)) - 1);
    const __m512 value = _mm512_maskz_mov_ps(inside, exponential(_mm512_sub_ps(_mm512_loadu_ps(scores + i), top)));
    _mm512_storeu_ps(scores + i, value);
    sums = _mm256_add_ps(_mm256_add_ps(sums, _mm512_castps512_ps256(value)), _mm512_extractf32x8_ps(value, 1));
  }
  return sum_of_lanes(sums);
}

#endif

}  // namespace tulle::detail
