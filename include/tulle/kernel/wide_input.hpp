// SPDX-License-Identifier: Apache-2.0
/// \file Activations as 14-bit codes with one scale per input: for kernels that cannot keep to groups of columns (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle {

/// x is about scale * code; code = round half even(x * 8127 / max|x|).
///
/// For a few inputs a code is 128 high + low, both in [-64, 63], as bytes that hold them plus 64: an int8 weight multiplies
/// each in one unsigned by signed product that cannot saturate. Per input high [stride], low [stride]; every column can be
/// followed by 64 bytes that may be read. For many inputs on AVX2, codes are int16: per tile of 16 inputs [columns][16].
class WideInput {
 public:
  static constexpr int offset = 64;            ///< what is added to high and low
  static constexpr int offset_of_both = 129 * offset;  ///< and so to 128 high + low
  static constexpr std::size_t readable = 64;  ///< bytes that may be read from any column on
  static constexpr std::size_t many_inputs = 64;  ///< from there on lists of the weights are worth making on AVX2
  static constexpr std::size_t tile = 16;         ///< inputs whose codes of a column lie side by side then

  /// Room for `most_inputs` rows of at most `most_columns` columns. Errors: memory.
  WideInput(std::size_t most_inputs, std::size_t most_columns)
      : codes_(round_up(most_inputs, tile) * 2 * stride_of(most_columns)), scales_(most_inputs) {}

  /// Says how many inputs follow, of how many columns.
  template <class Isa>
  void start(std::size_t inputs, std::size_t columns) noexcept {
    inputs_ = inputs;
    columns_ = columns;
    many_ = inputs >= many_inputs && with_instruction_set<Isa>([]<class Tag>(Tag) {
              return std::is_same_v<isa::WithoutDots<Tag>, isa::Avx2>;
            });
  }

  std::size_t inputs() const noexcept { return inputs_; }
  bool many() const noexcept { return many_; }  ///< codes are int16
  std::size_t stride() const noexcept { return stride_of(columns_); }
  const std::uint8_t* high(std::size_t input) const noexcept { return codes_.data() + input * 2 * stride(); }
  const std::uint8_t* low(std::size_t input) const noexcept { return high(input) + stride(); }
  /// Of the tile that begins at `input`, [columns][16]; lanes without an input hold anything.
  const std::int16_t* codes(std::size_t input) const noexcept {
    return reinterpret_cast<const std::int16_t*>(codes_.data()) + input * columns_;
  }
  float scale(std::size_t input) const noexcept { return scales_[input]; }

  /// Quantizes the inputs of `range`. x [inputs, columns]. An input with an infinity or a NaN gets scale NaN and codes 0.
  template <class Isa>
  void quantize(MatrixView<const float> x, RowRange range) noexcept {
    with_instruction_set<Isa>([&](auto tag) {
      for (std::size_t input = range.begin; input < range.end; ++input) {
        const float maximum = magnitude(tag, x[input]);
        const bool finite = maximum <= std::numeric_limits<float>::max();
        scales_[input] = finite ? maximum / largest : std::numeric_limits<float>::quiet_NaN();
        // The smallest subnormals have no finite inverse; they count as zero.
        encode(tag, x[input], finite && maximum > 1e-34f ? largest / maximum : 0.0f, out_of(input));
      }
    });
  }

 private:
  static constexpr float largest = 8127;

  std::uint8_t* out_of(std::size_t input) noexcept {
    if (!many()) return codes_.data() + input * 2 * stride();
    return codes_.data() + (input / tile * tile * columns_ + input % tile) * sizeof(std::int16_t);
  }

  /// Odd in lines of 64 bytes, so that the same column of many inputs does not fall into one set of a cache.
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
        reinterpret_cast<std::int16_t*>(out)[column * tile] = static_cast<std::int16_t>(code);
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
    for (; column + 16 <= columns_ && inverse != 0.0f; column += 16) {
      const __m256i a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + column), factor));
      const __m256i b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + column + 8), factor));
      const __m256i codes = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xD8);
      if (many()) {
        alignas(32) std::int16_t of_columns[16];
        _mm256_store_si256(reinterpret_cast<__m256i*>(of_columns), codes);
        for (std::size_t i = 0; i < 16; ++i) reinterpret_cast<std::int16_t*>(out)[(column + i) * tile] = of_columns[i];
        continue;
      }
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
#endif

  AlignedBuffer<std::uint8_t> codes_;
  AlignedBuffer<float> scales_;
  std::size_t inputs_ = 0, columns_ = 0;
  bool many_ = false;
};

}  // namespace tulle
