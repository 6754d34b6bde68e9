// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of dense f32, f16 and bf16 weights on every instruction set (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include <tulle/core/half.hpp>
#include <tulle/kernel/activations/activations_f32.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/simd128.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// One tile of Y = X W^T for panels [columns][16 rows]: y = fma(w, x, y) over the columns in order, whatever the tile.
template <class Element, class Isa>
struct DenseFloatLoop {
  static constexpr StreamCounts streams_one_row{2, 2, 4};

  const Element* panels;
  std::size_t columns;
  const ActivationsF32& input;
  MatrixView<float> y;
  RowRange rows;

  const Element* panel(std::size_t index) const noexcept { return panels + index * columns * panel_rows; }

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* which, const InputTile& tile) const noexcept {
    if constexpr (std::is_same_v<Isa, isa::Scalar>) {
      for (std::size_t p = 0; p < Panels; ++p) compute_panel(which[p], tile);
    } else {
      compute<Panels, Inputs>(Isa{}, which, tile);
    }
  }

  void compute_panel(std::size_t which, const InputTile& tile) const noexcept {
    const float* x = input.values(tile);
    for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
      float sums[panel_rows] = {};
      for (std::size_t column = 0; column < columns; ++column) {
        for (std::size_t row = 0; row < panel_rows; ++row) {
          sums[row] =
              std::fma(to_float(panel(which)[column * panel_rows + row]), x[column * tile.width + lane], sums[row]);
        }
      }
      store_panel(y, rows, which, tile.first + lane, sums);
    }
  }

#if defined(TULLE_SIMD128)
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Simd128, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t lanes = Inputs < 4 ? 1 : 4;
    for (std::size_t p = 0; p < Panels; ++p) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) compute128<lanes>(which[p], tile, lane0);
    }
  }

  /// A panel by `Lanes` lanes of a tile, from `lane0` on; 8 of its rows at a time.
  template <std::size_t Lanes>
  TULLE_TARGET_SIMD128 void compute128(std::size_t which, const InputTile& tile, std::size_t lane0) const noexcept {
    using namespace simd128;
    alignas(16) float values[Lanes][panel_rows];
    for (std::size_t row = 0; row < panel_rows; row += 8) {
      F32x4 sums[Lanes][2]{};
      const float* x = input.values(tile) + lane0;
      const Element* w = panel(which) + row;
      for (std::size_t column = 0; column < columns; ++column, w += panel_rows, x += tile.width) {
        const F32x4 low = load4(w), high = load4(w + 4);
        TULLE_UNROLL
        for (std::size_t lane = 0; lane < Lanes; ++lane) {
          sums[lane][0] = multiply_add(low, splat(x[lane]), sums[lane][0]);
          sums[lane][1] = multiply_add(high, splat(x[lane]), sums[lane][1]);
        }
      }
      TULLE_UNROLL
      for (std::size_t lane = 0; lane < Lanes; ++lane) {
        store(values[lane] + row, sums[lane][0]);
        store(values[lane] + row + 4, sums[lane][1]);
      }
    }
    for (std::size_t lane = 0; lane < Lanes && lane0 + lane < tile.inputs; ++lane) {
      store_panel(y, rows, which, tile.first + lane0 + lane, values[lane]);
    }
  }
#endif

#if defined(TULLE_X86)
  /// More than 4 lanes a pass need more than the 16 registers: a tile of 8 is two passes over the cached panel.
  template <std::size_t Panels, std::size_t Inputs>
  TULLE_TARGET_AVX2 void compute(isa::Avx2, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t at_once = Panels * Inputs <= 4 ? Panels : Inputs >= 4 ? 1 : 4 / Inputs;
    constexpr std::size_t lanes = Inputs < 4 ? Inputs : 4;
    const float* x = input.values(tile);
    for (std::size_t p0 = 0; p0 < Panels; p0 += at_once) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
        __m256 sums[at_once][lanes][2];
        const Element* w[at_once];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
          w[p] = panel(which[p0 + p]);
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) sums[p][lane][0] = sums[p][lane][1] = _mm256_setzero_ps();
        }
        for (std::size_t column = 0; column < columns; ++column) {
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
            if (lane0 == 0) prefetch_stream<panel_rows * sizeof(Element)>(w[p] + column * panel_rows);
            const __m256 low = load8(w[p] + column * panel_rows), high = load8(w[p] + column * panel_rows + 8);
#pragma GCC unroll 4
            for (std::size_t lane = 0; lane < lanes; ++lane) {
              const __m256 value = _mm256_broadcast_ss(x + column * Inputs + lane0 + lane);
              sums[p][lane][0] = _mm256_fmadd_ps(low, value, sums[p][lane][0]);
              sums[p][lane][1] = _mm256_fmadd_ps(high, value, sums[p][lane][1]);
            }
          }
        }
        store_tile(sums, which + p0, tile, lane0, y, rows);
      }
    }
  }

  template <std::size_t Panels, std::size_t Inputs>
  TULLE_TARGET_AVX512 void compute(isa::Avx512, const std::size_t* which, const InputTile& tile) const noexcept {
    const float* x = input.values(tile);
    __m512 sums[Panels][Inputs];
    const Element* w[Panels];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
      w[p] = panel(which[p]);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) sums[p][lane] = _mm512_setzero_ps();
    }
    for (std::size_t column = 0; column < columns; ++column) {
      __m512 weights[Panels];
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
        prefetch_stream<panel_rows * sizeof(Element)>(w[p] + column * panel_rows);
        weights[p] = load16(w[p] + column * panel_rows);
      }
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        const __m512 value = _mm512_set1_ps(x[column * Inputs + lane]);
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) sums[p][lane] = _mm512_fmadd_ps(weights[p], value, sums[p][lane]);
      }
    }
    store_tile(sums, which, tile, y, rows);
  }
#endif
};

}  // namespace tulle::detail
