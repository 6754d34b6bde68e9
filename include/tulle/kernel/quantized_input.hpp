// SPDX-License-Identifier: Apache-2.0
/// \file Activations as int8 codes with one scale per 32 columns: the input of every integer kernel (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/matrix_view.hpp>
#include <tulle/tensor/simd128.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle {

/// Columns that share an activation scale. Integer kernels pad the columns of a matrix to a multiple of it.
/// Over f32 activations, SmolLM2's perplexity rises by 0.5 % with groups of 64 and by half of that with 32.
inline constexpr std::size_t group_columns = 32;
/// Columns whose codes are summed for kernels with an offset in their weights.
inline constexpr std::size_t sum_columns = 16;

/// Columns of one input that lie together in a tile: what one byte permutation of 512 bits can choose from.
inline constexpr std::size_t chunk_columns = 64;

/// Where the code of a column lies in a tile of `width` inputs, for input `lane` of it: [columns / 64][width][64].
constexpr std::size_t code_index(std::size_t column, std::size_t width, std::size_t lane) noexcept {
  return (column / chunk_columns * width + lane) * chunk_columns + column % chunk_columns;
}

/// x is about scale * code; code = round half even(x * 127 / max|x|) over the group, in [-127, 127].
/// Layout per tile of `width` inputs: codes [columns / 64][width][64] (the last chunk may end after 32), scales
/// [columns / 32][width], sums [columns / 16][width]. For AVX-512 there are codes + 128 too, from which weights choose theirs.
class QuantizedInput {
 public:
  /// Room for `most_inputs` rows of at most `most_columns` columns. Errors: memory.
  QuantizedInput(std::size_t most_inputs, std::size_t most_columns)
      : codes_(round_up(most_inputs, tile_inputs) * round_up(most_columns, chunk_columns)),
        scales_(codes_.size() / group_columns),
        sums_(codes_.size() / sum_columns) {
#if defined(TULLE_X86)
    offset_codes_ = AlignedBuffer<std::uint8_t>(codes_.size());
#endif
  }

  /// Says how many inputs follow, of how many columns, and whether a whole row shares one scale ("per token").
  void start(std::size_t inputs, std::size_t columns, bool scale_per_row) noexcept {
    inputs_ = inputs;
    columns_ = columns;
    padded_ = round_up(columns, group_columns);
    scale_per_row_ = scale_per_row;
  }

  std::size_t inputs() const noexcept { return inputs_; }
  std::size_t padded_columns() const noexcept { return padded_; }

  const std::int8_t* codes(const InputTile& tile) const noexcept { return codes_.data() + begin_of(tile); }
  const std::uint8_t* offset_codes(const InputTile& tile) const noexcept { return offset_codes_.data() + begin_of(tile); }
  const float* scales(const InputTile& tile) const noexcept { return scales_.data() + tile.first * (padded_ / group_columns); }
  const std::int32_t* sums(const InputTile& tile) const noexcept { return sums_.data() + tile.first * (padded_ / sum_columns); }
  /// Of the codes of `Columns` columns from `begin` on.
  template <std::size_t Columns>
  std::int32_t sum_of(const InputTile& tile, std::size_t begin, std::size_t lane) const noexcept {
    std::int32_t sum = 0;
#pragma GCC unroll 4
    for (std::size_t column = 0; column < Columns; column += sum_columns) {
      sum += sums(tile)[(begin + column) / sum_columns * tile.width + lane];
    }
    return sum;
  }

  /// Quantizes the inputs of `range` (begins at a multiple of 8). x [inputs, columns].
  template <class Isa>
  void quantize(MatrixView<const float> x, RowRange range) noexcept;

 private:
  void quantize_row(isa::Scalar, const float* x, const InputTile& tile, std::size_t lane) noexcept;
#if defined(TULLE_SIMD128)
  TULLE_TARGET_SIMD128 void quantize_row(isa::Simd128, const float* x, const InputTile& tile, std::size_t lane) noexcept;
#endif
#if defined(TULLE_X86)
  TULLE_TARGET_AVX2 void quantize_row(isa::Avx2, const float* x, const InputTile& tile, std::size_t lane) noexcept;
  TULLE_TARGET_AVX512 void quantize_row(isa::Avx512, const float* x, const InputTile& tile, std::size_t lane) noexcept {
    quantize_row(isa::Avx2{}, x, tile, lane);
    for (std::size_t column = 0; column < padded_; column += chunk_columns) {
      const std::size_t at = begin_of(tile) + code_index(column, tile.width, lane);
      const __m512i codes = _mm512_load_si512(codes_.data() + at);
      _mm512_store_si512(offset_codes_.data() + at, _mm512_xor_si512(codes, _mm512_set1_epi8(static_cast<char>(0x80))));
    }
  }
#endif
  std::size_t begin_of(const InputTile& tile) const noexcept { return tile.first * round_up(padded_, chunk_columns); }
  void clear_lane(const InputTile& tile, std::size_t lane) noexcept;
  float row_maximum(const float* x) const noexcept;

