// SPDX-License-Identifier: Apache-2.0
/// \file The loops of attention for several queries by a piece of keys and values, on vectors of 128 bits (L3).
///
/// A key that is loaded serves `queries_at_once` queries, and a score has the bits that `score_keys` gives: that adds
/// products in `lanes` sums, d = lane, lane + lanes, ... (`score_lanes`), and then the sums pairwise. Here a vector
/// holds one lane of several keys. So keys, and queries too, are first brought into the order of the additions: every
/// d of lane 0, then every d of lane 1, and so on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/model/attention_loop_128.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/simd128.hpp>

namespace tulle::detail {

/// The sums of `score_keys` for one key; 0 where a set has no loops for blocks.
template <class Isa>
inline constexpr std::size_t score_lanes = Isa::runs_avx2                      ? 8
                                           : std::is_same_v<Isa, isa::Simd128> ? 4
                                                                               : 0;

/// `scale_scores` of whole tiles of queries_at_once queries by scales of their own, which a set may interleave.
inline void scale_block(isa::Scalar tag, float* scores, const float* of_queries, const float* of_keys,
                        float* largest) noexcept {
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    largest[q] = scale_scores(tag, scores + q * weights_stride, attention_tile, of_queries[q], of_keys);
  }
}

/// `exponentials` of whole tiles of queries_at_once queries, which a set may interleave.
inline void exponentials_block(isa::Scalar tag, float* scores, const float* maximums, float* sums) noexcept {
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    sums[q] = exponentials(tag, scores + q * weights_stride, attention_tile, maximums[q]);
  }
}

#if defined(TULLE_SIMD128)

/// columns [size][attention_tile], in the order of the additions, of keys [count][size]. Up to 3 columns of keys behind
/// the last repeat it.
template <class Element>
TULLE_TARGET_SIMD128 void keys_to_columns(isa::Simd128, const Element* keys, std::size_t count, std::size_t size,
                                          float* columns) noexcept {
  using namespace simd128;
  for (std::size_t i = 0; i < count; i += 4) {
    const Element* rows[4];
    for (std::size_t k = 0; k < 4; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
    for (std::size_t d = 0; d < size; d += 4) {
      const F32x4 a = load4(rows[0] + d), b = load4(rows[1] + d), c = load4(rows[2] + d), e = load4(rows[3] + d);
      const F32x4 ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), ce = __builtin_shufflevector(c, e, 0, 4, 1, 5);
      const F32x4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7),
                  ce_high = __builtin_shufflevector(c, e, 2, 6, 3, 7);
      float* to = columns + d / 4 * attention_tile + i;
      const std::size_t lane = size / 4 * attention_tile;
      store(to, __builtin_shufflevector(ab, ce, 0, 1, 4, 5));
      store(to + lane, __builtin_shufflevector(ab, ce, 2, 3, 6, 7));
      store(to + 2 * lane, __builtin_shufflevector(ab_high, ce_high, 0, 1, 4, 5));
      store(to + 3 * lane, __builtin_shufflevector(ab_high, ce_high, 2, 3, 6, 7));
    }
  }
}

/// scores [queries_at_once], `weights_stride` apart, of `count` keys. Shapes: queries [size][queries_at_once] and
/// columns [size][attention_tile], both in the order of the additions.
TULLE_TARGET_SIMD128 inline void score_block(isa::Simd128, const float* queries, const float* columns,
                                             std::size_t count, std::size_t size, float* scores) noexcept {
  using namespace simd128;
  constexpr std::size_t vectors = 2;
  for (std::size_t i = 0; i < count; i += 4 * vectors) {
    F32x4 waiting[2][queries_at_once][vectors];  // sums of one lane, and of two
    const float* query = queries;
    const float* key = columns + i;
    for (std::size_t lane = 0; lane < 4; ++lane) {
      F32x4 sums[queries_at_once][vectors]{};
      for (std::size_t d = 0; d < size / 4; ++d, query += queries_at_once, key += attention_tile) {
        const F32x4 low = load4(key), high = load4(key + 4);
        TULLE_UNROLL
        for (std::size_t q = 0; q < queries_at_once; ++q) {
          sums[q][0] = multiply_add(splat(query[q]), low, sums[q][0]);
          sums[q][1] = multiply_add(splat(query[q]), high, sums[q][1]);
        }
      }
      TULLE_UNROLL
      for (std::size_t q = 0; q < queries_at_once; ++q) {
        TULLE_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) {
          F32x4 sum = sums[q][v];
          if (lane % 2 == 1) sum = waiting[0][q][v] + sum;
          if (lane == 3) store(scores + q * weights_stride + i + 4 * v, waiting[1][q][v] + sum);
          waiting[lane % 2][q][v] = sum;
        }
      }
    }
  }
}

/// out[q][d] += sum_i weights[q][i] * values[i][d], i in order, for queries_at_once queries and columns from `d` on.
template <std::size_t Vectors>
TULLE_TARGET_SIMD128 void add_block_columns128(const float* weights, const float* values, std::size_t count,
                                               std::size_t size, float* const* out, std::size_t d) noexcept {
  using namespace simd128;
  F32x4 sums[queries_at_once][Vectors];
  TULLE_UNROLL
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    TULLE_UNROLL
    for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = load4(out[q] + d + 4 * v);
  }
  for (std::size_t i = 0; i < count; ++i) {
    F32x4 row[Vectors];
    TULLE_UNROLL
    for (std::size_t v = 0; v < Vectors; ++v) row[v] = load4(values + i * size + d + 4 * v);
    TULLE_UNROLL
    for (std::size_t q = 0; q < queries_at_once; ++q) {
      const F32x4 weight = splat(weights[q * weights_stride + i]);
      TULLE_UNROLL
      for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = multiply_add(weight, row[v], sums[q][v]);
    }
  }
  TULLE_UNROLL
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    TULLE_UNROLL
    for (std::size_t v = 0; v < Vectors; ++v) store(out[q] + d + 4 * v, sums[q][v]);
  }
}

/// The same for all columns.
inline void add_block(isa::Simd128, const float* weights, const float* values, std::size_t count, std::size_t size,
                      float* const* out) noexcept {
  std::size_t d = 0;
  for (; d + 8 <= size; d += 8) add_block_columns128<2>(weights, values, count, size, out, d);
  for (; d < size; d += 4) add_block_columns128<1>(weights, values, count, size, out, d);
}

inline void scale_block(isa::Simd128 tag, float* scores, const float* of_queries, const float* of_keys,
                        float* largest) noexcept {
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    largest[q] = scale_scores(tag, scores + q * weights_stride, attention_tile, of_queries[q], of_keys);
  }
}

inline void exponentials_block(isa::Simd128 tag, float* scores, const float* maximums, float* sums) noexcept {
  for (std::size_t q = 0; q < queries_at_once; ++q) {
    sums[q] = exponentials(tag, scores + q * weights_stride, attention_tile, maximums[q]);
  }
}

#endif

}  // namespace tulle::detail
