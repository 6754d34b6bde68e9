// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights on AVX2 and AVX-VNNI (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Panels (as many at once as registers allow) by `Lanes` rows of a tile from `lane0` on. A tile of 4 rows or more has
/// `Width` of them, or as many as it says where that is 4.
template <std::size_t Panels, std::size_t Lanes, std::size_t Width, class Loop>
TULLE_TARGET_AVX2 void compute_i8_avx2(const Loop& loop, const std::size_t* which, const InputTile& tile,
                                       std::size_t lane0) noexcept {
  using Layout = typename Loop::Layout;
  using Isa = typename Loop::Isa;
  constexpr bool offset_codes = Layout::offset_codes && std::is_same_v<Isa, isa::AvxVnni>;  // undone by the first sums
  const std::size_t group = loop.group(), span = loop.span(), blocks = span / block_columns,
                    width = Width == 4 ? tile.width : Width;
  const float* x_scales = loop.input.scales(tile);
  __m256 values[Panels][Lanes][2];
  typename Layout::Cursor w[Panels];
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
    w[p] = loop.panels[which[p]];
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      values[p][lane][0] = values[p][lane][1] = _mm256_setzero_ps();
      if (loop.is_first_part() || lane0 + lane >= tile.inputs) continue;
      alignas(32) float before[panel_rows] = {};
      load_panel(loop.y, loop.rows, which[p], tile.first + lane0 + lane, before);
      values[p][lane][0] = _mm256_load_ps(before);
      values[p][lane][1] = _mm256_load_ps(before + 8);
    }
  }
  std::size_t index = loop.columns.begin / span;
  for (std::size_t begin = loop.columns.begin; begin < loop.columns.end; begin += span, ++index) {
    const std::int8_t* x = loop.input.codes(tile) + code_index(begin, width, lane0);
    __m256i dots[Panels][Lanes][2];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half) {
        __m256i first = _mm256_setzero_si256();
        if constexpr (requires { w[p].first(half); }) {
          typename Layout::Cursor cursor = w[p];
          first = cursor.first(half);
          cursor.next();
          if (blocks == 2) first = _mm256_add_epi32(first, cursor.first(half));
        }
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
          if constexpr (offset_codes)
            first = _mm256_set1_epi32(-128 * loop.input.sum_of(tile, begin, span, lane0 + lane));
          dots[p][lane][half] = first;
        }
      }
    }
#pragma GCC unroll 1
    for (std::size_t block = 0; block < blocks; ++block, x += block_columns) {
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
        if constexpr (Layout::block_bytes > 0) {
          if (lane0 == 0) prefetch_stream<Layout::block_bytes>(w[p].at);
        }
#pragma GCC unroll 4
        for (std::size_t s = 0; s < Layout::steps; ++s) {
#pragma GCC unroll 2
          for (std::size_t half = 0; half < 2; ++half) {
            const auto step = w[p].step(isa::Avx2{}, s, half);
#pragma GCC unroll 4
            for (std::size_t lane = 0; lane < Lanes; ++lane) {
              dots[p][lane][half] = step.dot(Isa{}, dots[p][lane][half], x + chunk_columns * lane, s);
            }
          }
        }
        w[p].next();
      }
    }
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half) {
        const __m256 w_scale =
            group == 0 ? _mm256_set1_ps(1.0f) : load8(loop.scales, loop.scales.place(which[p], index, begin), 8 * half);
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
          const __m256 x_scale = _mm256_set1_ps(x_scales[begin / group_columns * width + lane0 + lane]);
          values[p][lane][half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dots[p][lane][half]),
                                                  _mm256_mul_ps(w_scale, x_scale), values[p][lane][half]);
        }
      }
    }
  }
  if (loop.has_row_scales() && loop.is_last_part()) {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half) {
        const __m256 scale = _mm256_loadu_ps(loop.scales.floats() + which[p] * panel_rows + 8 * half);
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < Lanes; ++lane)
          values[p][lane][half] = _mm256_mul_ps(values[p][lane][half], scale);
      }
    }
  }
  store_tile(values, which, tile, lane0, loop.y, loop.rows);
}

}  // namespace tulle::detail

#endif
