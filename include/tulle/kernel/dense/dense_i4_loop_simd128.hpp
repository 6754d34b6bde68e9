// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of dense 4-bit weights on vectors of 128 bits (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8_simd128.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/simd128.hpp>

#if defined(TULLE_SIMD128)

namespace tulle::detail {

/// One panel of a `DenseI4Loop` by `Lanes` lanes of a tile, from `lane0` on; 8 of its rows at a time.
template <std::size_t Lanes, bool Minima, class Loop>
TULLE_TARGET_SIMD128 void compute_i4_panel(const Loop& loop, std::size_t which, const InputTile& tile,
                                           std::size_t lane0) noexcept {
  using namespace simd128;
  constexpr std::size_t quarters = 2;
  const std::size_t span = loop.span();
  const std::uint8_t* w = loop.panel(which);
  alignas(16) float values[Lanes][panel_rows];  // set by the first span, added to by the others
  GroupCursor groups(loop.scales.group());
  for (std::size_t begin = 0; begin < loop.padded_columns(); begin += span) {
    const std::int8_t* x = loop.input.codes(tile) + code_index(begin, tile.width, lane0);
    std::int32_t x_sums[Lanes];
    float x_scales[Lanes];
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      x_sums[lane] = loop.input.sum_of(tile, begin, span, lane0 + lane);
      x_scales[lane] = loop.input.scales(tile)[begin / group_columns * tile.width + lane0 + lane];
    }
    alignas(16) float w_scales[panel_rows], minima[panel_rows];
    const ScalePlace at = loop.scales.place(which, groups.index_of(begin), begin);  // and of minima
    load_group_scales(loop.scales, at, w_scales);
    if constexpr (Minima) load_group_scales(loop.minima, at, minima);
    for (std::size_t row0 = 0; row0 < panel_rows; row0 += 4 * quarters) {
      Sums sums[quarters][Lanes];
      TULLE_NO_UNROLL
      for (std::size_t line = 0; line < span / 8; ++line) {
        TULLE_UNROLL
        for (std::size_t q = 0; q < quarters; ++q) {
          const auto pairs = load<U8x16>(w + 4 * (panel_rows * line + row0 + 4 * q));
          const Codes low = Codes::of((I8x16)(pairs & 15)), high = Codes::of((I8x16)((U8x16)((U16x8)pairs >> 4) & 15));
          TULLE_UNROLL
          for (std::size_t lane = 0; lane < Lanes; ++lane) {
            const std::int8_t* eight = x + lane * chunk_columns + 8 * line;
            sums[q][lane].add_positive(low, eight);
            sums[q][lane].add_positive(high, eight + 4);
          }
        }
      }
      TULLE_UNROLL
      for (std::size_t q = 0; q < quarters; ++q) {
        const std::size_t row = row0 + 4 * q;
        TULLE_UNROLL
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
          const I32x4 total = sums[q][lane].total(), dot = Minima ? total : total - splat(8 * x_sums[lane]);
          const F32x4 before = begin == 0 ? F32x4{} : load4(values[lane] + row);
          F32x4 value = multiply_add(as_floats(dot), load4(w_scales + row) * splat(x_scales[lane]), before);
          if constexpr (Minima) {
            value = multiply_add(load4(minima + row), splat(x_scales[lane] * static_cast<float>(x_sums[lane])), value);
          }
          store(values[lane] + row, value);
        }
      }
    }
    w += span / 8 * 4 * panel_rows;
  }
  for (std::size_t lane = 0; lane < Lanes && lane0 + lane < tile.inputs; ++lane) {
    store_panel(loop.y, loop.rows, which, tile.first + lane0 + lane, values[lane]);
  }
}

}  // namespace tulle::detail

#endif
