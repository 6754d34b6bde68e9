// SPDX-License-Identifier: Apache-2.0
/// \file The loops of attention for several queries by a piece of keys and values, on AVX2 and AVX-512 (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tulle/core/half.hpp>
#include <tulle/model/attention_block_128.hpp>
#include <tulle/model/attention_loop.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Four elements from each of two addresses, as floats.
TULLE_INLINE_AVX2 __m256 load4_twice(const float* low, const float* high) noexcept {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}
TULLE_INLINE_AVX2 __m256 load4_twice(const Half* low, const Half* high) noexcept {
  const auto load = [](const Half* from) { return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)); };
  return _mm256_cvtph_ps(_mm_unpacklo_epi64(load(low), load(high)));
}
TULLE_INLINE_AVX2 __m256 load4_twice(const std::int8_t* low, const std::int8_t* high) noexcept {
  const __m128i codes = _mm_unpacklo_epi32(_mm_loadu_si32(low), _mm_loadu_si32(high));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(codes));
}

/// columns [size][attention_tile], in the order of the additions, of keys [count][size]. Up to 7 columns of keys behind
/// the last repeat it.
template <class Element>
TULLE_TARGET_AVX2 void keys_to_columns(isa::Avx2, const Element* keys, std::size_t count, std::size_t size,
                                       float* columns) noexcept {
  const std::size_t lane = size / 8 * attention_tile;
  for (std::size_t i = 0; i < count; i += 8) {
    const Element* rows[8];
    for (std::size_t k = 0; k < 8; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
    for (std::size_t d = 0; d < size; d += 8) {
      float* to = columns + d / 8 * attention_tile + i;
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 8; half += 4, to += 4 * lane) {
        __m256 pairs[4], both[4];  // of rows 0 and 4, 1 and 5, ...
#pragma GCC unroll 4
        for (std::size_t k = 0; k < 4; ++k) both[k] = load4_twice(rows[k] + d + half, rows[k + 4] + d + half);
#pragma GCC unroll 2
        for (std::size_t k = 0; k < 4; k += 2) {
          pairs[k] = _mm256_unpacklo_ps(both[k], both[k + 1]);
          pairs[k + 1] = _mm256_unpackhi_ps(both[k], both[k + 1]);
        }
        _mm256_storeu_ps(to, _mm256_shuffle_ps(pairs[0], pairs[2], 0x44));
        _mm256_storeu_ps(to + lane, _mm256_shuffle_ps(pairs[0], pairs[2], 0xEE));
        _mm256_storeu_ps(to + 2 * lane, _mm256_shuffle_ps(pairs[1], pairs[3], 0x44));
        _mm256_storeu_ps(to + 3 * lane, _mm256_shuffle_ps(pairs[1], pairs[3], 0xEE));
      }
    }
  }
}

TULLE_TARGET_AVX2 inline void score_block(isa::Avx2, const float* queries, const float* columns, std::size_t count,
                                          std::size_t size, float* scores) noexcept {
  constexpr std::size_t vectors = 2;
  for (std::size_t i = 0; i < count; i += 8 * vectors) {
    __m256 waiting[3][queries_at_once][vectors];  // sums of one lane, of two, of four
    const float* query = queries;
    const float* key = columns + i;
    for (std::size_t lane = 0; lane < 8; ++lane) {
      __m256 sums[queries_at_once][vectors];
#pragma GCC unroll 4
      for (std::size_t q = 0; q < queries_at_once; ++q) sums[q][0] = sums[q][1] = _mm256_setzero_ps();
      for (std::size_t d = 0; d < size / 8; ++d, query += queries_at_once, key += attention_tile) {
        const __m256 low = _mm256_loadu_ps(key), high = _mm256_loadu_ps(key + 8);
#pragma GCC unroll 4
        for (std::size_t q = 0; q < queries_at_once; ++q) {
          const __m256 value = _mm256_broadcast_ss(query + q);
          sums[q][0] = _mm256_fmadd_ps(value, low, sums[q][0]);
          sums[q][1] = _mm256_fmadd_ps(value, high, sums[q][1]);
        }
      }
      std::size_t level = 0;
      for (; lane >> level & 1; ++level) {
#pragma GCC unroll 4
        for (std::size_t q = 0; q < queries_at_once; ++q) {
          sums[q][0] = _mm256_add_ps(waiting[level][q][0], sums[q][0]);
          sums[q][1] = _mm256_add_ps(waiting[level][q][1], sums[q][1]);
        }
      }
#pragma GCC unroll 4
      for (std::size_t q = 0; q < queries_at_once; ++q) {
#pragma GCC unroll 2
        for (std::size_t v = 0; v < vectors; ++v) {
          if (level < 3) {
            waiting[level][q][v] = sums[q][v];
          } else {
            _mm256_storeu_ps(scores + q * weights_stride + i + 8 * v, sums[q][v]);
          }
        }
      }
    }
  }
}

