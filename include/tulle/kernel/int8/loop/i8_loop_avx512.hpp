// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights on AVX-512 (L2).
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

/// Activations in the form that the steps of a layout read.
template <class Layout>
auto activations(const ActivationsI8& input, const InputTile& tile) noexcept {
  if constexpr (Layout::offset_codes) {
    return input.codes(tile);
  } else {
    return input.offset_codes(tile);
  }
}

/// The start of the sums of a span of one or two blocks, which undoes the offsets of codes or activations.
template <class Layout, std::size_t Panels, std::size_t Inputs>
TULLE_INLINE_AVX512 void start_i8_avx512(const typename Layout::Cursor (&w)[Panels], const std::int32_t* x_sums,
                                         std::size_t blocks, __m512i (&dots)[Panels][Inputs]) noexcept {
  if constexpr (Layout::offset_codes) {
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      const std::int32_t sum = x_sums[lane] + (blocks == 2 ? x_sums[Inputs + lane] : 0);
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) dots[p][lane] = _mm512_set1_epi32(-128 * sum);
    }
  } else {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
      typename Layout::Cursor cursor = w[p];
      cursor.at = load_again(cursor.at);
      __m512i sums_128 = cursor.add_codes(_mm512_setzero_si512());
      cursor.next();
      if (blocks == 2) sums_128 = cursor.add_codes(sums_128);
      const __m512i first = _mm512_sub_epi32(_mm512_setzero_si512(), sums_128);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) dots[p][lane] = first;
    }
  }
}

/// One tile: all its panels by all its rows of activations at once.
template <std::size_t Panels, std::size_t Inputs, class Loop>
TULLE_TARGET_AVX512 void compute_i8_avx512(const Loop& loop, const std::size_t* which, const InputTile& tile) noexcept {
  using Layout = typename Loop::Layout;
  const std::size_t group = loop.group(), span = loop.span(), blocks = span / block_columns;
  const float* x_scales = loop.input.scales(tile);
  const std::int32_t* x_sums = loop.input.sums(tile) + loop.columns.begin / sum_columns * Inputs;
  __m512 values[Panels][Inputs];
  typename Layout::Cursor w[Panels];
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
    w[p] = loop.panels[which[p]];
    const __mmask16 real = real_row_mask(which[p], loop.rows);
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      values[p][lane] = _mm512_setzero_ps();
      if (loop.is_first_part() || lane >= tile.inputs) continue;
      values[p][lane] = _mm512_maskz_loadu_ps(real, loop.y[tile.first + lane] + which[p] * panel_rows);
    }
  }
  std::size_t index = loop.columns.begin / span;
  for (std::size_t begin = loop.columns.begin; begin < loop.columns.end; begin += span, ++index) {
    __m512i dots[Panels][Inputs];
    start_i8_avx512<Layout>(w, x_sums, blocks, dots);
    x_sums += blocks * Inputs;
    const auto* x = activations<Layout>(loop.input, tile) + code_index(begin, Inputs, 0) - begin % chunk_columns;
#pragma GCC unroll 1
    for (std::size_t block = 0; block < blocks; ++block) {
      const std::size_t column = (begin + block * block_columns) % chunk_columns;
      if constexpr (Layout::block_bytes > 0) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) prefetch_stream<Layout::block_bytes>(w[p].at);
      }
#pragma GCC unroll 4
      for (std::size_t s = 0; s < Layout::steps; ++s) {
        decltype(w[0].step(isa::Avx512{}, s, column)) step[Panels];
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
      const __m512 w_scale =
          group == 0 ? _mm512_set1_ps(1.0f) : load16(loop.scales, loop.scales.place(which[p], index, begin));
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        const __m512 x_scale = _mm512_set1_ps(x_scales[begin / group_columns * Inputs + lane]);
        values[p][lane] =
            _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[p][lane]), _mm512_mul_ps(w_scale, x_scale), values[p][lane]);
      }
    }
  }
  if (loop.has_row_scales() && loop.is_last_part()) {
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
      const __m512 scale = _mm512_loadu_ps(loop.scales.floats() + which[p] * panel_rows);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) values[p][lane] = _mm512_mul_ps(values[p][lane], scale);
    }
  }
  store_tile(values, which, tile, loop.y, loop.rows);
}

}  // namespace tulle::detail

#endif