  /// The group of x that begins at a column; the last one is filled up with zeros, in `tail` [32].
  const float* whole_group(const float* x, std::size_t begin, float* tail) const noexcept {
    if (begin + group_columns <= columns_) return x + begin;
    std::fill(std::copy(x + begin, x + columns_, tail), tail + group_columns, 0.0f);
    return tail;
  }

  /// The scale and what x is multiplied with for a group whose largest magnitude is `maximum`. A group of zeros has code 0;
  /// one with an infinity or a NaN has scale NaN, so that it shows in the result.
  static void scale_of(float maximum, float& scale, float& inverse) noexcept {
    const bool finite = maximum <= std::numeric_limits<float>::max();
    scale = finite ? maximum / 127.0f : std::numeric_limits<float>::quiet_NaN();
    // The smallest subnormals have no finite inverse; they count as zero.
    inverse = finite && maximum > 1e-36f ? 127.0f / maximum : 0.0f;
  }

  AlignedBuffer<std::int8_t> codes_;
  AlignedBuffer<std::uint8_t> offset_codes_;
  AlignedBuffer<float> scales_;
  AlignedBuffer<std::int32_t> sums_;
  std::size_t inputs_ = 0, columns_ = 0, padded_ = 0;
  bool scale_per_row_ = false;
};

template <class Isa>
void QuantizedInput::quantize(MatrixView<const float> x, RowRange range) noexcept {
  for (std::size_t first = range.begin; first < range.end; first += tile_inputs) {
    const InputTile tile = input_tile(first, inputs_);
    for (std::size_t lane = 0; lane < tile.width; ++lane) {
      if (lane < tile.inputs) {
        with_instruction_set<Isa>([&](auto tag) { quantize_row(tag, x[first + lane], tile, lane); });
      } else {
        clear_lane(tile, lane);
      }
    }
  }
}

inline void QuantizedInput::clear_lane(const InputTile& tile, std::size_t lane) noexcept {
  auto* codes = const_cast<std::int8_t*>(this->codes(tile));
  for (std::size_t column = 0; column < padded_; column += sum_columns) {
    std::fill_n(codes + code_index(column, tile.width, lane), sum_columns, std::int8_t{0});
  }
  auto* scales = const_cast<float*>(this->scales(tile));
  for (std::size_t group = 0; group < padded_ / group_columns; ++group) scales[group * tile.width + lane] = 0;
  auto* sums = const_cast<std::int32_t*>(this->sums(tile));
  for (std::size_t part = 0; part < padded_ / sum_columns; ++part) sums[part * tile.width + lane] = 0;
}

inline float QuantizedInput::row_maximum(const float* x) const noexcept {
  float maximum = 0;
  for (std::size_t column = 0; column < columns_; ++column) {
    const float magnitude = std::fabs(x[column]);
    if (!(magnitude <= maximum)) maximum = magnitude;  // also takes a NaN
    if (std::isnan(maximum)) break;
  }
  return maximum;
}

inline void QuantizedInput::quantize_row(isa::Scalar, const float* x, const InputTile& tile, std::size_t lane) noexcept {
  auto* codes = const_cast<std::int8_t*>(this->codes(tile));
  auto* scales = const_cast<float*>(this->scales(tile));
  auto* sums = const_cast<std::int32_t*>(this->sums(tile));
  float scale = 0, inverse = 0;
  if (scale_per_row_) scale_of(row_maximum(x), scale, inverse);
  for (std::size_t begin = 0; begin < padded_; begin += group_columns) {
    const std::size_t end = std::min(begin + group_columns, columns_);
    if (!scale_per_row_) {
      float maximum = 0;
      for (std::size_t column = begin; column < end; ++column) {
        const float magnitude = std::fabs(x[column]);
        if (std::isnan(magnitude) || magnitude > maximum) maximum = magnitude;
        if (std::isnan(maximum)) break;
      }
      scale_of(maximum, scale, inverse);
    }
    scales[begin / group_columns * tile.width + lane] = scale;
    for (std::size_t part = begin; part < begin + group_columns; part += sum_columns) {
      std::int32_t sum = 0;
      for (std::size_t column = part; column < part + sum_columns; ++column) {
        const float scaled = column < end && inverse != 0.0f ? std::nearbyint(x[column] * inverse) : 0.0f;
        const auto code = static_cast<std::int8_t>(scaled);
        codes[code_index(column, tile.width, lane)] = code;
        sum += code;
      }
      sums[part / sum_columns * tile.width + lane] = sum;
    }
  }
}

#if defined(TULLE_SIMD128)

