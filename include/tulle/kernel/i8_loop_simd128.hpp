// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights on vectors of 128 bits (L2).
#pragma once

#include <algorithm>
#include <cstddef>

#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/simd128.hpp>

#if defined(TULLE_SIMD128)

namespace tulle::detail {

/// `Panels` panels of an `I8Loop` with `Lanes` inputs of a tile of `Inputs`, from input `lane0` of it on. 4 sums are kept at
/// once: of all 16 rows and one input, or of 4 rows and 4 inputs.
template <std::size_t Panels, std::size_t Span, std::size_t Inputs, std::size_t Lanes, class Loop>
TULLE_TARGET_SIMD128 void compute_i8_panels(const Loop& loop, const std::size_t* which, const InputTile& tile,
                                            std::size_t lane0) noexcept {
  using namespace simd128;
  constexpr std::size_t quarters = 4 / Lanes, blocks = Span / block_columns;
  const float* x_scales = loop.input.scales(tile) + lane0;
  const std::int8_t* x = loop.input.codes(tile) + code_index(loop.columns.begin, Inputs, lane0);
  alignas(16) float values[Panels][Lanes][panel_rows] = {};
  typename Loop::Cursor w[Panels];
  for (std::size_t p = 0; p < Panels; ++p) {
    w[p] = loop.panel(which[p]);
    for (std::size_t lane = 0; lane < Lanes && !loop.is_first_part(); ++lane) {
      if (lane0 + lane < tile.inputs) load_panel(loop.y, loop.rows, which[p], tile.first + lane0 + lane, values[p][lane]);
    }
  }
  for (std::size_t begin = loop.columns.begin; begin < loop.columns.end; begin += Span) {
    for (std::size_t p = 0; p < Panels; ++p) {
      for (std::size_t q0 = 0; q0 < 4; q0 += quarters) {
        Sums sums[quarters][Lanes];
        typename Loop::Cursor cursor = w[p];
#pragma GCC unroll 2
        for (std::size_t block = 0; block < blocks; ++block, cursor.next()) {
#pragma GCC unroll 4
          for (std::size_t s = 0; s < Loop::steps; ++s) {
#pragma GCC unroll 4
            for (std::size_t q = 0; q < quarters; ++q) {
              const auto step = cursor.step(isa::Simd128{}, s, q0 + q);
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < Lanes; ++lane) {
                step.dot(sums[q][lane], x + (block * Inputs + lane) * block_columns, s);
              }
            }
          }
        }
#pragma GCC unroll 4
        for (std::size_t q = 0; q < quarters; ++q) {
          const std::size_t row = 4 * (q0 + q);
          F32x4 w_scale{};
          if constexpr (Loop::grouped) w_scale = load4(loop.panel_scales(which[p]) + begin / Span * panel_rows + row);
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < Lanes; ++lane) {
            F32x4 scale = splat(x_scales[begin / group_columns * Inputs + lane]);
            if constexpr (Loop::grouped) scale = w_scale * scale;
            float* value = values[p][lane] + row;
            store(value, multiply_add(as_floats(sums[q][lane].total()), scale, load4(value)));
          }
        }
      }
      for (std::size_t block = 0; block < blocks; ++block) w[p].next();
    }
    x += blocks * Inputs * block_columns;
  }
  for (std::size_t p = 0; p < Panels; ++p) {
    for (std::size_t lane = 0; lane < Lanes && lane0 + lane < tile.inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows && !Loop::grouped && loop.is_last_part(); ++row) {
        values[p][lane][row] *= loop.row_scales[which[p] * panel_rows + row];
      }
      store_panel(loop.y, loop.rows, which[p], tile.first + lane0 + lane, values[p][lane]);
    }
  }
}

}  // namespace tulle::detail

#endif
