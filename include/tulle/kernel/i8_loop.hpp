// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights, dense or sparse, on every instruction set (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tulle/core/half.hpp>
#include <tulle/kernel/i8_loop_simd128.hpp>
#include <tulle/kernel/i8_blocks.hpp>
#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// One tile of Y = X W^T for panels of int8 blocks.
///
/// Per span of columns (a weight group, at most the 32 columns of an activation group) the dot product is an exact int32.
/// Spans are added in increasing order: y = fma(float(dot), x_scale [* w_scale of the group], y); the row's scale comes
/// last. So every layout of the same codes gives the same bits.
/// `Scale` is void (one scale per row), Half or float ([columns / Span][16 rows] per panel).
///
/// A loop may take a part of the columns only: it then adds to what y holds, and the last part brings the row's scale.
///
/// `Layout::Cursor` walks the blocks of a panel: `read` gives a block as dense codes; `step(isa, s[, half])` gives the
/// operands of step s of `Layout::steps`, whose `dot` adds the step's products with 16 activations to 16 (8, 4) int32 sums;
/// `next` goes to the next block. Steps are taken in order, on AVX2 the lower 8 rows of a step before the upper 8; vectors of
/// 128 bits take its quarters in any order. On AVX-512 steps are given the chunk of 64 activations, and where in it the block's
/// 16 begin.
template <class Layout, class Scale, std::size_t Span, class Isa>
struct I8Loop {
  static constexpr bool grouped = !std::is_void_v<Scale>;
  static constexpr std::size_t far_panels = Layout::far_panels;
  static constexpr std::size_t blocks = Span / block_columns;

  I8Panels<Layout> panels;
  const Scale* group_scales;
  const float* row_scales;  ///< [rows padded], null when grouped
  const QuantizedInput& input;
  MatrixView<float> y;
  RowRange rows;
  RowRange columns;  ///< multiples of 32

  std::size_t padded_columns() const noexcept { return input.padded_columns(); }
  auto panel_scales(std::size_t index) const noexcept {
    return group_scales + index * (padded_columns() / Span) * panel_rows;
  }

  /// The last panel again, in place of panels that are not there: a part of the columns must not be added twice.
  static bool is_repeated(const std::size_t* which, std::size_t p) noexcept { return p > 0 && which[p] == which[p - 1]; }

  bool is_first_part() const noexcept { return columns.begin == 0; }
  bool is_last_part() const noexcept { return columns.end == padded_columns(); }

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* which, const InputTile& tile) const noexcept {
    if constexpr (std::is_same_v<Isa, isa::Scalar>) {
      for (std::size_t p = 0; p < Panels && !is_repeated(which, p); ++p) compute_panel(which[p], tile);
    } else {
      compute<Panels, Inputs>(Isa{}, which, tile);
    }
  }

#if defined(TULLE_SIMD128)
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Simd128, const std::size_t* which, const InputTile& tile) const noexcept {
    I8Loop128<Layout> loop{panels, row_scales, nullptr, nullptr, input, y, rows, columns};
    if constexpr (std::is_same_v<Scale, Half>) loop.half_scales = group_scales;
    if constexpr (std::is_same_v<Scale, float>) loop.float_scales = group_scales;
    loop.run(which, Panels, tile);
  }