TULLE_TARGET_SIMD128 inline void QuantizedInput::quantize_row(isa::Simd128, const float* x, const InputTile& tile,
                                                              std::size_t lane) noexcept {
  using namespace simd128;
  auto* codes = const_cast<std::int8_t*>(this->codes(tile));
  auto* scales = const_cast<float*>(this->scales(tile));
  auto* sums = const_cast<std::int32_t*>(this->sums(tile));
  float scale = 0, inverse = 0;
  if (scale_per_row_) scale_of(row_maximum(x), scale, inverse);
  float tail[group_columns];
  for (std::size_t begin = 0; begin < padded_; begin += group_columns) {
    const float* group = whole_group(x, begin, tail);
    if (!scale_per_row_) {
      I32x4 largest{};  // magnitudes as integers: ordered like the floats, with NaN on top
      for (std::size_t i = 0; i < group_columns; i += 4) {
        const I32x4 magnitude = (I32x4)load4(group + i) & 0x7FFFFFFF;
        largest = magnitude > largest ? magnitude : largest;
      }
      const std::int32_t most = std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3]));
      float maximum;
      std::memcpy(&maximum, &most, sizeof maximum);
      scale_of(maximum, scale, inverse);
    }
    scales[begin / group_columns * tile.width + lane] = scale;
    for (std::size_t part = begin; part < begin + group_columns; part += sum_columns) {
      I32x4 sum_of_codes{};
      std::int8_t* out = codes + code_index(part, tile.width, lane);
      for (std::size_t i = 0; i < sum_columns; i += 4) {
        // Zeros, or a group that is not finite: no product with x may decide a code.
        const I32x4 whole = inverse == 0.0f ? I32x4{} : simd128::round(load4(group + (part - begin) + i) * splat(inverse));
        sum_of_codes += whole;
        for (int k = 0; k < 4; ++k) out[i + static_cast<std::size_t>(k)] = static_cast<std::int8_t>(whole[k]);
      }
      sums[part / sum_columns * tile.width + lane] = sum(sum_of_codes);
    }
  }
}

#endif

#if defined(TULLE_X86)

TULLE_TARGET_AVX2 inline void QuantizedInput::quantize_row(isa::Avx2, const float* x, const InputTile& tile,
                                                           std::size_t lane) noexcept {
  auto* codes = const_cast<std::int8_t*>(this->codes(tile));
  auto* scales = const_cast<float*>(this->scales(tile));
  auto* sums = const_cast<std::int32_t*>(this->sums(tile));
  const __m256 magnitude_mask = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
  // packs of 32-bit lanes leave dwords in the order 0 4 1 5 2 6 3 7
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  float scale = 0, inverse = 0;
  if (scale_per_row_) scale_of(row_maximum(x), scale, inverse);
  alignas(32) float tail[group_columns];
  for (std::size_t begin = 0; begin < padded_; begin += group_columns) {
    const float* group = whole_group(x, begin, tail);
    __m256 values[4];
    __m256i largest = _mm256_setzero_si256();  // magnitudes as integers: ordered like the floats, with NaN on top
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      values[i] = _mm256_loadu_ps(group + 8 * i);
      largest = _mm256_max_epi32(largest, _mm256_castps_si256(_mm256_and_ps(values[i], magnitude_mask)));
    }
    if (!scale_per_row_) {
      __m128i half = _mm_max_epi32(_mm256_castsi256_si128(largest), _mm256_extracti128_si256(largest, 1));
      half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0x4E));
      half = _mm_max_epi32(half, _mm_shuffle_epi32(half, 0xB1));
      scale_of(_mm_cvtss_f32(_mm_castsi128_ps(half)), scale, inverse);
    }
    scales[begin / group_columns * tile.width + lane] = scale;
    const __m256 factor = _mm256_set1_ps(inverse);
    __m256i whole[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      // Zeros, or a group that is not finite: no product with x may decide a code.
      whole[i] = inverse == 0.0f ? _mm256_setzero_si256() : _mm256_cvtps_epi32(_mm256_mul_ps(values[i], factor));
    }
    const __m256i packed = _mm256_permutevar8x32_epi32(
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3])), order);
    // Sums of 16 codes: ones (u8) times codes, pairs to quads, then the quads of each 128-bit half.
    __m256i sum = _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_set1_epi8(1), packed), _mm256_set1_epi16(1));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4E));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xB1));
    const std::size_t part = begin / sum_columns;
    sums[part * tile.width + lane] = _mm256_extract_epi32(sum, 0);
    sums[(part + 1) * tile.width + lane] = _mm256_extract_epi32(sum, 4);
    const auto out = [&](std::size_t column) {
      return reinterpret_cast<__m128i*>(codes + code_index(column, tile.width, lane));
    };
    _mm_store_si128(out(begin), _mm256_castsi256_si128(packed));
    _mm_store_si128(out(begin + sum_columns), _mm256_extracti128_si256(packed, 1));
  }
}

#endif

/// What every kernel with a `QuantizedInput` shares: Weights has columns() and scale_per_input().
template <class Isa>
struct QuantizedInputKernel {
  using Input = QuantizedInput;

  template <class Weights>
  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
    input.start(inputs, weights.columns(), weights.scale_per_input());
  }
  template <class Weights>
  static void prepare(const Weights&, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    input.quantize<Isa>(x, range);
  }
  template <class Weights>
  static bool shares_input(const Weights& a, const Weights& b) noexcept {
    return a.columns() == b.columns() && a.scale_per_input() == b.scale_per_input();
  }
};

namespace detail {

/// 4 codes as one 32-bit lane.
inline std::int32_t load_quad(const std::int8_t* codes) noexcept {
  std::int32_t quad;
  std::memcpy(&quad, codes, sizeof quad);
  return quad;
}

}  // namespace detail

}  // namespace tulle
