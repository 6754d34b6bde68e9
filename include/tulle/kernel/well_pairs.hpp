// SPDX-License-Identifier: Apache-2.0
/// \file Products of many inputs with windowed ELL weights on AVX2 (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/well_panels.hpp>
#include <tulle/kernel/wide_input.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Rows of a panel as lists of their weights that are not zero. Two weights of a row at a time meet the int16 codes of their two
/// columns, interleaved, for a tile of inputs: 32 products in 2 vpmaddwd, exact, none with a zero but one a row.
class WellPairs {
 public:
  static constexpr std::size_t inputs = WideInput::tile;
  using Dots = std::int32_t[panel_rows][inputs];  ///< of a row, in the order of `input_of`

  /// The input of the tile that a sum belongs to: interleaving keeps parts of 128 bits apart.
  static constexpr std::size_t input_of(std::size_t i) noexcept {
    const std::size_t half = i / (inputs / 2), in_half = i % (inputs / 2);
    return in_half / 4 * 8 + half * 4 + in_half % 4;
  }

  /// How many rows fit at once, of a piece with `steps` steps: 16 or 8.
  static std::size_t rows_at_once(std::size_t steps) noexcept {
    return capacity(steps) * panel_rows <= most ? panel_rows : panel_rows / 2;
  }

  /// Reads rows [begin, begin + count) of a piece of bundles.
  template <class Form>
  void read(const std::uint8_t* bundle, std::size_t bundles, std::size_t begin, std::size_t count) noexcept {
    stride_ = capacity(bundles * Form::steps);
    std::size_t position[panel_rows] = {};
    std::fill_n(counts_, count, std::size_t{0});
    for (; bundles > 0; --bundles, bundle += Form::bundle_bytes) {
      for (std::size_t step = 0; step < Form::steps; ++step) {
        for (std::size_t row = 0; row < count; ++row) {
          const std::size_t slot0 = (begin + row) * row_slots;
          // No branch: a zero is written, and overwritten by what comes next.
          std::size_t at = row * stride_ + counts_[row], column = position[row];
          for (std::size_t slot = slot0; slot < slot0 + row_slots; ++slot) {
            column += bundle[slot] >> step * Form::gap_bits & Form::most_gap;
            const auto value = Form::nibbles ? static_cast<std::int8_t>(bundle[slot] & 0xF0)
                                             : static_cast<std::int8_t>(bundle[64 * (1 + step) + slot]);
            columns_[at] = static_cast<std::uint16_t>(column * inputs);
            values_[at] = value;
            at += value != 0;
          }
          position[row] = column;
          counts_[row] = at - row * stride_;
        }
      }
    }
    for (std::size_t row = 0; row < count; ++row) {
      columns_[row * stride_ + counts_[row]] = 0;
      values_[row * stride_ + counts_[row]] = 0;
    }
  }

  /// Of the rows that were read, a multiple of 4, with a tile. x [columns][16]. Four rows keep step, so that they find the tile's
  /// columns in the first cache.
  TULLE_TARGET_AVX2 void multiply(std::size_t count, const std::int16_t* x, Dots& dots) const noexcept {
    for (std::size_t first = 0; first < count; first += 4) {
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
        _mm256_store_si256(reinterpret_cast<__m256i*>(dots[first + i]), low[i]);
        _mm256_store_si256(reinterpret_cast<__m256i*>(dots[first + i]) + 1, high[i]);
      }
    }
  }

 private:
  static constexpr std::size_t most = panel_rows / 2 * (span_columns + 2);

  static std::size_t capacity(std::size_t steps) noexcept { return std::min(steps * row_slots, span_columns) + 2; }
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
