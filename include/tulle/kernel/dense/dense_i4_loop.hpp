// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of dense 4-bit weights on every instruction set (L2).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/dense/dense_i4_loop_simd128.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// One tile of Y = X W^T for 4-bit panels [columns / 8][16 rows][4 bytes]: the low nibbles of a row's 4 bytes are its
/// columns 0..3 of the eight, the high nibbles columns 4..7.
///
/// A value is scale * (code - 8), or scale * code + minimum when `Minima`. Per span of columns (a weight group, at most
/// the 32 columns of an activation group) the dot product is an exact int32; they are added in increasing order: y =
/// fma(float(dot), w_scale * x_scale, y), then with minima y = fma(minimum, x_scale * float(sum(x)), y).
template <bool Minima, class Isa>
struct DenseI4Loop {
  static constexpr std::size_t block_columns = 16;         ///< a span is one or two of these
  static constexpr std::size_t lines = block_columns / 8;  ///< 64-byte lines of them
  static constexpr StreamCounts streams_one_row{1, 2, 4};

  const std::uint8_t* codes;
  const GroupScales& scales;  ///< of groups of 16 columns, or of a multiple of 32
  const GroupScales& minima;  ///< with `Minima`
  const ActivationsI8& input;
  MatrixView<float> y;
  RowRange rows;

  std::size_t padded_columns() const noexcept { return input.padded_columns(); }
  std::size_t span() const noexcept { return scales.group() == 16 ? 16 : group_columns; }
  const std::uint8_t* panel(std::size_t index) const noexcept {
    return codes + index * (padded_columns() / 2) * panel_rows;
  }

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* which, const InputTile& tile) const noexcept {
    if constexpr (std::is_same_v<Isa, isa::Scalar>) {
      for (std::size_t p = 0; p < Panels; ++p) compute_panel(which[p], tile);
    } else if constexpr (std::is_same_v<Isa, isa::Simd128>) {
      compute<Panels, Inputs>(Isa{}, which, tile);
    } else if (span() == group_columns) {
      compute<Panels, Inputs, group_columns>(Isa{}, which, tile);
    } else {
      compute<Panels, Inputs, 16>(Isa{}, which, tile);
    }
  }

  void compute_panel(std::size_t which, const InputTile& tile) const noexcept {
    const std::int8_t* x = input.codes(tile);
    const std::uint8_t* w = panel(which);
    for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
      float values[panel_rows] = {};
      for (std::size_t begin = 0; begin < padded_columns(); begin += span()) {
        const float x_scale = input.scales(tile)[begin / group_columns * tile.width + lane];
        const std::int32_t x_sum = input.sum_of(tile, begin, span(), lane);
        for (std::size_t row = 0; row < panel_rows; ++row) {
          std::int32_t dot = Minima ? 0 : -8 * x_sum;
          for (std::size_t column = begin; column < begin + span(); ++column) {
            const unsigned pair = w[(column / 8 * panel_rows + row) * 4 + column % 4];
            const auto code = static_cast<std::int32_t>(column % 8 < 4 ? pair & 15u : pair >> 4);
            dot += code * x[code_index(column, tile.width, lane)];
          }
          const std::size_t of_row = which * panel_rows + row;
          values[row] = std::fma(static_cast<float>(dot), scales.at(of_row, begin) * x_scale, values[row]);
          if constexpr (Minima) {
            values[row] = std::fma(minima.at(of_row, begin), x_scale * static_cast<float>(x_sum), values[row]);
          }
        }
      }
      store_panel(y, rows, which, tile.first + lane, values);
    }
  }

#if defined(TULLE_SIMD128)
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Simd128, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t lanes = Inputs < 4 ? 1 : 4;
    for (std::size_t p = 0; p < Panels; ++p) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
        compute_i4_panel<lanes, Minima>(*this, which[p], tile, lane0);
      }
    }
  }
#endif

#if defined(TULLE_X86)
  /// A pair sum of maddubs is at most 2 * 15 * 127 = 3810, so 8 of them (4 lines) fit an int16: one widening for 32
  /// columns. The dot product of AVX-VNNI widens by itself.
  template <std::size_t Panels, std::size_t Inputs, std::size_t Span>
  TULLE_TARGET_AVX2 void compute(isa::Avx2, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t at_once = Inputs == 1 || Panels * Inputs <= 2 ? Panels : 1;  // each a separate memory stream
    constexpr std::size_t lanes = Inputs < 4 ? Inputs : 4;
    constexpr bool widens = std::is_same_v<Isa, isa::AvxVnni>;
    const float* x_scales = input.scales(tile);
    const __m256i ones = _mm256_set1_epi16(1), nibble = _mm256_set1_epi8(15);
    for (std::size_t p0 = 0; p0 < Panels; p0 += at_once) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
        __m256 values[at_once][lanes][2];
        const std::uint8_t* w[at_once];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
          w[p] = panel(which[p0 + p]);
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane)
            values[p][lane][0] = values[p][lane][1] = _mm256_setzero_ps();
        }
        GroupCursor groups(scales.group());
        for (std::size_t begin = 0; begin < padded_columns(); begin += Span) {
          const std::size_t group = groups.index_of(begin);
          const std::int8_t* x = input.codes(tile) + code_index(begin, Inputs, lane0);
          std::int32_t x_sum[lanes];
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) x_sum[lane] = input.sum_of(tile, begin, Span, lane0 + lane);
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
            if (lane0 == 0) prefetch_stream<Span / 2 * panel_rows>(w[p] + begin / 2 * panel_rows);
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
              __m256i dots[lanes];
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < lanes; ++lane)
                dots[lane] = _mm256_set1_epi32(Minima ? 0 : -8 * x_sum[lane]);
              __m256i pairs[lanes];
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < lanes; ++lane) pairs[lane] = _mm256_setzero_si256();
#pragma GCC unroll 2
              for (std::size_t column = 0; column < Span; column += block_columns) {
#pragma GCC unroll 2
                for (std::size_t line = 0; line < lines; ++line) {
                  const __m256i both = _mm256_load_si256(reinterpret_cast<const __m256i*>(
                      w[p] + ((begin + column) / 8 + line) * 4 * panel_rows + 32 * half));
                  const __m256i low = _mm256_and_si256(both, nibble);
                  const __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), nibble);