inline void add_block(isa::Avx2, const float* weights, const float* values, std::size_t count, std::size_t size,
                      float* const* out) noexcept {
  std::size_t d = 0;
  for (; d + 16 <= size; d += 16) add_columns<queries_at_once, 2>(weights, values, count, size, out, d);
  for (; d < size; d += 8) add_columns<queries_at_once, 1>(weights, values, count, size, out, d);
}

TULLE_TARGET_AVX2 inline void scale_block(isa::Avx2, float* scores, const float* of_queries, const float* of_keys,
                                          float* largest) noexcept {
  __m256 most[queries_at_once];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries_at_once; ++q) most[q] = _mm256_set1_ps(-std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < attention_tile; i += 8) {
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      float* at = scores + q * weights_stride + i;
      __m256 factor = _mm256_broadcast_ss(of_queries + q);
      if (of_keys != nullptr) factor = _mm256_mul_ps(factor, _mm256_loadu_ps(of_keys + i));
      const __m256 score = _mm256_mul_ps(_mm256_loadu_ps(at), factor);
      _mm256_storeu_ps(at, score);
      most[q] = _mm256_max_ps(score, most[q]);  // a NaN leaves `most` as it is
    }
  }
  for (std::size_t q = 0; q < queries_at_once; ++q) largest[q] = largest_of(most[q]);
}

TULLE_TARGET_AVX2 inline void exponentials_block(isa::Avx2, float* scores, const float* maximums,
                                                 float* sums) noexcept {
  __m256 each[queries_at_once];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries_at_once; ++q) each[q] = _mm256_setzero_ps();
  for (std::size_t i = 0; i < attention_tile; i += 8) {
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      float* at = scores + q * weights_stride + i;
      const __m256 value = exponential(_mm256_sub_ps(_mm256_loadu_ps(at), _mm256_broadcast_ss(maximums + q)));
      _mm256_storeu_ps(at, value);
      each[q] = _mm256_add_ps(each[q], value);
    }
  }
  for (std::size_t q = 0; q < queries_at_once; ++q) sums[q] = sum_of_lanes(each[q]);
}

template <class Element>
void keys_to_columns(isa::Avx512, const Element* keys, std::size_t count, std::size_t size, float* columns) noexcept {
  keys_to_columns(isa::Avx2{}, keys, count, size, columns);
}

/// 16 * Vectors keys.
template <std::size_t Vectors>
TULLE_TARGET_AVX512 void score_block_keys(const float* query, const float* key, std::size_t size,
                                          float* scores) noexcept {
  __m512 waiting[3][queries_at_once][Vectors];
  for (std::size_t lane = 0; lane < 8; ++lane) {
    __m512 sums[queries_at_once][Vectors];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm512_setzero_ps();
    }
    for (std::size_t d = 0; d < size / 8; ++d, query += queries_at_once, key += attention_tile) {
      __m512 keys[Vectors];
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) keys[v] = _mm512_loadu_ps(key + 16 * v);
#pragma GCC unroll 4
      for (std::size_t q = 0; q < queries_at_once; ++q) {
        const __m512 value = _mm512_set1_ps(query[q]);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm512_fmadd_ps(value, keys[v], sums[q][v]);
      }
    }
    std::size_t level = 0;
    for (; lane >> level & 1; ++level) {
#pragma GCC unroll 4
      for (std::size_t q = 0; q < queries_at_once; ++q) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm512_add_ps(waiting[level][q][v], sums[q][v]);
      }
    }
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) {
        if (level < 3) {
          waiting[level][q][v] = sums[q][v];
        } else {
          _mm512_storeu_ps(scores + q * weights_stride + 16 * v, sums[q][v]);
        }
      }
    }
  }
}

