// SPDX-License-Identifier: Apache-2.0
/// \file The loops of attention on int8 keys and values, multiplied as integers, on AVX2 and AVX-512 (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <tulle/model/attention_codes_128.hpp>
#include <tulle/tensor/ops_avx2.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

TULLE_TARGET_AVX2 inline float to_codes(isa::Avx2, const float* x, const float* factors, std::size_t count,
                                        std::int16_t* codes) noexcept {
  const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i most = _mm256_setzero_si256();  // magnitudes as integers: ordered like the floats, with NaN on top
  for (std::size_t i = 0; i < count; i += 8) {
    __m256 value = _mm256_loadu_ps(x + i);
    if (factors != nullptr) value = _mm256_mul_ps(value, _mm256_loadu_ps(factors + i));
    most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(value), mask));
  }
  const auto [scale, inverse] = ScaleOfCodes::of(largest_of(most));
  for (std::size_t i = 0; i < count; i += 16) {
    __m256i whole[2];
#pragma GCC unroll 2
    for (std::size_t k = 0; k < 2; ++k) {
      __m256 value = _mm256_loadu_ps(x + i + 8 * k);
      if (factors != nullptr) value = _mm256_mul_ps(value, _mm256_loadu_ps(factors + i + 8 * k));
      const __m256i code = _mm256_cvtps_epi32(_mm256_mul_ps(value, _mm256_set1_ps(inverse)));
      whole[k] = inverse == 0 ? _mm256_setzero_si256() : code;
    }
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(whole[0], whole[1]), 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i), packed);
  }
  return scale;
}

TULLE_TARGET_AVX2 inline void pair_keys(isa::Avx2, const std::int8_t* keys, std::size_t count, std::size_t size,
                                        std::int16_t* pairs) noexcept {
  const std::size_t whole = size / 32 * 32;
  for (std::size_t i = 0; i < count; i += 8) {
    const std::int8_t* rows[8];  // a last group repeats its final row
    for (std::size_t k = 0; k < 8; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
    std::int16_t* to = pairs + 2 * i;
    constexpr std::size_t step = 2 * attention_tile;
    for (std::size_t d = 0; d < whole; d += 32, to += 16 * step) {
      // Twice 8 pairs of 8 keys: each transposed in three steps.
      __m256i a[8], b[8];
#pragma GCC unroll 8
      for (std::size_t k = 0; k < 8; ++k) a[k] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows[k] + d));
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        b[2 * k] = _mm256_unpacklo_epi16(a[k], a[k + 4]);
        b[2 * k + 1] = _mm256_unpackhi_epi16(a[k], a[k + 4]);
      }
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        a[2 * k] = _mm256_unpacklo_epi16(b[k], b[k + 4]);
        a[2 * k + 1] = _mm256_unpackhi_epi16(b[k], b[k + 4]);
      }
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) {
        b[2 * k] = _mm256_unpacklo_epi16(a[k], a[k + 4]);
        b[2 * k + 1] = _mm256_unpackhi_epi16(a[k], a[k + 4]);
      }
#pragma GCC unroll 8
      for (std::size_t k = 0; k < 8; ++k) {
        const __m128i low = _mm256_castsi256_si128(b[k]), high = _mm256_extracti128_si256(b[k], 1);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + k * step), _mm256_cvtepi8_epi16(low));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + (k + 8) * step), _mm256_cvtepi8_epi16(high));
      }
    }
    for (std::size_t d = whole; d < size; d += 2, to += step) {
      for (std::size_t k = 0; k < 8; ++k) {
        to[2 * k] = rows[k][d];
        to[2 * k + 1] = d + 1 < size ? rows[k][d + 1] : std::int8_t{0};
      }
    }
  }
}

TULLE_TARGET_AVX2 inline void pair_values(isa::Avx2, const std::int8_t* values, std::size_t count, std::size_t size,
                                          std::int16_t* pairs) noexcept {
  const std::size_t whole = size / 16 * 16;
  for (std::size_t i = 0; i < count; i += 2, pairs += 2 * size) {
    const std::int8_t* row = values + i * size;
    const bool odd = i + 1 == count;
    for (std::size_t d = 0; d < whole; d += 16) {
      const auto load = [](const std::int8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); };
      const __m128i first = load(row + d), second = odd ? _mm_setzero_si128() : load(row + size + d);
      auto* to = reinterpret_cast<__m256i*>(pairs + 2 * d);
      _mm256_storeu_si256(to, _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second)));
      _mm256_storeu_si256(to + 1, _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second)));
    }
    for (std::size_t d = whole; d < size; ++d) {
      pairs[2 * d] = row[d];
      pairs[2 * d + 1] = odd ? std::int8_t{0} : row[size + d];
    }
  }
}

template <std::size_t Rows>
TULLE_TARGET_AVX2 void multiply_pairs256(const CodeRows& of, const PairLanes& by, float* const* out,
                                         const Ahead& ahead) noexcept {
  constexpr std::size_t vectors = 2;
  for (std::size_t lane = 0; lane < by.lanes; lane += 8 * vectors) {
    __m256i sums[Rows][vectors];
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Rows; ++q) sums[q][0] = sums[q][1] = _mm256_setzero_si256();
    const Ahead part = ahead.part(by, lane, 8 * vectors);
    for (std::size_t pair = 0; pair < by.count; ++pair) {
      part.fetch(pair);
      const auto* at = reinterpret_cast<const __m256i*>(by.at(pair, lane));
      const __m256i low = _mm256_loadu_si256(at), high = _mm256_loadu_si256(at + 1);
#pragma GCC unroll 4
      for (std::size_t q = 0; q < Rows; ++q) {
        const __m256i codes = _mm256_set1_epi32(of.pair(q, pair));
        sums[q][0] = _mm256_add_epi32(sums[q][0], _mm256_madd_epi16(low, codes));
        sums[q][1] = _mm256_add_epi32(sums[q][1], _mm256_madd_epi16(high, codes));
      }
    }
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Rows; ++q) {
#pragma GCC unroll 2
      for (std::size_t v = 0; v < vectors; ++v) {
        float* to = out[q] + lane + 8 * v;
        __m256 product = _mm256_cvtepi32_ps(sums[q][v]);
        if (of.scales != nullptr) product = _mm256_fmadd_ps(_mm256_set1_ps(of.scales[q]), product, _mm256_loadu_ps(to));
        _mm256_storeu_ps(to, product);
      }
    }
  }
}

