// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of dense 4-bit weights on vectors of 128 bits (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/simd128.hpp>

#if defined(TULLE_SIMD128)

namespace tulle::detail {

/// One panel of a `DenseI4Loop` with `Lanes` inputs of a tile, from input `lane0` of it on; 4 rows at a time.
template <std::size_t Lanes, bool Minima, class Loop>
TULLE_TARGET_SIMD128 void compute_i4_panel(const Loop& loop, std::size_t which, const InputTile& tile,
                                           std::size_t lane0) noexcept {
  using namespace simd128;
  const std::uint8_t* w = loop.panel(which);
  const std::int8_t* x = loop.input.codes(tile) + code_index(0, tile.width, lane0);
  alignas(16) float values[Lanes][panel_rows] = {};
  for (std::size_t begin = 0; begin < loop.padded_columns(); begin += Loop::span) {
    std::int32_t x_sums[Lanes];
    float x_scales[Lanes];
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      x_sums[lane] = loop.sum_of_inputs(tile, begin, lane0 + lane);
      x_scales[lane] = loop.input.scales(tile)[begin / group_columns * tile.width + lane0 + lane];
    }
    for (std::size_t row = 0; row < panel_rows; row += 4) {
      Sums sums[Lanes];
      TULLE_UNROLL
      for (std::size_t line = 0; line < Loop::lines; ++line) {
        const auto pairs = load<U8x16>(w + 4 * (panel_rows * line + row));
        const Codes low = Codes::of((I8x16)(pairs & 15)), high = Codes::of((I8x16)((U8x16)((U16x8)pairs >> 4) & 15));
        TULLE_UNROLL
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
          const std::int8_t* eight = x + code_index(8 * line, tile.width, lane);
          sums[lane].add(low, Quad::of(eight));
          sums[lane].add(high, Quad::of(eight + 4));
        }
      }
      const std::size_t at = loop.scale_index(which, begin) + row;
      const F32x4 w_scale = load4(loop.scales + at);
      TULLE_UNROLL
      for (std::size_t lane = 0; lane < Lanes; ++lane) {
        const I32x4 dot = Minima ? sums[lane].total() : sums[lane].total() - splat(8 * x_sums[lane]);
        F32x4 value = multiply_add(as_floats(dot), w_scale * splat(x_scales[lane]), load4(values[lane] + row));
        if constexpr (Minima) {
          value = multiply_add(load4(loop.minima + at), splat(x_scales[lane] * static_cast<float>(x_sums[lane])), value);
        }
        store(values[lane] + row, value);
      }
    }
    w += Loop::lines * 4 * panel_rows;
    x += Loop::span * tile.width;
  }
  for (std::size_t lane = 0; lane < Lanes && lane0 + lane < tile.inputs; ++lane) {
    store_panel(loop.y, loop.rows, which, tile.first + lane0 + lane, values[lane]);
  }
}

}  // namespace tulle::detail

#endif
