// SPDX-License-Identifier: Apache-2.0
/// \file Activations as 14-bit codes with one scale per row, for kernels whose products span groups of columns (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle {

/// x is about scale * code; code = round half even(x * 8127 / max|x|).
///
/// For a few rows a code is 128 high + low, both in [-64, 63], stored as bytes with a bias of 64: an int8 weight
/// multiplies each in one unsigned by signed product that cannot saturate. Per row high [stride], low [stride]; 64
/// bytes from any column on may be read. For a batch on AVX2 and AVX-512, codes are int16: per tile of 16 or 32 rows
/// [columns][tile].
class ActivationsI14 {
 public:
  static constexpr int offset = 64;                    ///< what is added to high and low
  static constexpr int offset_of_both = 129 * offset;  ///< and so to 128 high + low
  static constexpr std::size_t readable = 64;          ///< bytes that may be read from any column on
  /// Rows of a batch whose codes of a column lie side by side: a register of the instruction set. 0: no such form.
  template <class Isa>
  static constexpr std::size_t tile_of = std::is_base_of_v<isa::Avx2, Isa>  ? 16
                                         : std::is_same_v<isa::Avx512, Isa> ? 32
                                                                            : 0;
  /// From this number of rows on, lists of the weights (`EllPairs`) are faster (bench/README).
  template <class Isa>
  static constexpr std::size_t many_inputs = std::is_same_v<isa::Avx512, Isa> ? 128 : 32;

  /// Room for `max_inputs` rows of at most `max_columns` columns. Errors: memory.
  ActivationsI14(std::size_t max_inputs, std::size_t max_columns)
      : codes_(round_up(max_inputs, tile_of<isa::Avx512>) * 2 * stride_of(max_columns), Uninitialized{}),
        scales_(max_inputs, Uninitialized{}),
        inverses_(max_inputs, Uninitialized{}) {}

  /// Sets the number of rows and columns that follow.
  template <class Isa>
  void start(std::size_t inputs, std::size_t columns) noexcept {
    inputs_ = inputs;
    columns_ = columns;
    tile_ = with_instruction_set<Isa>([&]<class Tag>(Tag) { return inputs < many_inputs<Tag> ? 0 : tile_of<Tag>; });
  }

  std::size_t inputs() const noexcept { return inputs_; }
  std::size_t size_bytes() const noexcept {
    return codes_.size_bytes() + scales_.size_bytes() + inverses_.size_bytes();
  }
  std::size_t tile() const noexcept { return tile_; }  ///< 0: few rows
  bool many() const noexcept { return tile_ > 0; }     ///< codes are int16
  std::size_t stride() const noexcept { return stride_of(columns_); }
  const std::uint8_t* high(std::size_t input) const noexcept { return codes_.data() + input * 2 * stride(); }
  const std::uint8_t* low(std::size_t input) const noexcept { return high(input) + stride(); }
  /// Of the tile that begins at row `input`, [columns][tile]; lanes beyond the last row hold anything.
  const std::int16_t* codes(std::size_t input) const noexcept {
    return reinterpret_cast<const std::int16_t*>(codes_.data()) + input * columns_;
  }
  float scale(std::size_t input) const noexcept { return scales_[input]; }

  /// Quantizes the rows of `range`. x [rows, columns]. A row with an infinity or a NaN gets scale NaN and codes 0.
  template <class Isa>
  void quantize(MatrixView<const float> x, RowRange range) noexcept {
    with_instruction_set<Isa>([&](auto tag) {
      for (std::size_t input = range.begin; input < range.end;) input += quantize_from(tag, x, {input, range.end});
    });
  }

 private:
  static constexpr float largest = 8127;