#pragma GCC unroll 4
                  for (std::size_t lane = 0; lane < lanes; ++lane) {
                    const std::int8_t* eight = x + code_index(column + 8 * line, Inputs, lane);
                    const __m256i x_low = _mm256_set1_epi32(load_quad(eight)),
                                  x_high = _mm256_set1_epi32(load_quad(eight + 4));
                    if constexpr (widens) {
                      dots[lane] = dot_bytes(dots[lane], low, x_low);
                      pairs[lane] = dot_bytes(pairs[lane], high, x_high);
                    } else {
                      pairs[lane] = _mm256_add_epi16(pairs[lane], _mm256_add_epi16(_mm256_maddubs_epi16(low, x_low),
                                                                                   _mm256_maddubs_epi16(high, x_high)));
                    }
                  }
                }
              }
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < lanes; ++lane) {
                dots[lane] = _mm256_add_epi32(dots[lane], widens ? pairs[lane] : _mm256_madd_epi16(pairs[lane], ones));
              }
              const ScalePlace at = scales.place(which[p0 + p], group, begin);  // and of minima
              const __m256 w_scale = load8(scales, at, 8 * half);
              __m256 minimum{};
              if constexpr (Minima) minimum = load8(minima, at, 8 * half);
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < lanes; ++lane) {
                const float x_scale = x_scales[begin / group_columns * Inputs + lane0 + lane];
                __m256 value = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[lane]),
                                               _mm256_mul_ps(w_scale, _mm256_set1_ps(x_scale)), values[p][lane][half]);
                if constexpr (Minima) {
                  value = _mm256_fmadd_ps(minimum, _mm256_set1_ps(x_scale * static_cast<float>(x_sum[lane])), value);
                }
                values[p][lane][half] = value;
              }
            }
          }
        }
        store_tile(values, which + p0, tile, lane0, y, rows);
      }
    }
  }

  template <std::size_t Panels, std::size_t Inputs, std::size_t Span>
  TULLE_TARGET_AVX512 void compute(isa::Avx512, const std::size_t* which, const InputTile& tile) const noexcept {
    const float* x_scales = input.scales(tile);
    const __m512i nibble = _mm512_set1_epi8(15);
    __m512 values[Panels][Inputs];
    const std::uint8_t* w[Panels];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
      w[p] = panel(which[p]);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) values[p][lane] = _mm512_setzero_ps();
    }
    GroupCursor groups(scales.group());
    for (std::size_t begin = 0; begin < padded_columns(); begin += Span) {
      const std::size_t group = groups.index_of(begin);
      const std::int8_t* x = input.codes(tile) + code_index(begin, Inputs, 0);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) prefetch_stream<Span / 2 * panel_rows>(w[p] + begin / 2 * panel_rows);
      std::int32_t x_sum[Inputs];
      __m512i dots[Panels][Inputs];
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        x_sum[lane] = input.sum_of(tile, begin, Span, lane);
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) dots[p][lane] = _mm512_set1_epi32(Minima ? 0 : -8 * x_sum[lane]);
      }
#pragma GCC unroll 2
      for (std::size_t column = 0; column < Span; column += block_columns) {
#pragma GCC unroll 2
        for (std::size_t line = 0; line < lines; ++line) {
          __m512i low[Panels], high[Panels];
#pragma GCC unroll 4
          for (std::size_t p = 0; p < Panels; ++p) {
            const __m512i both = _mm512_load_si512(w[p] + ((begin + column) / 8 + line) * 4 * panel_rows);
            low[p] = _mm512_and_si512(both, nibble);
            high[p] = _mm512_and_si512(_mm512_srli_epi16(both, 4), nibble);
          }
#pragma GCC unroll 8
          for (std::size_t lane = 0; lane < Inputs; ++lane) {
            const std::int8_t* eight = x + code_index(column + 8 * line, Inputs, lane);
            const __m512i x_low = _mm512_set1_epi32(load_quad(eight)), x_high = _mm512_set1_epi32(load_quad(eight + 4));
#pragma GCC unroll 4
            for (std::size_t p = 0; p < Panels; ++p) {
              dots[p][lane] = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(dots[p][lane], low[p], x_low), high[p], x_high);
            }
          }
        }
      }
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
        const ScalePlace at = scales.place(which[p], group, begin);  // and of minima
        const __m512 w_scale = load16(scales, at);
        __m512 minimum{};
        if constexpr (Minima) minimum = load16(minima, at);
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) {
          const float x_scale = x_scales[begin / group_columns * Inputs + lane];
          values[p][lane] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[p][lane]),
                                            _mm512_mul_ps(w_scale, _mm512_set1_ps(x_scale)), values[p][lane]);
          if constexpr (Minima) {
            values[p][lane] =
                _mm512_fmadd_ps(minimum, _mm512_set1_ps(x_scale * static_cast<float>(x_sum[lane])), values[p][lane]);
          }
        }
      }
    }
    store_tile(values, which, tile, y, rows);
  }
#endif
};

}  // namespace tulle::detail
