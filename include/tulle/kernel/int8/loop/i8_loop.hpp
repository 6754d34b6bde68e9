// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of int8 weights, dense or sparse, on every instruction set, and that of their minimums (L2).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/i8_loop_avx2.hpp>
#include <tulle/kernel/int8/loop/i8_loop_avx512.hpp>
#include <tulle/kernel/int8/loop/i8_loop_simd128.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/simd128.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// A loop over scales of any kind: the kind is a value.
inline constexpr std::size_t any_group = static_cast<std::size_t>(-1);

/// One tile of Y = X W^T for panels of int8 blocks.
///
/// Per span of columns (a weight group, at most the 32 columns of an activation group) the dot product is an exact
/// int32. Spans are added in increasing order: y = fma(float(dot), x_scale * w_scale of the group, y), with w_scale 1
/// where a row has one scale, which then comes last. So every layout of the same codes gives the same bits. `Group`
/// is `GroupScales::group`, or `any_group`.
///
/// A loop may take a part of the columns only: it then adds to y, and the last part multiplies by the row's scale.
///
/// `Layout::Cursor` walks the blocks of a panel: `read` gives a block as dense codes; `step(isa, s[, half])` gives the
/// operands of step s of `Layout::steps`, whose `dot` adds the step's products with 16 activations to 16 (8, 4) int32
/// sums; `next` goes to the next block. Steps are taken in order, on AVX2 the lower 8 rows of a step before the upper
/// 8. Vectors of 128 bits take its quarters in any order. AVX-512 steps get a chunk of 64 activations and the place of
/// the block's 16 in it.
template <class LayoutOf, class IsaOf, std::size_t Group = any_group>
struct I8Loop {
  using Layout = LayoutOf;
  using Isa = IsaOf;
  static constexpr std::size_t min_streams = Layout::block_bytes > 0 ? 1 : 2;
  static constexpr StreamCounts streams_one_row{min_streams, two_panels_fit<Layout, Isa> ? 2 : min_streams,
                                                Layout::max_streams};

  PanelCursors<Layout> panels;
  const GroupScales& scales;
  const ActivationsI8& input;
  MatrixView<float> y;
  RowRange rows;
  RowRange columns;  ///< multiples of 32

  std::size_t padded_columns() const noexcept { return input.padded_columns(); }
  std::size_t group() const noexcept { return Group == any_group ? scales.group() : Group; }
  std::size_t span() const noexcept { return group() == 16 ? 16 : group_columns; }
  bool has_row_scales() const noexcept { return group() == 0; }

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
    I8Loop128<Layout>{panels, scales, input, y, rows, columns}.run(which, Panels, tile);
  }
#endif

  void compute_panel(std::size_t which, const InputTile& tile) const noexcept {
    typename Layout::Cursor w = panels[which];
    float values[tile_inputs][panel_rows] = {};
    for (std::size_t lane = 0; lane < tile.inputs && !is_first_part(); ++lane) {
      load_panel(y, rows, which, tile.first + lane, values[lane]);
    }
    for (std::size_t begin = columns.begin; begin < columns.end; begin += span()) {
      std::int32_t dots[tile_inputs][panel_rows] = {};
      for (std::size_t column = begin; column < begin + span(); column += block_columns, w.next()) {
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
          const float scale = has_row_scales() ? x_scale : scales.at(which * panel_rows + row, begin) * x_scale;
          values[lane][row] = std::fma(static_cast<float>(dots[lane][row]), scale, values[lane][row]);
        }
      }
    }
    for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows && has_row_scales() && is_last_part(); ++row) {
        values[lane][row] *= scales.at(which * panel_rows + row, 0);
      }
      store_panel(y, rows, which, tile.first + lane, values[lane]);
    }
  }

#if defined(TULLE_X86)
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Avx2, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t at_once = Panels * Inputs <= 4 ? Panels : Inputs >= 4 ? 1 : 4 / Inputs;
    constexpr std::size_t lanes = std::min<std::size_t>(Inputs, 4), width = Group == any_group ? lanes : Inputs;
    for (std::size_t p = 0; p < Panels && !is_repeated(which, p); p += at_once) {
      for (std::size_t lane = 0; lane < Inputs; lane += lanes) {
        compute_i8_avx2<at_once, lanes, width>(*this, which + p, tile, lane);
      }
    }
  }
  template <std::size_t Panels, std::size_t Inputs>
  void compute(isa::Avx512, const std::size_t* which, const InputTile& tile) const noexcept {
    compute_i8_avx512<Panels, Inputs>(*this, which, tile);
  }
#endif
};

/// One tile of y = fma(minimum, x_scale * float(sum(x)), y), group after group: a weight is scale * code + minimum, and
/// y holds the products of the codes. That is a 16th or 32nd of the columns, so the loop is the same for every layout.
template <class Isa>
struct MinimumLoop {
  static constexpr StreamCounts streams_one_row{1, 2, 2};

  const GroupScales& minimums;
  const ActivationsI8& input;
  MatrixView<float> y;
  RowRange rows;

