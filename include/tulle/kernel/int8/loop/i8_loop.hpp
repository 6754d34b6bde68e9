// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights, dense or sparse, on every instruction set (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tulle/core/half.hpp>
#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/i8_loop_avx2.hpp>
#include <tulle/kernel/int8/loop/i8_loop_avx512.hpp>
#include <tulle/kernel/int8/loop/i8_loop_simd128.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>

namespace tulle::detail {

/// One tile of Y = X W^T for panels of int8 blocks.
///
/// Per span of columns (a weight group, at most the 32 columns of an activation group) the dot product is an exact
/// int32. Spans are added in increasing order: y = fma(float(dot), x_scale [* w_scale of the group], y); the row's
/// scale comes last. So every layout of the same codes gives the same bits. `Scale` is void (one scale per row), Half
/// or float ([columns / Span][16 rows] per panel).
///
/// A loop may take a part of the columns only: it then adds to y, and the last part multiplies by the row's scale.
///
/// `Layout::Cursor` walks the blocks of a panel: `read` gives a block as dense codes; `step(isa, s[, half])` gives the
/// operands of step s of `Layout::steps`, whose `dot` adds the step's products with 16 activations to 16 (8, 4) int32
/// sums; `next` goes to the next block. Steps are taken in order, on AVX2 the lower 8 rows of a step before the upper
/// 8. Vectors of 128 bits take its quarters in any order. AVX-512 steps get a chunk of 64 activations and the place of
/// the block's 16 in it.
template <class LayoutOf, class Scale, std::size_t Span, class IsaOf>
struct I8Loop {
  using Layout = LayoutOf;
  using Isa = IsaOf;
  static constexpr bool grouped = !std::is_void_v<Scale>;
  static constexpr std::size_t streams_one_row = Layout::streams_one_row, min_streams = Layout::block_bytes > 0 ? 1 : 2;
  static constexpr std::size_t span = Span;

  PanelCursors<Layout> panels;
  const Scale* group_scales;
  const float* row_scales;  ///< [rows padded], null when grouped
  const ActivationsI8& input;
  MatrixView<float> y;
  RowRange rows;
  RowRange columns;  ///< multiples of 32

  std::size_t padded_columns() const noexcept { return input.padded_columns(); }
  auto panel_scales(std::size_t index) const noexcept {
    return group_scales + index * (padded_columns() / Span) * panel_rows;
  }

  /// The last panel again, in place of a missing one: a part of the columns must not be added twice.
  static bool is_repeated(const std::size_t* which, std::size_t p) noexcept {
    return p > 0 && which[p] == which[p - 1];
  }

  bool is_first_part() const noexcept { return columns.begin == 0; }
  bool is_last_part() const noexcept { return columns.end == padded_columns(); }

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* which, const InputTile& tile) const noexcept {
    if constexpr (std::is_same_v<Isa, isa::Scalar>) {
      for (std::size_t p = 0; p < Panels && !is_repeated(which, p); ++p) compute_panel(which[p], tile);
    } else {
      compute<Panels, Inputs>(Isa{}, which, tile);
    }
  }

#if defined(TULLE_SIMD128)
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Simd128, const std::size_t* which, const InputTile& tile) const noexcept {
    I8Loop128<Layout> loop{panels, row_scales, nullptr, nullptr, input, y, rows, columns};
    if constexpr (std::is_same_v<Scale, Half>) loop.half_scales = group_scales;
    if constexpr (std::is_same_v<Scale, float>) loop.float_scales = group_scales;
    loop.run(which, Panels, tile);
  }
#endif

  void compute_panel(std::size_t which, const InputTile& tile) const noexcept {
    typename Layout::Cursor w = panels[which];
    float values[tile_inputs][panel_rows] = {};
    for (std::size_t lane = 0; lane < tile.inputs && !is_first_part(); ++lane) {
      load_panel(y, rows, which, tile.first + lane, values[lane]);
    }
    for (std::size_t begin = columns.begin; begin < columns.end; begin += Span) {
      std::int32_t dots[tile_inputs][panel_rows] = {};
      for (std::size_t column = begin; column < begin + Span; column += block_columns, w.next()) {
        std::int8_t codes[block_codes];
        w.read(codes);
        for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
          const std::int8_t* x = input.codes(tile) + code_index(column, tile.width, lane);
          for (std::size_t row = 0; row < panel_rows; ++row) {
            for (std::size_t k = 0; k < block_columns; ++k) {
              dots[lane][row] += int{codes[(k / 4 * panel_rows + row) * 4 + k % 4]} * x[k];
            }
          }
        }
      }
      for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
        const float x_scale = input.scales(tile)[begin / group_columns * tile.width + lane];
        for (std::size_t row = 0; row < panel_rows; ++row) {
          float scale = x_scale;
          if constexpr (grouped) scale = to_float(panel_scales(which)[begin / Span * panel_rows + row]) * x_scale;
          values[lane][row] = std::fma(static_cast<float>(dots[lane][row]), scale, values[lane][row]);
        }
      }
    }
    for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows && !grouped && is_last_part(); ++row) {
        values[lane][row] *= row_scales[which * panel_rows + row];
      }
      store_panel(y, rows, which, tile.first + lane, values[lane]);
    }
  }

#if defined(TULLE_X86)
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Avx2, const std::size_t* which, const InputTile& tile) const noexcept {
    compute_i8_avx2<Panels, Inputs>(*this, which, tile);
  }
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Avx512, const std::size_t* which, const InputTile& tile) const noexcept {
    compute_i8_avx512<Panels, Inputs>(*this, which, tile);
  }
#endif
};

}  // namespace tulle::detail
