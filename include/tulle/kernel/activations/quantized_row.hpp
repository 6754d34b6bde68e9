// SPDX-License-Identifier: Apache-2.0
/// \file One row of activations quantized to int8 codes, on every instruction set (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <tulle/kernel/int8/loop/dot_i8_simd128.hpp>
#include <tulle/tensor/simd128.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle {

/// Columns that share an activation scale. Integer kernels pad the columns of a matrix to a multiple of it.
/// Over f32 activations, SmolLM2's perplexity rises by 0.5 % with groups of 64 and by half of that with 32.
inline constexpr std::size_t group_columns = 32;
/// Columns whose codes are summed for kernels with an offset in their weights.
inline constexpr std::size_t sum_columns = 16;

/// Columns of one row that lie together in a tile: the operand of one byte permutation of 512 bits.
inline constexpr std::size_t chunk_columns = 64;

/// Where the code of a column lies in a tile of `width` rows, for row `lane` of it: [columns / 64][width][64].
constexpr std::size_t code_index(std::size_t column, std::size_t width, std::size_t lane) noexcept {
  return (column / chunk_columns * width + lane) * chunk_columns + column % chunk_columns;
}

namespace detail {

/// Row `lane` of a tile of `ActivationsI8`, to be written: x is about scale * code, code = round half even(x * 127 /
/// max|x|) over a group of columns or the row, in [-127, 127].
struct QuantizedRow {
  std::size_t columns, padded;  ///< padded to a multiple of 32
  bool scale_per_row;
  std::size_t width, lane;
  std::int8_t* codes;  ///< of the tile, as scales and sums
  float* scales;
  std::int32_t* sums;

  /// x [columns].
  void quantize(isa::Scalar, const float* x) const noexcept;
  /// The codes again, with an offset of 128, to the same places of `out`, on the sets that multiply those.
  template <class Isa>
  void copy_with_offset(Isa, std::uint8_t*) const noexcept {}
#if defined(TULLE_SIMD128)
  TULLE_TARGET_SIMD128 void quantize(isa::Simd128, const float* x) const noexcept;
#endif
#if defined(TULLE_X86)
  TULLE_TARGET_AVX2 void quantize(isa::Avx2, const float* x) const noexcept;
  void quantize(isa::Avx512, const float* x) const noexcept { quantize(isa::Avx2{}, x); }
  TULLE_TARGET_AVX512 void copy_with_offset(isa::Avx512, std::uint8_t* out) const noexcept {
    for (std::size_t column = 0; column < padded; column += chunk_columns) {
      const std::size_t at = code_index(column, width, lane);
      const __m512i chunk = _mm512_load_si512(codes + at);
      _mm512_store_si512(out + at, _mm512_xor_si512(chunk, _mm512_set1_epi8(static_cast<char>(0x80))));
    }
  }
#elif defined(__wasm_relaxed_simd__)
  void copy_with_offset(isa::Simd128, std::uint8_t* out) const noexcept {
    for (std::size_t column = 0; column < padded; column += sum_columns) {
      const std::size_t at = code_index(column, width, lane);
      wasm_v128_store(out + at, simd128::add_offset(wasm_v128_load(codes + at)));
    }
  }
#endif
  /// A lane beyond the last row: zeros.
  void clear() const noexcept;

 private:
  float maximum(const float* x) const noexcept;

  /// The group of x that begins at a column; the last one is filled up with zeros, in `tail` [32].
  const float* whole_group(const float* x, std::size_t begin, float* tail) const noexcept {
    if (begin + group_columns <= columns) return x + begin;
    std::fill(std::copy(x + begin, x + columns, tail), tail + group_columns, 0.0f);
    return tail;
  }

