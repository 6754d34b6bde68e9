// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights on vectors of 128 bits (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <tulle/core/half.hpp>
#include <tulle/kernel/i8_blocks.hpp>
#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/simd128.hpp>

namespace tulle::detail {

#if defined(TULLE_SIMD128)

/// What the loop over panels of blocks in `Layout` needs, whatever their scales are: few copies of a long loop make a small
/// WebAssembly module.
template <class Layout>
struct I8Loop128 {
  const I8Panels<Layout>& panels;
  const float* row_scales;                 ///< [rows padded], null when columns come in groups
  const Half* half_scales = nullptr;       ///< [panels][columns / 32][16], or null
  const float* float_scales = nullptr;     ///< [panels][columns / 16][16], or null
  const QuantizedInput& input;
  MatrixView<float> y;
  RowRange rows, columns;

  /// `count` panels (at most 4) with `Lanes` inputs of a tile, from input `lane0` of it on. So many sums are kept at once as
  /// there are registers for: of all 16 rows and one input, or of 8 rows and 4 inputs (4 rows where a sum takes two).
  template <std::size_t Lanes>
  TULLE_TARGET_SIMD128 void compute(const std::size_t* which, std::size_t count, const InputTile& tile,
                                    std::size_t lane0) const noexcept {
    using namespace simd128;
    using Step = decltype(std::declval<typename Layout::Cursor>().step(isa::Simd128{}, 0, 0));
    using Sums = typename Step::Sums;
    constexpr std::size_t quarters = Lanes == 1 ? 4 : 2 * sizeof(I32x4) / sizeof(Sums);
    constexpr std::size_t lane_bytes = Step::split ? 2 * chunk_columns : chunk_columns;
    const std::size_t span = float_scales != nullptr ? 16 : 32, groups = input.padded_columns() / span;
    const float* x_scales = input.scales(tile) + lane0;
    const std::size_t inputs = std::min(Lanes, tile.inputs - lane0);
    alignas(16) float values[4][Lanes][panel_rows];
    const volatile float nothing = 0;  // of a constant a call of memset would be made, which fills byte by byte
    const F32x4 zeros = splat(nothing);
    typename Layout::Cursor w[4];
    for (std::size_t p = 0; p < count; ++p) {
      w[p] = panels[which[p]];
      for (std::size_t lane = 0; lane < Lanes; ++lane) {
        for (std::size_t row = 0; row < panel_rows; row += 4) store(values[p][lane] + row, zeros);
        if (columns.begin != 0) load_panel(y, rows, which[p], tile.first + lane0 + std::min(lane, inputs - 1), values[p][lane]);
      }
    }
    for (std::size_t begin = columns.begin; begin < columns.end; begin += span) {
      const std::int8_t* x = Step::split ? input.split_codes(tile) + split_index(begin, tile.width, lane0)
                                         : input.codes(tile) + code_index(begin, tile.width, lane0);
      std::int32_t lacking[Lanes];
      TULLE_UNROLL
      for (std::size_t lane = 0; lane < Lanes && Step::split; ++lane) {
        lacking[lane] = input.lacking(tile, {begin, begin + span}, lane0 + lane);
      }
      for (std::size_t p = 0; p < count; ++p) {
        const std::size_t scale_at = (which[p] * groups + begin / span) * panel_rows;
        for (std::size_t q0 = 0; q0 < 4; q0 += quarters) {
          Sums sums[quarters][Lanes];
          TULLE_UNROLL
          for (std::size_t i = 0; i < quarters * Lanes; ++i) {
            if constexpr (Step::split) sums[i / Lanes][i % Lanes] = Sums::from(lacking[i % Lanes]);
          }
          typename Layout::Cursor cursor = w[p];
          const std::int8_t* block_x = x;
          for (std::size_t column = 0; column < span; column += block_columns, cursor.next()) {
            TULLE_NO_UNROLL
            for (std::size_t s = 0; s < Layout::steps; ++s) {
              // The order that holds the fewest operands in registers: V8 keeps it.
              constexpr std::size_t at_once = Lanes == 1 ? 1 : quarters;
              TULLE_UNROLL
              for (std::size_t q1 = 0; q1 < quarters; q1 += at_once) {
                Step step[at_once];
                TULLE_UNROLL
                for (std::size_t q = 0; q < at_once; ++q) step[q] = cursor.step(isa::Simd128{}, s, q0 + q1 + q);
                TULLE_UNROLL
                for (std::size_t lane = 0; lane < Lanes; ++lane) {
                  TULLE_UNROLL
                  for (std::size_t q = 0; q < at_once; ++q) step[q].dot(sums[q1 + q][lane], block_x + lane * lane_bytes, s);
                }
              }
            }
            block_x += block_columns;
          }
          F32x4 w_scales[quarters];
          if (half_scales != nullptr) {
            TULLE_UNROLL
            for (std::size_t q = 0; q < quarters; ++q) w_scales[q] = load4(half_scales + scale_at + 4 * (q0 + q));
          } else if (float_scales != nullptr) {
            TULLE_UNROLL
            for (std::size_t q = 0; q < quarters; ++q) w_scales[q] = load4(float_scales + scale_at + 4 * (q0 + q));
          } else {
            TULLE_UNROLL
            for (std::size_t q = 0; q < quarters; ++q) w_scales[q] = splat(1.0f);
          }
          const float* x_scale = load_again(x_scales + begin / group_columns * tile.width);  // not kept in registers all the time
          TULLE_UNROLL
          for (std::size_t q = 0; q < quarters; ++q) {
            const std::size_t row = 4 * (q0 + q);
            TULLE_UNROLL
            for (std::size_t lane = 0; lane < Lanes; ++lane) {
              const F32x4 scale = w_scales[q] * splat(x_scale[lane]);
              float* value = values[p][lane] + row;
              store(value, multiply_add(as_floats(sums[q][lane].total()), scale, load4(value)));
            }
          }
        }
        for (std::size_t column = 0; column < span; column += block_columns) w[p].next();
      }
    }
    const bool scales_rows = row_scales != nullptr && columns.end == input.padded_columns();
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t lane = 0; lane < inputs; ++lane) {
        float* value = values[p][lane];
        for (std::size_t row = 0; row < panel_rows && scales_rows; row += 4) {
          store(value + row, load4(value + row) * load4(row_scales + which[p] * panel_rows + row));
        }
        store_panel(y, rows, which[p], tile.first + lane0 + lane, value);
      }
    }
  }

  /// The same panels with a whole tile.
  void run(const std::size_t* which, std::size_t count, const InputTile& tile) const noexcept {
    if (tile.width == 1) return compute<1>(which, count, tile, 0);  // panels far apart are streams of their own
    for (std::size_t p = 0; p < count; ++p) {
      if (p > 0 && which[p] == which[p - 1]) break;  // a part of the columns must not be added twice
      for (std::size_t lane = 0; tile.width == 2 && lane < tile.inputs; ++lane) compute<1>(which + p, 1, tile, lane);
      for (std::size_t lane = 0; tile.width > 2 && lane < tile.width; lane += 4) compute<4>(which + p, 1, tile, lane);
    }
  }
};

#endif

}  // namespace tulle::detail
