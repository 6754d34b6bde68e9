// SPDX-License-Identifier: Apache-2.0
/// \file How an inner loop on AVX2 or AVX-512 writes a finished tile to y (L2).
#pragma once

#include <cstddef>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Values [panels][lanes from `lane0` on][2 halves of 8 rows] of panels which[0], which[1], ... Padding rows, rows
/// outside of `rows`, and lanes beyond those of the tile are not written.
template <std::size_t Panels, std::size_t Lanes>
TULLE_INLINE_AVX2 void store_tile(const __m256 (&values)[Panels][Lanes][2], const std::size_t* which,
                                  const InputTile& tile, std::size_t lane0, MatrixView<float> y,
                                  RowRange rows) noexcept {
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      if (lane0 + lane >= tile.inputs) continue;
      alignas(32) float out[panel_rows];
      _mm256_store_ps(out, values[p][lane][0]);
      _mm256_store_ps(out + 8, values[p][lane][1]);
      store_panel(y, rows, which[p], tile.first + lane0 + lane, out);
    }
  }
}

/// The rows of a panel that are written.
TULLE_INLINE_AVX512 __mmask16 real_row_mask(std::size_t panel, RowRange rows) noexcept {
  return static_cast<__mmask16>((1u << real_rows(panel, rows)) - 1);
}

/// The same with values [panels][lanes] of 16 rows.
template <std::size_t Panels, std::size_t Lanes>
TULLE_INLINE_AVX512 void store_tile(const __m512 (&values)[Panels][Lanes], const std::size_t* which,
                                    const InputTile& tile, MatrixView<float> y, RowRange rows) noexcept {
#pragma GCC unroll 4
  for (std::size_t p = 0; p < Panels; ++p) {
    const __mmask16 real = real_row_mask(which[p], rows);
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      if (lane >= tile.inputs) continue;
      _mm512_mask_storeu_ps(y[tile.first + lane] + which[p] * panel_rows, real, values[p][lane]);
    }
  }
}

}  // namespace tulle::detail

#endif
