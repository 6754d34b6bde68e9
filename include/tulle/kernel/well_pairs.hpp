// SPDX-License-Identifier: Apache-2.0
/// \file Products of many inputs with windowed ELL weights on AVX2 (L2).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/well_panels.hpp>
#include <tulle/kernel/wide_input.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Row i moves those of 4 values and of 4 columns, 2 bytes each, whose bit is set in i to the front of each.
struct FrontShuffles {
  alignas(16) std::uint8_t rows[16][16];

  constexpr FrontShuffles() : rows() {
    for (unsigned mask = 0; mask < 16; ++mask) {
      unsigned at = 0;
      for (unsigned slot = 0; slot < 4; ++slot) {
        if ((mask >> slot & 1) == 0) continue;
        for (unsigned byte = 0; byte < 2; ++byte, ++at) {
          rows[mask][at] = static_cast<std::uint8_t>(2 * slot + byte);
          rows[mask][8 + at] = static_cast<std::uint8_t>(8 + 2 * slot + byte);
        }
      }
    }
  }
};
inline constexpr FrontShuffles front_shuffles{};

/// Rows of a panel as lists of their weights that are not zero. Two weights of a row at a time meet the int16 codes of their two
/// columns, interleaved, for a tile of inputs: 32 products in 2 vpmaddwd, exact, none with a zero but one a row.
class WellPairs {
 public:
  static constexpr std::size_t inputs = WideInput::tile;
  using Dots = std::int32_t[inputs][panel_rows];

  /// How many rows fit at once, of a piece with `steps` steps: 16 or 8.
  static std::size_t rows_at_once(std::size_t steps) noexcept {
    return capacity(steps) * panel_rows <= most ? panel_rows : panel_rows / 2;
  }