  /// Quantizes the first row of `range`, or the first 8 of a tile while L2 holds them; returns how many.
  template <class Tag>
  std::size_t quantize_from(Tag tag, MatrixView<const float> x, RowRange range) noexcept {
    const std::size_t first = range.begin;
#if defined(TULLE_X86)
    if constexpr (tile_of<Tag> > 0) {
      if (many() && first % 8 == 0 && first + 8 <= range.end) {
        for (std::size_t input = first; input < first + 8; ++input) set_scale(input, magnitude(tag, x[input]));
        encode_eight(x, first);
        return 8;
      }
    }
#endif
    set_scale(first, magnitude(tag, x[first]));
    encode(tag, x[first], inverses_[first], out_of(first));
    return 1;
  }

  void set_scale(std::size_t input, float maximum) noexcept {
    const bool finite = maximum <= std::numeric_limits<float>::max();
    scales_[input] = finite ? maximum / largest : std::numeric_limits<float>::quiet_NaN();
    // The smallest subnormals have no finite inverse; they count as zero.
    inverses_[input] = finite && maximum > 1e-34f ? largest / maximum : 0.0f;
  }

  std::uint8_t* out_of(std::size_t input) noexcept {
    if (!many()) return codes_.data() + input * 2 * stride();
    return codes_.data() + (input / tile_ * tile_ * columns_ + input % tile_) * sizeof(std::int16_t);
  }

  /// An odd number of cache lines, so that one column of many rows does not fall into one set of a cache.
  static constexpr std::size_t stride_of(std::size_t columns) noexcept {
    return (round_up(columns + readable, 64) / 64 | 1) * 64;
  }

  /// The largest |x|; a NaN where one is.
  float magnitude(isa::Scalar, const float* x, std::size_t begin = 0, float maximum = 0) const noexcept {
    for (std::size_t column = begin; column < columns_ && !std::isnan(maximum); ++column) {
      if (!(std::fabs(x[column]) <= maximum)) maximum = std::fabs(x[column]);
    }
    return maximum;
  }