  ScalePlace place(std::size_t panel, std::size_t group) const noexcept {
    return minimums.place(panel, group, group * minimums.group());
  }
  /// By which the minimum of a group is multiplied, for every input of a tile.
  template <std::size_t Inputs>
  [[gnu::always_inline]] void load_sums(const InputTile& tile, std::size_t group, float (&to)[Inputs]) const noexcept {
    const std::size_t begin = group * minimums.group();
    const std::int32_t* sums = input.sums(tile) + begin / sum_columns * Inputs;
    const std::int32_t* second = minimums.group() == sum_columns ? nullptr : sums + Inputs;
    const float* scales = input.scales(tile) + begin / group_columns * Inputs;
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      const std::int32_t sum = second == nullptr ? sums[lane] : sums[lane] + second[lane];
      to[lane] = scales[lane] * static_cast<float>(sum);
    }
  }

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* which, const InputTile& tile) const noexcept {
    for (std::size_t p = 0; p < Panels; ++p) {
      if (p > 0 && which[p] == which[p - 1]) break;  // the last panel again: it must not be added twice
      alignas(64) float values[Inputs][panel_rows] = {};
      for (std::size_t lane = 0; lane < Inputs && lane < tile.inputs; ++lane) {
        load_panel(y, rows, which[p], tile.first + lane, values[lane]);
      }
      add(Isa{}, which[p], tile, values);
      for (std::size_t lane = 0; lane < Inputs && lane < tile.inputs; ++lane) {
        store_panel(y, rows, which[p], tile.first + lane, values[lane]);
      }
    }
  }

  template <std::size_t Inputs>
  void add(isa::Scalar, std::size_t panel, const InputTile& tile, float (&values)[Inputs][panel_rows]) const noexcept {
    for (std::size_t group = 0; group < minimums.groups(); ++group) {
      float sums[Inputs];
      load_sums(tile, group, sums);
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        for (std::size_t row = 0; row < panel_rows; ++row) {
          values[lane][row] =
              std::fma(minimums.at(panel * panel_rows + row, group * minimums.group()), sums[lane], values[lane][row]);
        }
      }
    }
  }

#if defined(TULLE_SIMD128)
  template <std::size_t Inputs>
  TULLE_TARGET_SIMD128 void add(isa::Simd128, std::size_t panel, const InputTile& tile,
                                float (&values)[Inputs][panel_rows]) const noexcept {
    using namespace simd128;
    for (std::size_t group = 0; group < minimums.groups(); ++group) {
      alignas(16) float minimum[panel_rows], sums[Inputs];
      load_group_scales(minimums, place(panel, group), minimum);
      load_sums(tile, group, sums);
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        const F32x4 sum = splat(sums[lane]);
        TULLE_UNROLL
        for (std::size_t i = 0; i < 4; ++i) {
          store(values[lane] + 4 * i, multiply_add(load4(minimum + 4 * i), sum, load4(values[lane] + 4 * i)));
        }
      }
    }
  }
#endif

#if defined(TULLE_X86)
  template <std::size_t Inputs>
  TULLE_TARGET_AVX2 void add(isa::Avx2, std::size_t panel, const InputTile& tile,
                             float (&values)[Inputs][panel_rows]) const noexcept {
    for (std::size_t half = 0; half < panel_rows; half += 8) {
      __m256 totals[Inputs];
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) totals[lane] = _mm256_loadu_ps(values[lane] + half);
      for (std::size_t group = 0; group < minimums.groups(); ++group) {
        alignas(32) float sums[Inputs];
        load_sums(tile, group, sums);
        const __m256 minimum = load8(minimums, place(panel, group), half);
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) {
          totals[lane] = _mm256_fmadd_ps(minimum, _mm256_set1_ps(sums[lane]), totals[lane]);
        }
      }
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) _mm256_storeu_ps(values[lane] + half, totals[lane]);
    }
  }

  template <std::size_t Inputs>
  TULLE_TARGET_AVX512 void add(isa::Avx512, std::size_t panel, const InputTile& tile,
                               float (&values)[Inputs][panel_rows]) const noexcept {
    __m512 totals[Inputs];
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) totals[lane] = _mm512_loadu_ps(values[lane]);
    for (std::size_t group = 0; group < minimums.groups(); ++group) {
      alignas(32) float sums[Inputs];
      load_sums(tile, group, sums);
      const __m512 minimum = load16(minimums, place(panel, group));
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        totals[lane] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(sums[lane]), totals[lane]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) _mm512_storeu_ps(values[lane], totals[lane]);
  }
#endif
};

/// Adds to Y = X W^T of the codes what the minimums make of X.
template <class Tag>
void add_minimums(const GroupScales& minimums, const ActivationsI8& input, MatrixView<float> y,
                  RowRange range) noexcept {
  for_each_tile(MinimumLoop<isa::WithoutDots<Tag>>{minimums, input, y, range}, input.inputs(), range);
}

}  // namespace tulle::detail