#endif

  void compute_panel(std::size_t which, const InputTile& tile) const noexcept {
    typename Layout::Cursor w = panels[which];
    float values[tile_inputs][panel_rows] = {};
    for (std::size_t lane = 0; lane < tile.inputs && !is_first_part(); ++lane) {
      load_panel(y, rows, which, tile.first + lane, values[lane]);
    }
    for (std::size_t begin = columns.begin; begin < columns.end; begin += Span) {
      std::int32_t dots[tile_inputs][panel_rows] = {};
      for (std::size_t column = begin; column < begin + Span; column += block_columns, w.next()) {
        std::int8_t codes[block_codes];
        w.read(codes);
        for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
          const std::int8_t* x = input.codes(tile) + code_index(column, tile.width, lane);
          for (std::size_t row = 0; row < panel_rows; ++row) {
            for (std::size_t k = 0; k < block_columns; ++k) {
              dots[lane][row] += int{codes[(k / 4 * panel_rows + row) * 4 + k % 4]} * x[k];
            }
          }
        }
      }
      for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
        const float x_scale = input.scales(tile)[begin / group_columns * tile.width + lane];
        for (std::size_t row = 0; row < panel_rows; ++row) {
          float scale = x_scale;
          if constexpr (grouped) scale = to_float(panel_scales(which)[begin / Span * panel_rows + row]) * x_scale;
          values[lane][row] = std::fma(static_cast<float>(dots[lane][row]), scale, values[lane][row]);
        }
      }
    }
    for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows && !grouped && is_last_part(); ++row) {
        values[lane][row] *= row_scales[which * panel_rows + row];
      }
      store_panel(y, rows, which, tile.first + lane, values[lane]);
    }
  }

#if defined(TULLE_X86)
  template <std::size_t Panels, std::size_t Inputs>
  TULLE_TARGET_AVX2 void compute(isa::Avx2, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t at_once = Panels * Inputs <= 4 ? Panels : Inputs >= 4 ? 1 : 4 / Inputs;
    constexpr std::size_t lanes = Inputs < 4 ? Inputs : 4;
    const float* x_scales = input.scales(tile);
    for (std::size_t p0 = 0; p0 < Panels && !is_repeated(which, p0); p0 += at_once) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
        __m256 values[at_once][lanes][2];
        typename Layout::Cursor w[at_once];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
          w[p] = panels[which[p0 + p]];
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            values[p][lane][0] = values[p][lane][1] = _mm256_setzero_ps();
            if (is_first_part() || lane0 + lane >= tile.inputs) continue;
            alignas(32) float before[panel_rows] = {};
            load_panel(y, rows, which[p0 + p], tile.first + lane0 + lane, before);
            values[p][lane][0] = _mm256_load_ps(before);
            values[p][lane][1] = _mm256_load_ps(before + 8);
          }
        }
        for (std::size_t begin = columns.begin; begin < columns.end; begin += Span) {
          const std::int8_t* x = input.codes(tile) + code_index(begin, Inputs, lane0);
          __m256i dots[at_once][lanes][2];
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 4
            for (std::size_t lane = 0; lane < lanes; ++lane) dots[p][lane][0] = dots[p][lane][1] = _mm256_setzero_si256();
          }
