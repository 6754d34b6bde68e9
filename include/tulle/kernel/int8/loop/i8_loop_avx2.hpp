// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights on AVX2 and AVX-VNNI (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>
#include <tulle/kernel/schedule/store_tile.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// One tile: panels (as many at once as registers allow) by 4 of its rows of activations at a time.
template <std::size_t Panels, std::size_t Inputs, class Loop>
TULLE_TARGET_AVX2 void compute_i8_avx2(const Loop& loop, const std::size_t* which, const InputTile& tile) noexcept {
  using Layout = typename Loop::Layout;
  using Isa = typename Loop::Isa;
  constexpr bool grouped = Loop::grouped;
  constexpr std::size_t span = Loop::span, blocks = span / block_columns;
  constexpr std::size_t at_once = Panels * Inputs <= 4 ? Panels : Inputs >= 4 ? 1 : 4 / Inputs;
  constexpr std::size_t lanes = Inputs < 4 ? Inputs : 4;
  constexpr bool offset_codes = Layout::offset_codes && std::is_same_v<Isa, isa::AvxVnni>;  // undone by the first sums
  const float* x_scales = loop.input.scales(tile);
  for (std::size_t p0 = 0; p0 < Panels && !loop.is_repeated(which, p0); p0 += at_once) {
    for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
      __m256 values[at_once][lanes][2];
      typename Layout::Cursor w[at_once];
#pragma GCC unroll 4
      for (std::size_t p = 0; p < at_once; ++p) {
        w[p] = loop.panels[which[p0 + p]];
#pragma GCC unroll 4
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          values[p][lane][0] = values[p][lane][1] = _mm256_setzero_ps();
          if (loop.is_first_part() || lane0 + lane >= tile.inputs) continue;
          alignas(32) float before[panel_rows] = {};
          load_panel(loop.y, loop.rows, which[p0 + p], tile.first + lane0 + lane, before);
          values[p][lane][0] = _mm256_load_ps(before);
          values[p][lane][1] = _mm256_load_ps(before + 8);
        }
      }
      for (std::size_t begin = loop.columns.begin; begin < loop.columns.end; begin += span) {
        const std::int8_t* x = loop.input.codes(tile) + code_index(begin, Inputs, lane0);
        __m256i dots[at_once][lanes][2];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 2
          for (std::size_t half = 0; half < 2; ++half) {
            __m256i first = _mm256_setzero_si256();
            if constexpr (requires { w[p].first(half); }) {
              typename Layout::Cursor cursor = w[p];
#pragma GCC unroll 2
              for (std::size_t block = 0; block < blocks; ++block, cursor.next()) {
                first = _mm256_add_epi32(first, cursor.first(half));
              }
            }
#pragma GCC unroll 4
            for (std::size_t lane = 0; lane < lanes; ++lane) {
              if constexpr (offset_codes)
                first = _mm256_set1_epi32(-128 * loop.input.template sum_of<span>(tile, begin, lane0 + lane));
              dots[p][lane][half] = first;
            }
          }
        }
#pragma GCC unroll 1
        for (std::size_t block = 0; block < blocks; ++block, x += block_columns) {
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
            if constexpr (Inputs == 1 && Layout::block_bytes > 0) prefetch_stream<Layout::block_bytes>(w[p].at);
#pragma GCC unroll 4
            for (std::size_t s = 0; s < Layout::steps; ++s) {
#pragma GCC unroll 2
              for (std::size_t half = 0; half < 2; ++half) {
                const auto step = w[p].step(isa::Avx2{}, s, half);
#pragma GCC unroll 4
                for (std::size_t lane = 0; lane < lanes; ++lane) {
                  dots[p][lane][half] = step.dot(Isa{}, dots[p][lane][half], x + chunk_columns * lane, s);
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
            if constexpr (grouped)
              w_scale = load8(loop.panel_scales(which[p0 + p]) + begin / span * panel_rows + 8 * half);
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
      if (!grouped && loop.is_last_part()) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 2
          for (std::size_t half = 0; half < 2; ++half) {
            const __m256 scale = _mm256_loadu_ps(loop.row_scales + which[p0 + p] * panel_rows + 8 * half);
#pragma GCC unroll 4
            for (std::size_t lane = 0; lane < lanes; ++lane)
              values[p][lane][half] = _mm256_mul_ps(values[p][lane][half], scale);
          }
        }
      }
      store_tile(values, which + p0, tile, lane0, loop.y, loop.rows);
    }
  }
}

}  // namespace tulle::detail

#endif
