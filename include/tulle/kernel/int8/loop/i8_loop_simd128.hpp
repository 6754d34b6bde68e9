// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights on vectors of 128 bits (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <tulle/core/half.hpp>
#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8_simd128.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/simd128.hpp>

namespace tulle::detail {

#if defined(TULLE_SIMD128)

/// The loop over panels of blocks in `Layout`, one copy for all kinds of scales: few copies of a long loop make a small
/// WebAssembly module.
template <class Layout>
struct I8Loop128 {
  const PanelCursors<Layout>& panels;
  const GroupScales& all_scales;
  const ActivationsI8& input;
  MatrixView<float> y;
  RowRange rows, columns;

  /// `count` panels (at most 4) by lane `first` of a tile, or one panel by all its lanes from `first` on, `Lanes` at a
  /// time. Registers hold the sums of all 16 rows of a panel by one lane, or of 8 rows by 4 lanes.
  template <std::size_t Lanes>
  TULLE_TARGET_SIMD128 void compute(const std::size_t* which, std::size_t count, const InputTile& tile,
                                    std::size_t first) const noexcept {
    using namespace simd128;
    using Step = decltype(std::declval<typename Layout::Cursor>().step(isa::Simd128{}, 0, 0));
    using Sums = typename Step::Sums;
    constexpr std::size_t quarters = Lanes == 1 ? 4 : 2;
    constexpr bool offset_w = has_offset && Layout::offset_codes, offset_x = has_offset && !Layout::offset_codes;
    const std::size_t span = all_scales.group() == 16 ? 16 : 32;
    const auto* codes = offset_x ? reinterpret_cast<const std::int8_t*>(input.offset_codes(tile)) : input.codes(tile);
    const float* x_scales = input.scales(tile);
    const std::int32_t* x_sums = input.sums(tile);
    const std::size_t width = tile.width, end = Lanes == 1 ? first + 1 : width;
    alignas(16) float values[tile_inputs][panel_rows];  // of a panel, or of a lane
    const volatile float nothing = 0;  // a constant would become a call of memset, which fills byte by byte
    const F32x4 zeros = splat(nothing);
    typename Layout::Cursor w[4];
    for (std::size_t p = 0; p < count; ++p) {
      w[p] = panels[which[p]];
      for (std::size_t lane = first; lane < end; ++lane) {
        float* value = values[p + lane - first];
        for (std::size_t row = 0; row < panel_rows; row += 4) store(value + row, zeros);
        if (columns.begin != 0 && lane < tile.inputs) load_panel(y, rows, which[p], tile.first + lane, value);
      }
    }
    for (std::size_t begin = columns.begin; begin < columns.end; begin += span) {
      alignas(16) std::int32_t first_sums[tile_inputs];
      const std::int32_t* x_sum = x_sums + begin / sum_columns * width;
      if constexpr (offset_w && Lanes == 1) {
        first_sums[first] = first_sum(x_sum[first] + (span == 16 ? 0 : x_sum[width + first]));
      } else if constexpr (offset_w) {
        for (std::size_t lane = 0; lane < width; lane += 4) {
          auto sum = load<I32x4>(x_sum + lane);
          if (span != 16) sum += load<I32x4>(x_sum + width + lane);
          store(first_sums + lane, first_sum(sum));
        }
      }
      for (std::size_t p = 0; p < count; ++p) {
        alignas(16) float w_scales[panel_rows];
        load_group_scales(all_scales, all_scales.place(which[p], begin / span, begin), w_scales);
        for (std::size_t q0 = 0; q0 < 4; q0 += quarters) {
          for (std::size_t lane0 = first; lane0 < end; lane0 += Lanes) {
            // Loaded again, so that registers are free for the sums.
            const auto reload = [](const auto* from) { return Lanes == 1 ? from : load_again(from); };
            const std::int8_t* x = codes + code_index(begin, width, lane0);
            Sums sums[quarters][Lanes];
            if constexpr (offset_w) {
              const std::int32_t* begins = reload(first_sums + lane0);
              TULLE_UNROLL
              for (std::size_t i = 0; i < quarters * Lanes; ++i)
                sums[i / Lanes][i % Lanes] = {splat(begins[i % Lanes])};
            }
            if constexpr (offset_x) {
              Sums offsets[quarters];
              typename Layout::Cursor cursor = w[p];
              for (std::size_t column = 0; column < span; column += block_columns, cursor.next()) {
                TULLE_UNROLL
                for (std::size_t i = 0; i < Layout::steps * quarters; ++i) {
                  offsets[i % quarters].add_offset_of(
                      cursor.step(isa::Simd128{}, i / quarters, q0 + i % quarters).codes);
                }
              }
              TULLE_UNROLL
              for (std::size_t i = 0; i < quarters * Lanes; ++i)
                sums[i / Lanes][i % Lanes].sums = -offsets[i / Lanes].total();
            }
            typename Layout::Cursor cursor = w[p];
            for (std::size_t column = 0; column < span; column += block_columns, cursor.next()) {
              TULLE_UNROLL_STEPS
              for (std::size_t s = 0; s < Layout::steps; ++s) {
                // The order with the fewest operands in registers: V8 keeps it.
                constexpr std::size_t at_once = Lanes == 1 ? 1 : quarters;
                TULLE_UNROLL
                for (std::size_t q1 = 0; q1 < quarters; q1 += at_once) {
                  Step step[at_once];
                  TULLE_UNROLL
                  for (std::size_t q = 0; q < at_once; ++q) step[q] = cursor.step(isa::Simd128{}, s, q0 + q1 + q);
                  TULLE_UNROLL
                  for (std::size_t lane = 0; lane < Lanes; ++lane) {
                    TULLE_UNROLL
                    for (std::size_t q = 0; q < at_once; ++q)
                      step[q].dot(sums[q1 + q][lane], x + lane * chunk_columns, s);
                  }
                }
              }
              x += block_columns;
            }
            const float* x_scale = reload(x_scales + begin / group_columns * width + lane0);
            const float* w_scale = reload(w_scales + 4 * q0);
            TULLE_UNROLL
            for (std::size_t q = 0; q < quarters; ++q) {
              TULLE_UNROLL
              for (std::size_t lane = 0; lane < Lanes; ++lane) {
                const F32x4 scale = load4(w_scale + 4 * q) * splat(x_scale[lane]);
                float* value = values[p + lane0 - first + lane] + 4 * (q0 + q);
                store(value, multiply_add(as_floats(sums[q][lane].total()), scale, load4(value)));
              }
            }
          }
        }
        for (std::size_t column = 0; column < span; column += block_columns) w[p].next();
      }
    }
    const bool scales_rows = all_scales.group() == 0 && columns.end == input.padded_columns();
    for (std::size_t p = 0; p < count; ++p) {
      for (std::size_t lane = first; lane < std::min(end, tile.inputs); ++lane) {
        float* value = values[p + lane - first];
        for (std::size_t row = 0; row < panel_rows && scales_rows; row += 4) {
          store(value + row, load4(value + row) * load4(all_scales.floats() + which[p] * panel_rows + row));
        }
        store_panel(y, rows, which[p], tile.first + lane, value);
      }
    }
  }

  /// The same panels with a whole tile.
  void run(const std::size_t* which, std::size_t count, const InputTile& tile) const noexcept {
    if (tile.width == 1) return compute<1>(which, count, tile, 0);  // distant panels are separate memory streams
    for (std::size_t p = 0; p < count; ++p) {
      if (p > 0 && which[p] == which[p - 1]) break;  // a part of the columns must not be added twice
      for (std::size_t lane = 0; tile.width == 2 && lane < tile.inputs; ++lane) compute<1>(which + p, 1, tile, lane);
      if (tile.width > 2) compute<4>(which + p, 1, tile, 0);
    }
  }
};

#endif

}  // namespace tulle::detail