#pragma GCC unroll 1
          for (std::size_t block = 0; block < blocks; ++block, x += block_columns) {
#pragma GCC unroll 4
            for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 4
              for (std::size_t s = 0; s < Layout::steps; ++s) {
#pragma GCC unroll 2
                for (std::size_t half = 0; half < 2; ++half) {
                  const auto step = w[p].step(isa::Avx2{}, s, half);
#pragma GCC unroll 4
                  for (std::size_t lane = 0; lane < lanes; ++lane) {
                    dots[p][lane][half] = step.dot(dots[p][lane][half], x + chunk_columns * lane, s);
                  }
                }
              }
              w[p].next();
            }
          }
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
              __m256 w_scale{};
              if constexpr (grouped) w_scale = load8(panel_scales(which[p0 + p]) + begin / Span * panel_rows + 8 * half);
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < lanes; ++lane) {
                __m256 scale = _mm256_set1_ps(x_scales[begin / group_columns * Inputs + lane0 + lane]);
                if constexpr (grouped) scale = _mm256_mul_ps(w_scale, scale);
                values[p][lane][half] =
                    _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[p][lane][half]), scale, values[p][lane][half]);
              }
            }
          }
        }
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            if (lane0 + lane >= tile.inputs) continue;
            alignas(32) float out[panel_rows];
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
              __m256 value = values[p][lane][half];
              if (!grouped && is_last_part()) {
                value = _mm256_mul_ps(value, _mm256_loadu_ps(row_scales + which[p0 + p] * panel_rows + 8 * half));
              }
              _mm256_store_ps(out + 8 * half, value);
            }
            store_panel(y, rows, which[p0 + p], tile.first + lane0 + lane, out);
          }
        }
      }
    }
  }

  auto activations(const InputTile& tile) const noexcept {
    if constexpr (Layout::offset_codes) {
      return input.codes(tile);
    } else {
      return input.offset_codes(tile);
    }
  }

  /// What a span's sums begin with, to undo the offsets of codes or activations.
  template <std::size_t Panels, std::size_t Inputs>
  static TULLE_INLINE_AVX512 void start(const typename Layout::Cursor (&w)[Panels], const std::int32_t* x_sums,
                                        __m512i (&dots)[Panels][Inputs]) noexcept {
    if constexpr (Layout::offset_codes) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        std::int32_t first = 0;
#pragma GCC unroll 2
        for (std::size_t block = 0; block < blocks; ++block) first -= 128 * x_sums[block * Inputs + lane];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) dots[p][lane] = _mm512_set1_epi32(first);
      }
    } else {
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
        typename Layout::Cursor cursor = w[p];
        cursor.at = load_again(cursor.at);
        __m512i sums_128 = _mm512_setzero_si512();
#pragma GCC unroll 2
        for (std::size_t block = 0; block < blocks; ++block, cursor.next()) sums_128 = cursor.add_codes(sums_128);
        const __m512i first = _mm512_sub_epi32(_mm512_setzero_si512(), sums_128);
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) dots[p][lane] = first;
      }
    }
  }

  template <std::size_t Panels, std::size_t Inputs>
  TULLE_TARGET_AVX512 void compute(isa::Avx512, const std::size_t* which, const InputTile& tile) const noexcept {
    const float* x_scales = input.scales(tile);
    const std::int32_t* x_sums = input.sums(tile) + columns.begin / sum_columns * Inputs;
    __m512 values[Panels][Inputs];
    typename Layout::Cursor w[Panels];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
      w[p] = panels[which[p]];
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        values[p][lane] = _mm512_setzero_ps();
        if (is_first_part() || lane >= tile.inputs) continue;
        alignas(64) float before[panel_rows] = {};
        load_panel(y, rows, which[p], tile.first + lane, before);
        values[p][lane] = _mm512_load_ps(before);
      }
    }
    for (std::size_t begin = columns.begin; begin < columns.end; begin += Span) {
      __m512i dots[Panels][Inputs];
      start(w, x_sums, dots);
      x_sums += blocks * Inputs;
      const auto* x = activations(tile) + code_index(begin, Inputs, 0) - begin % chunk_columns;
#pragma GCC unroll 1
      for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t column = (begin + block * block_columns) % chunk_columns;
#pragma GCC unroll 4
        for (std::size_t s = 0; s < Layout::steps; ++s) {
          typename Layout::Step512 step[Panels];
#pragma GCC unroll 4
          for (std::size_t p = 0; p < Panels; ++p) step[p] = w[p].step(isa::Avx512{}, s, column);
#pragma GCC unroll 8
          for (std::size_t lane = 0; lane < Inputs; ++lane) {
            const auto* chunk = load_again(x + chunk_columns * lane);
#pragma GCC unroll 4
            for (std::size_t p = 0; p < Panels; ++p) {
              dots[p][lane] = step[p].dot(dots[p][lane], chunk, column, s);
            }
          }
        }
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) w[p].next();
      }
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
        __m512 w_scale{};
        if constexpr (grouped) w_scale = load16(panel_scales(which[p]) + begin / Span * panel_rows);
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) {
          __m512 scale = _mm512_set1_ps(x_scales[begin / group_columns * Inputs + lane]);
          if constexpr (grouped) scale = _mm512_mul_ps(w_scale, scale);
          values[p][lane] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[p][lane]), scale, values[p][lane]);
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        if (lane >= tile.inputs) continue;
        __m512 value = values[p][lane];
        if (!grouped && is_last_part()) {
          value = _mm512_mul_ps(value, _mm512_loadu_ps(row_scales + which[p] * panel_rows));
        }
        alignas(64) float out[panel_rows];
        _mm512_store_ps(out, value);
        store_panel(y, rows, which[p], tile.first + lane, out);
      }
    }
  }
#endif
};

}  // namespace tulle::detail