inline void score_block(isa::Avx512, const float* queries, const float* columns, std::size_t count, std::size_t size,
                        float* scores) noexcept {
  if (count > 32) {
    score_block_keys<4>(queries, columns, size, scores);
  } else if (count > 16) {
    score_block_keys<2>(queries, columns, size, scores);
  } else {
    score_block_keys<1>(queries, columns, size, scores);
  }
}

template <std::size_t Vectors>
TULLE_TARGET_AVX512 void add_block_columns512(const float* weights, const float* values, std::size_t count,
                                              std::size_t size, float* const* out, std::size_t d) noexcept {
  __m512 sums[queries_at_once][Vectors];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries_at_once; ++q) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm512_loadu_ps(out[q] + d + 16 * v);
  }
  for (std::size_t i = 0; i < count; ++i) {
    __m512 row[Vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) row[v] = _mm512_loadu_ps(values + i * size + d + 16 * v);
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      const __m512 weight = _mm512_set1_ps(weights[q * weights_stride + i]);
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm512_fmadd_ps(weight, row[v], sums[q][v]);
    }
  }
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries_at_once; ++q) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) _mm512_storeu_ps(out[q] + d + 16 * v, sums[q][v]);
  }
}

inline void add_block(isa::Avx512, const float* weights, const float* values, std::size_t count, std::size_t size,
                      float* const* out) noexcept {
  std::size_t d = 0;
  for (; d + 64 <= size; d += 64) add_block_columns512<4>(weights, values, count, size, out, d);
  for (; d + 32 <= size; d += 32) add_block_columns512<2>(weights, values, count, size, out, d);
  for (; d + 16 <= size; d += 16) add_block_columns512<1>(weights, values, count, size, out, d);
  if (d < size) add_columns<queries_at_once, 1>(weights, values, count, size, out, d);
}

TULLE_TARGET_AVX512 inline void scale_block(isa::Avx512, float* scores, const float* of_queries, const float* of_keys,
                                            float* largest) noexcept {
  __m512 most[queries_at_once];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries_at_once; ++q) most[q] = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  for (std::size_t i = 0; i < attention_tile; i += 16) {
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      float* at = scores + q * weights_stride + i;
      __m512 factor = _mm512_set1_ps(of_queries[q]);
      if (of_keys != nullptr) factor = _mm512_mul_ps(factor, _mm512_loadu_ps(of_keys + i));
      const __m512 score = _mm512_mul_ps(_mm512_loadu_ps(at), factor);
      _mm512_storeu_ps(at, score);
      most[q] = _mm512_max_ps(score, most[q]);
    }
  }
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    largest[q] = largest_of(_mm256_max_ps(_mm512_castps512_ps256(most[q]), _mm512_extractf32x8_ps(most[q], 1)));
  }
}

TULLE_TARGET_AVX512 inline void exponentials_block(isa::Avx512, float* scores, const float* maximums,
                                                   float* sums) noexcept {
  __m256 each[queries_at_once];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < queries_at_once; ++q) each[q] = _mm256_setzero_ps();
  for (std::size_t i = 0; i < attention_tile; i += 16) {
#pragma GCC unroll 4
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      float* at = scores + q * weights_stride + i;
      const __m512 value = exponential(_mm512_sub_ps(_mm512_loadu_ps(at), _mm512_set1_ps(maximums[q])));
      _mm512_storeu_ps(at, value);
      each[q] = _mm256_add_ps(_mm256_add_ps(each[q], _mm512_castps512_ps256(value)), _mm512_extractf32x8_ps(value, 1));
    }
  }
  for (std::size_t q = 0; q < queries_at_once; ++q) sums[q] = sum_of_lanes(each[q]);
}

}  // namespace tulle::detail

#endif