  /// Reads rows [begin, begin + count) of a piece of bundles, both multiples of 4.
  template <class Form>
  TULLE_TARGET_AVX2 void read(const std::uint8_t* bundle, std::size_t bundles, std::size_t begin, std::size_t count) noexcept {
    stride_ = capacity(bundles * Form::steps);
    std::fill_n(counts_, count, std::size_t{0});
    const __m128i gap_mask = _mm_set1_epi8(static_cast<char>(Form::most_gap));
    const __m256i last = _mm256_set_epi8(15, 14, 15, 14, 15, 14, 15, 14, 7, 6, 7, 6, 7, 6, 7, 6,  //
                                         15, 14, 15, 14, 15, 14, 15, 14, 7, 6, 7, 6, 7, 6, 7, 6);
    __m256i positions[panel_rows / 4] = {};  // the column before each of 4 rows, 4 times
    for (; bundles > 0; --bundles, bundle += Form::bundle_bytes) {
      for (std::size_t step = 0; step < Form::steps; ++step) {
        for (std::size_t four = 0; four < count; four += 4) {
          const auto load = [&](std::size_t at) TULLE_TARGET_AVX2 {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bundle + at + (begin + four) * row_slots));
          };
          const __m128i codes = load(0);
          const __m128i bytes = Form::nibbles ? _mm_andnot_si128(gap_mask, codes) : load(64 * (1 + step));
          const __m128i gaps = _mm_and_si128(_mm_srli_epi16(codes, static_cast<int>(step * Form::gap_bits)), gap_mask);
          const __m128i run = _mm_mullo_epi32(gaps, _mm_set1_epi32(0x01010101));  // running sums of a row's 4
          const __m256i columns = _mm256_add_epi16(positions[four / 4], _mm256_cvtepu8_epi16(run));
          positions[four / 4] = _mm256_shuffle_epi8(columns, last);
          const __m256i values = _mm256_cvtepi8_epi16(bytes), places = _mm256_slli_epi16(columns, std::countr_zero(inputs));
          const __m256i even = _mm256_unpacklo_epi64(values, places), odd = _mm256_unpackhi_epi64(values, places);
          const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
          append(four, ~zeros, _mm256_castsi256_si128(even));
          append(four + 1, ~zeros >> 4, _mm256_castsi256_si128(odd));
          append(four + 2, ~zeros >> 8, _mm256_extracti128_si256(even, 1));
          append(four + 3, ~zeros >> 12, _mm256_extracti128_si256(odd, 1));
        }
      }
    }
    for (std::size_t row = 0; row < count; ++row) {
      columns_[row * stride_ + counts_[row]] = 0;
      values_[row * stride_ + counts_[row]] = 0;
    }
  }

  /// Of the rows that were read, a multiple of 4, with a tile. x [columns][inputs]. Four rows keep step, so that they find the
  /// tile's columns in the first cache.
  void multiply(std::size_t count, const std::int16_t* x, Dots& dots) const noexcept {
    for (std::size_t first = 0; first < count; first += 4) multiply_four(first, x, dots);
  }

 private:
  static constexpr std::size_t most = panel_rows / 2 * (span_columns + row_slots);

  /// Of a row's list: a zero after the last weight makes pairs of all, and 4 slots are written at once.
  static std::size_t capacity(std::size_t steps) noexcept { return std::min(steps * row_slots, span_columns) + row_slots; }

  /// 4 slots of a row: values and places. Those whose bit is not set are written, and overwritten by what comes next.
  TULLE_INLINE_AVX2 void append(std::size_t row, int bits, __m128i slots) noexcept {
    const auto mask = static_cast<unsigned>(bits) & 15;
    const __m128i front = _mm_shuffle_epi8(slots, _mm_load_si128(reinterpret_cast<const __m128i*>(front_shuffles.rows[mask])));
    const std::size_t at = row * stride_ + counts_[row];
    _mm_storel_epi64(reinterpret_cast<__m128i*>(values_ + at), front);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(columns_ + at), _mm_unpackhi_epi64(front, front));
    counts_[row] += static_cast<std::size_t>(std::popcount(mask));
  }

  TULLE_TARGET_AVX2 void multiply_four(std::size_t first, const std::int16_t* x, Dots& dots) const noexcept {
    const std::uint16_t* columns[4];
    const std::int16_t* values[4];
    __m256i low[4], high[4];
    std::size_t common = span_columns;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      columns[i] = columns_ + (first + i) * stride_;
      values[i] = values_ + (first + i) * stride_;
      low[i] = high[i] = _mm256_setzero_si256();
      common = std::min(common, counts_[first + i]);
    }
    const auto add = [&](std::size_t i, std::size_t at) TULLE_TARGET_AVX2 {
      const __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(x + columns[i][at]));
      const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(x + columns[i][at + 1]));
      const __m256i pair = _mm256_set1_epi32(load_pair(values[i] + at));
      low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair));
      high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair));
    };
    for (std::size_t at = 0; at < common; at += 2) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) add(i, at);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t at = round_up(common, std::size_t{2}); at < counts_[first + i]; at += 2) add(i, at);
    }
    // Interleaving kept parts of 128 bits apart: `low` holds the inputs 0 to 3 and 8 to 11.
    const auto store = [&](const __m256i (&sums)[4], std::size_t input) TULLE_TARGET_AVX2 {
      const __m256i a = _mm256_unpacklo_epi32(sums[0], sums[1]), b = _mm256_unpackhi_epi32(sums[0], sums[1]);
      const __m256i c = _mm256_unpacklo_epi32(sums[2], sums[3]), d = _mm256_unpackhi_epi32(sums[2], sums[3]);
      const __m256i of_inputs[4] = {_mm256_unpacklo_epi64(a, c), _mm256_unpackhi_epi64(a, c), _mm256_unpacklo_epi64(b, d),
                                    _mm256_unpackhi_epi64(b, d)};
#pragma GCC unroll 4
      for (std::size_t i = 0; i < 4; ++i) {
        _mm_store_si128(reinterpret_cast<__m128i*>(dots[input + i] + first), _mm256_castsi256_si128(of_inputs[i]));
        _mm_store_si128(reinterpret_cast<__m128i*>(dots[input + 8 + i] + first), _mm256_extracti128_si256(of_inputs[i], 1));
      }
    };
    store(low, 0);
    store(high, 4);
  }

  static std::int32_t load_pair(const std::int16_t* values) noexcept {
    std::int32_t pair;
    std::memcpy(&pair, values, sizeof pair);
    return pair;
  }

  static_assert(span_columns * inputs <= 65536);

  std::uint16_t columns_[most];  ///< where a column's codes begin in a tile
  std::int16_t values_[most];
  std::size_t counts_[panel_rows];
  std::size_t stride_ = 0;  ///< even
};

}  // namespace tulle::detail

#endif