inline void multiply_pairs(isa::Avx2, const CodeRows& of, std::size_t rows, const PairLanes& by, float* const* out,
                           const Ahead& ahead) noexcept {
  with_count(rows, [&](auto count) { multiply_pairs256<count>(of, by, out, ahead); });
}

/// The largest lane of sixteen magnitudes as integers, as a float.
TULLE_INLINE_AVX512 float largest_of(__m512i most) noexcept {
  return largest_of(_mm256_max_epi32(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1)));
}

/// `to_codes` of 16 * Vectors floats.
template <std::size_t Vectors>
TULLE_INLINE_AVX512 float to_codes512(const float* x, const float* factors, std::int16_t* codes) noexcept {
  __m512 values[Vectors];
  __m512i most = _mm512_setzero_si512();  // magnitudes as integers
#pragma GCC unroll 4
  for (std::size_t v = 0; v < Vectors; ++v) {
    values[v] = _mm512_loadu_ps(x + 16 * v);
    if (factors != nullptr) values[v] = _mm512_mul_ps(values[v], _mm512_loadu_ps(factors + 16 * v));
    most = _mm512_max_epi32(most, _mm512_castps_si512(_mm512_abs_ps(values[v])));
  }
  const auto [scale, inverse] = ScaleOfCodes::of(largest_of(most));
  const __mmask16 counts = inverse == 0 ? 0 : 0xFFFF;
#pragma GCC unroll 4
  for (std::size_t v = 0; v < Vectors; ++v) {
    const __m512i whole = _mm512_maskz_cvtps_epi32(counts, _mm512_mul_ps(values[v], _mm512_set1_ps(inverse)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + 16 * v), _mm512_cvtsepi32_epi16(whole));
  }
  return scale;
}

TULLE_TARGET_AVX512 inline float to_codes(isa::Avx512, const float* x, const float* factors, std::size_t count,
                                          std::int16_t* codes) noexcept {
  if (count == attention_tile) return to_codes512<4>(x, factors, codes);
  return to_codes(isa::Avx2{}, x, factors, count, codes);
}

inline void pair_keys(isa::Avx512, const std::int8_t* keys, std::size_t count, std::size_t size,
                      std::int16_t* pairs) noexcept {
  pair_keys(isa::Avx2{}, keys, count, size, pairs);
}
inline void pair_values(isa::Avx512, const std::int8_t* values, std::size_t count, std::size_t size,
                        std::int16_t* pairs) noexcept {
  pair_values(isa::Avx2{}, values, count, size, pairs);
}

/// 16 * Vectors lanes from `lane` on.
template <std::size_t Rows, std::size_t Vectors>
TULLE_TARGET_AVX512 void multiply_pairs512(const CodeRows& of, const PairLanes& by, std::size_t lane, float* const* out,
                                           const Ahead& ahead) noexcept {
  __m512i sums[Rows][Vectors];
#pragma GCC unroll 4
  for (std::size_t q = 0; q < Rows; ++q) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = _mm512_setzero_si512();
  }
  const Ahead part = ahead.part(by, lane, 16 * Vectors);
  for (std::size_t pair = 0; pair < by.count; ++pair) {
    part.fetch(pair);
    __m512i lanes[Vectors];
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) lanes[v] = _mm512_loadu_si512(by.at(pair, lane + 16 * v));
#pragma GCC unroll 4
    for (std::size_t q = 0; q < Rows; ++q) {
      const __m512i codes = _mm512_set1_epi32(of.pair(q, pair));
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Vectors; ++v) sums[q][v] = dot_words(sums[q][v], lanes[v], codes);
    }
  }
#pragma GCC unroll 4
  for (std::size_t q = 0; q < Rows; ++q) {
#pragma GCC unroll 4
    for (std::size_t v = 0; v < Vectors; ++v) {
      float* to = out[q] + lane + 16 * v;
      __m512 product = _mm512_cvtepi32_ps(sums[q][v]);
      if (of.scales != nullptr) product = _mm512_fmadd_ps(_mm512_set1_ps(of.scales[q]), product, _mm512_loadu_ps(to));
      _mm512_storeu_ps(to, product);
    }
  }
}

inline void multiply_pairs(isa::Avx512, const CodeRows& of, std::size_t rows, const PairLanes& by, float* const* out,
                           const Ahead& ahead) noexcept {
  with_count(rows, [&](auto count) {
    std::size_t lane = 0;
    for (; lane + 64 <= by.lanes; lane += 64) multiply_pairs512<count, 4>(of, by, lane, out, ahead);
    for (; lane + 32 <= by.lanes; lane += 32) multiply_pairs512<count, 2>(of, by, lane, out, ahead);
    for (; lane < by.lanes; lane += 16) multiply_pairs512<count, 1>(of, by, lane, out, ahead);
  });
}

}  // namespace tulle::detail

#endif