  /// The scale and its inverse for a group whose largest magnitude is `maximum`. A group of zeros has code 0;
  /// one with an infinity or a NaN has scale NaN, so that the result is NaN.
  static void scale_of(float maximum, float& scale, float& inverse) noexcept {
    const bool finite = maximum <= std::numeric_limits<float>::max();
    scale = finite ? maximum / 127.0f : std::numeric_limits<float>::quiet_NaN();
    // The smallest subnormals have no finite inverse; they count as zero.
    inverse = finite && maximum > 1e-36f ? 127.0f / maximum : 0.0f;
  }
};

inline void QuantizedRow::clear() const noexcept {
  for (std::size_t column = 0; column < padded; column += sum_columns) {
    std::fill_n(codes + code_index(column, width, lane), sum_columns, std::int8_t{0});
    sums[column / sum_columns * width + lane] = 0;
  }
  for (std::size_t group = 0; group < padded / group_columns; ++group) scales[group * width + lane] = 0;
}

inline float QuantizedRow::maximum(const float* x) const noexcept {
  float largest = 0;
  for (std::size_t column = 0; column < columns; ++column) {
    const float magnitude = std::fabs(x[column]);
    if (!(magnitude <= largest)) largest = magnitude;  // also takes a NaN
    if (std::isnan(largest)) break;
  }
  return largest;
}

inline void QuantizedRow::quantize(isa::Scalar, const float* x) const noexcept {
  float scale = 0, inverse = 0;
  if (scale_per_row) scale_of(maximum(x), scale, inverse);
  for (std::size_t begin = 0; begin < padded; begin += group_columns) {
    const std::size_t end = std::min(begin + group_columns, columns);
    if (!scale_per_row) {
      float largest = 0;
      for (std::size_t column = begin; column < end; ++column) {
        const float magnitude = std::fabs(x[column]);
        if (std::isnan(magnitude) || magnitude > largest) largest = magnitude;
        if (std::isnan(largest)) break;
      }
      scale_of(largest, scale, inverse);
    }
    scales[begin / group_columns * width + lane] = scale;
    for (std::size_t part = begin; part < begin + group_columns; part += sum_columns) {
      std::int32_t sum = 0;
      for (std::size_t column = part; column < part + sum_columns; ++column) {
        const float scaled = column < end && inverse != 0.0f ? std::nearbyint(x[column] * inverse) : 0.0f;
        const auto code = static_cast<std::int8_t>(scaled);
        codes[code_index(column, width, lane)] = code;
        sum += code;
      }
      sums[part / sum_columns * width + lane] = sum;
    }
  }
}

#if defined(TULLE_SIMD128)

TULLE_TARGET_SIMD128 inline void QuantizedRow::quantize(isa::Simd128, const float* x) const noexcept {
  using namespace simd128;
  float scale = 0, inverse = 0;
  if (scale_per_row) scale_of(maximum(x), scale, inverse);
  float tail[group_columns];
  for (std::size_t begin = 0; begin < padded; begin += group_columns) {
    const float* group = whole_group(x, begin, tail);
    if (!scale_per_row) {
      I32x4 largest{};  // magnitudes as integers: ordered like the floats, with NaN on top
      for (std::size_t i = 0; i < group_columns; i += 4) {
        const I32x4 magnitude = (I32x4)load4(group + i) & 0x7FFFFFFF;
        largest = magnitude > largest ? magnitude : largest;
      }
      const std::int32_t bits = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
      float peak;
      std::memcpy(&peak, &bits, sizeof peak);
      scale_of(peak, scale, inverse);
    }
    scales[begin / group_columns * width + lane] = scale;
    for (std::size_t part = begin; part < begin + group_columns; part += sum_columns) {
      I32x4 whole[4], sum_of_codes{};
      TULLE_UNROLL
      for (std::size_t i = 0; i < 4; ++i) {
        // Zeros, or a group that is not finite: the codes are 0, whatever x is.
        whole[i] = inverse == 0.0f ? I32x4{} : simd128::round(load4(group + (part - begin) + 4 * i) * splat(inverse));
        sum_of_codes += whole[i];
      }
      store(codes + code_index(part, width, lane), narrow(whole));
      sums[part / sum_columns * width + lane] = sum(sum_of_codes);
    }
  }
}

#endif

#if defined(TULLE_X86)

TULLE_TARGET_AVX2 inline void QuantizedRow::quantize(isa::Avx2, const float* x) const noexcept {
  const __m256 magnitude_mask = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  // packs of 32-bit lanes leave dwords in the order 0 4 1 5 2 6 3 7
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  float scale = 0, inverse = 0;
  if (scale_per_row) scale_of(maximum(x), scale, inverse);
  alignas(32) float tail[group_columns];
  for (std::size_t begin = 0; begin < padded; begin += group_columns) {
    const float* group = whole_group(x, begin, tail);
    __m256 values[4];
    __m256i largest = _mm256_setzero_si256();  // magnitudes as integers: ordered like the floats, with NaN on top
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      values[i] = _mm256_loadu_ps(group + 8 * i);
      largest = _mm256_max_epi32(largest, _mm256_castps_si256(_mm256_and_ps(values[i], magnitude_mask)));
    }
    if (!scale_per_row) {
      __m128i half = _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
      half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
      half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
      scale_of(_mm_cvtss_f32(_mm_castsi128_ps(half)), scale, inverse);
    }
    scales[begin / group_columns * width + lane] = scale;
    const __m256 factor = _mm256_set1_ps(inverse);
    __m256i whole[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      // Zeros, or a group that is not finite: the codes are 0, whatever x is.
      whole[i] = inverse == 0.0f ? _mm256_setzero_si256() : _mm256_cvtps_epi32(_mm256_mul_ps(values[i], factor));
    }
    const __m256i packed = _mm256_permutevar8x32_epi32(
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3])), order);
    // Sums of 16 codes: ones (u8) times codes, pairs to quads, then the quads of each 128-bit half.
    __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), packed), _mm256_set1_epi16(1));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4E));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xB1));
    const std::size_t part = begin / sum_columns;
    sums[part * width + lane] = _mm256_extract_epi32(sum, 0);
    sums[(part + 1) * width + lane] = _mm256_extract_epi32(sum, 4);
    const auto out = [&](std::size_t column) {
      return reinterpret_cast<__m128i*>(codes + code_index(column, width, lane));
    };
    _mm_store_si128(out(begin), _mm256_castsi256_si128(packed));
    _mm_store_si128(out(begin + sum_columns), _mm256_extracti128_si256(packed, 1));
  }
}

#endif

}  // namespace detail

}  // namespace tulle