  void encode(isa::Scalar, const float* x, float inverse, std::uint8_t* out, std::size_t begin = 0) const noexcept {
    for (std::size_t column = begin; column < columns_; ++column) {
      const auto code = static_cast<int>(inverse == 0.0f ? 0.0f : std::nearbyint(x[column] * inverse));
      if (many()) {
        reinterpret_cast<std::int16_t*>(out)[column * tile_] = static_cast<std::int16_t>(code);
      } else {
        const int high = (code + offset) >> 7;
        out[column] = static_cast<std::uint8_t>(high + offset);
        out[stride() + column] = static_cast<std::uint8_t>(code - 128 * high + offset);
      }
    }
  }
  float magnitude(isa::Simd128, const float* x) const noexcept { return magnitude(isa::Scalar{}, x); }
  void encode(isa::Simd128, const float* x, float inverse, std::uint8_t* out) const noexcept {
    encode(isa::Scalar{}, x, inverse, out);
  }
#if defined(TULLE_X86)
  TULLE_TARGET_AVX2 float magnitude(isa::Avx2, const float* x) const noexcept {
    const __m256i mask = _mm256_set1_epi32(0x7FFFFFFF);
    __m256i largest_bits = _mm256_setzero_si256();  // magnitudes as integers: ordered like the floats, with NaN on top
    std::size_t column = 0;
    for (; column + 8 <= columns_; column += 8) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + column));
      largest_bits = _mm256_max_epi32(largest_bits, _mm256_and_si256(bits, mask));
    }
    alignas(32) float lanes[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), largest_bits);
    float maximum = 0;
    for (const float lane : lanes) {
      if (!std::isnan(maximum) && !(lane <= maximum)) maximum = lane;
    }
    return magnitude(isa::Scalar{}, x, column, maximum);
  }
  float magnitude(isa::Avx512, const float* x) const noexcept { return magnitude(isa::Avx2{}, x); }

  TULLE_TARGET_AVX2 void encode(isa::Avx2, const float* x, float inverse, std::uint8_t* out) const noexcept {
    const __m256 factor = _mm256_set1_ps(inverse);
    const __m256i half = _mm256_set1_epi16(offset);
    std::size_t column = 0;
    for (; column + 16 <= columns_ && inverse != 0.0f && !many(); column += 16) {
      const __m256i codes = _mm256_permute4x64_epi64(codes16(x + column, factor), 0xD8);
      const __m256i high = _mm256_srai_epi16(_mm256_add_epi16(codes, half), 7);
      const __m256i low = _mm256_sub_epi16(codes, _mm256_slli_epi16(high, 7));
      // [8 high, 8 low] of either half of the columns, then both highs and both lows
      const __m256i bytes = _mm256_permute4x64_epi64(
          _mm256_packus_epi16(_mm256_add_epi16(high, half), _mm256_add_epi16(low, half)), 0xD8);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + column), _mm256_castsi256_si128(bytes));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + stride() + column), _mm256_extracti128_si256(bytes, 1));
    }
    encode(isa::Scalar{}, x, inverse, out, column);
  }
  void encode(isa::Avx512, const float* x, float inverse, std::uint8_t* out) const noexcept {
    encode(isa::Avx2{}, x, inverse, out);
  }

  /// Codes of 16 columns: 0 to 3, 8 to 11, 4 to 7, 12 to 15.
  TULLE_INLINE_AVX2 static __m256i codes16(const float* x, __m256 factor) noexcept {
    return _mm256_packs_epi32(_mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), factor)),
                              _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), factor)));
  }

  /// 8 rows of a tile at a time, so that their codes of a column are written at once.
  TULLE_TARGET_AVX2 void encode_eight(MatrixView<const float> x, std::size_t first) noexcept {
    auto* const out = reinterpret_cast<std::int16_t*>(out_of(first));
    std::size_t column = 0;
    for (; column + 16 <= columns_; column += 16) {
      __m256i rows[8], pairs[8], fours[8];
#pragma GCC unroll 8
      for (std::size_t i = 0; i < 8; ++i) {
        const float inverse = inverses_[first + i];
        const __m256i codes = codes16(x[first + i] + column, _mm256_set1_ps(inverse));
        rows[i] = inverse == 0.0f ? _mm256_setzero_si256() : codes;  // of an infinity or a NaN
      }
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        pairs[i] = _mm256_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
        pairs[i + 4] = _mm256_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
      }
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        fours[2 * i] = _mm256_unpacklo_epi32(pairs[2 * i], pairs[2 * i + 1]);
        fours[2 * i + 1] = _mm256_unpackhi_epi32(pairs[2 * i], pairs[2 * i + 1]);
      }
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        // Rows 0 to 3 and 4 to 7, the codes of two columns each: i % 2 * 2 and the next, or 8 columns after them.
        const std::size_t of = i / 2 * 4 + i % 2, at = column + i / 2 * 8 + i % 2 * 2;
        const __m256i even = _mm256_unpacklo_epi64(fours[of], fours[of + 2]),
                      odd = _mm256_unpackhi_epi64(fours[of], fours[of + 2]);
        store_column(out, at, _mm256_castsi256_si128(even));
        store_column(out, at + 1, _mm256_castsi256_si128(odd));
        store_column(out, at + 4, _mm256_extracti128_si256(even, 1));
        store_column(out, at + 5, _mm256_extracti128_si256(odd, 1));
      }
    }
    for (std::size_t i = 0; i < 8; ++i)
      encode(isa::Scalar{}, x[first + i], inverses_[first + i], out_of(first + i), column);
  }
  TULLE_INLINE_AVX2 void store_column(std::int16_t* out, std::size_t column, __m128i codes) const noexcept {
    _mm_store_si128(reinterpret_cast<__m128i*>(out + column * tile_), codes);
  }
#endif

  AlignedBuffer<std::uint8_t> codes_;
  AlignedBuffer<float> scales_, inverses_;
  std::size_t inputs_ = 0, columns_ = 0;
  std::size_t tile_ = 0;
};

}  // namespace tulle
