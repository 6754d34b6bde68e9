// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of ELL weights on every instruction set (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <tulle/kernel/activations/activations_i14.hpp>
#include <tulle/kernel/ell/ell_loop_avx2.hpp>
#include <tulle/kernel/ell/ell_loop_avx512.hpp>
#include <tulle/kernel/ell/ell_pairs.hpp>
#include <tulle/kernel/ell/ell_panels.hpp>
#include <tulle/kernel/ell/ell_row_order.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// Panels of Y = X W^T. The columns are cut into spans of 2048, so that the sum of a span's products is an exact int32;
/// y = (sum of the spans' sums as floats, in order) * scale of the activations * scale of the weights. So all sets give
/// the same bits. `Inputs`: rows of activations that are multiplied together.
template <class Form, class Isa>
struct EllLoop {
  const std::uint8_t* bytes;
  const std::uint8_t* advances;
  const std::size_t* bundles;  ///< [panels * spans + 1] where each begins
  std::size_t window, columns, spans;
  const std::int32_t* sums;  ///< [panels * spans][16] of a row's values
  const float* scales;       ///< [rows padded]
  const EllRowOrder& order;
  const ActivationsI14& input;
  MatrixView<float> y;
  RowRange rows;

  /// Some panels by rows of activations `first` ... `first + Inputs - 1`, where there are few.
  template <std::size_t Inputs, std::size_t Panels>
  void run(const std::size_t (&panels)[Panels], std::size_t first) const noexcept {
    run<Inputs>(panels, first, [&](const EllPiece(&pieces)[Panels], const std::uint8_t* x, auto& dots) {
      compute<Inputs>(Isa{}, pieces, x, dots);
    });
  }

  /// `products` fills the sums of pieces (a span of each panel) by the codes from x on.
  template <std::size_t Inputs, std::size_t Panels, class Products>
  void run(const std::size_t (&panels)[Panels], std::size_t first, Products&& products) const noexcept {
    alignas(64) EllDots<Inputs> dots[Panels];
    float values[Panels][Inputs][panel_rows] = {};
    for (std::size_t p = 0; p < Panels; ++p) {  // read at the end of a panel
      __builtin_prefetch(sums + panels[p] * spans * panel_rows);
      __builtin_prefetch(scales + panels[p] * panel_rows);
    }
    for (std::size_t span = 0; span < spans; ++span) {
      EllPiece pieces[Panels];
      for (std::size_t p = 0; p < Panels; ++p) pieces[p] = piece(panels[p] * spans + span);
      products(pieces, input.high(first) + span * span_columns, dots);
      for (std::size_t p = 0; p < Panels; ++p) {
        add_sums<Inputs>(Isa{}, dots[p], sums + (panels[p] * spans + span) * panel_rows, values[p]);
      }
    }
    for (std::size_t p = 0; p < Panels; ++p) {
      for (std::size_t lane = 0; lane < Inputs; ++lane) finish(panels[p], first + lane, values[p][lane]);
    }
  }

#if defined(TULLE_X86)
  /// All rows by a batch.
  void run_many() const noexcept {
    using Pairs = EllPairs<isa::WithoutDots<Isa>>;
    const std::size_t begin = rows.begin / panel_rows * panel_rows, end = round_up(rows.end, panel_rows);
    const RowRange around = order.places_around({begin, end});
    std::size_t max_bundles = 0;
    for (std::size_t index = around.begin / panel_rows * spans; index < around.end / panel_rows * spans; ++index) {
      max_bundles = std::max(max_bundles, piece(index).bundles);
    }
    Pairs pairs(max_bundles * Form::steps);
    for (std::size_t row = begin, next; row < end; row = next) {
      next = std::min(row + pairs.rows_at_once(), end);
      float row_scales[Pairs::max_rows];
      for (std::size_t i = row; i < next; ++i) row_scales[i - row] = scales[order.place_of(i)];
      for (std::size_t span = 0; span < spans; ++span) {
        read_lists(span, {row, next}, pairs);
        pairs.end_lists(next - row);
        for (std::size_t first = 0; first < input.inputs(); first += Pairs::inputs) {
          for (std::size_t to = row; to < next; to += panel_rows) {
            prefetch_outputs(y, to / panel_rows, first, std::min(first + Pairs::inputs, input.inputs()));
          }
          pairs.multiply(next - row, input.codes(first) + span * span_columns * Pairs::inputs);
          add_products(Isa{}, pairs, span, {row, next}, first, row_scales);
        }
      }
    }
  }
#endif

  EllPiece piece(std::size_t index) const noexcept {
    return {bytes + bundles[index] * Form::bundle_bytes, advances + bundles[index] * Form::steps,
            bundles[index + 1] - bundles[index]};
  }

 private:
  template <std::size_t Inputs>
  static void add_sums(isa::Scalar, const EllDots<Inputs>& dots, const std::int32_t* of_rows,
                       float (&values)[Inputs][panel_rows]) noexcept {
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        const auto too_much = static_cast<std::uint32_t>(of_rows[row]) * std::uint32_t{ActivationsI14::offset_of_both};
        values[lane][row] +=
            static_cast<float>(static_cast<std::int32_t>(static_cast<std::uint32_t>(dots[lane][row]) - too_much));
      }
    }
  }
  template <std::size_t Inputs, class Other>
  static void add_sums(Other, const EllDots<Inputs>& dots, const std::int32_t* of_rows,
                       float (&values)[Inputs][panel_rows]) noexcept {
    add_sums<Inputs>(isa::Scalar{}, dots, of_rows, values);
  }

  /// For windows of any length.
  template <std::size_t Inputs, std::size_t Panels>
  void compute(isa::Scalar, const EllPiece (&pieces)[Panels], const std::uint8_t* x,
               EllDots<Inputs> (&dots)[Panels]) const noexcept {
    for (std::size_t p = 0; p < Panels; ++p) {
      std::uint32_t totals[Inputs][panel_rows] = {};
      for_each_ell_value<Form>(
          pieces[p].bytes, pieces[p].bundles, [&](std::size_t row, std::size_t column, std::int8_t value) {
            for (std::size_t lane = 0; lane < Inputs; ++lane) {
              const std::uint8_t* high = x + 2 * lane * input.stride() + column;
              totals[lane][row] += static_cast<std::uint32_t>(value * (128 * high[0] + high[input.stride()]));
            }
          });
      std::memcpy(dots[p], totals, sizeof totals);
    }
  }
  template <std::size_t Inputs>
  void compute(isa::Simd128, const EllPiece (&pieces)[1], const std::uint8_t* x,
               EllDots<Inputs> (&dots)[1]) const noexcept {
    compute<Inputs>(isa::Scalar{}, pieces, x, dots);  // a window is more than one register: dense weights are faster
  }

#if defined(TULLE_X86)
  /// Eight rows at a time where they lie beside each other: with 128 inputs that is a twentieth faster than row by row.
  template <class Pairs>
  void read_lists(std::size_t span, RowRange of, Pairs& pairs) const noexcept {
    const auto piece_of = [&](std::size_t place) { return piece(place / panel_rows * spans + span); };
    if (order.is_that_of_matrix()) {
      for (std::size_t row = of.begin; row < of.end; row += 8) {
        pairs.template read<Form>(piece_of(row), row % panel_rows, row - of.begin);
      }
      return;
    }
    for (std::size_t row = of.begin; row < of.end; ++row) {
      const std::size_t place = order.place_of(row);
      pairs.template read_row<Form>(piece_of(place), place % panel_rows, row - of.begin);
    }
  }

  template <std::size_t Inputs, std::size_t Panels>
  void compute(isa::Avx2, const EllPiece (&pieces)[Panels], const std::uint8_t* x,
               EllDots<Inputs> (&dots)[Panels]) const noexcept {
    using Short = EllLoop256<Form, short_window, Isa>;
    if (window <= short_window) return compute_ell_avx2<Short>(pieces, x, input.stride(), dots);
    if constexpr (std::is_same_v<Form, EllWide>) {
      using Middle = EllLoop256<Form, middle_window, Isa>;
      if (window <= middle_window) return compute_ell_avx2<Middle>(pieces, x, input.stride(), dots);
    }
    compute<Inputs>(isa::Scalar{}, pieces, x, dots);  // packed for AVX-512
  }
  template <std::size_t Inputs, std::size_t Panels>
  void compute(isa::Avx512, const EllPiece (&pieces)[Panels], const std::uint8_t* x,
               EllDots<Inputs> (&dots)[Panels]) const noexcept {
    compute_ell_avx512<Form>(pieces, x, input.stride(), dots);
  }
  template <std::size_t Inputs>
  static void add_sums(isa::Avx512, const EllDots<Inputs>& dots, const std::int32_t* of_rows,
                       float (&values)[Inputs][panel_rows]) noexcept {
    add_sums_avx512(dots, of_rows, values);
  }

  /// y holds the sums of the spans before. row_scales [rows of `of`].
  template <class Pairs>
  TULLE_TARGET_AVX2 void add_products(isa::Avx2, const Pairs& pairs, std::size_t span, RowRange of, std::size_t first,
                                      const float* row_scales) const noexcept {
    const std::size_t tile_end = std::min(first + Pairs::inputs, input.inputs()), end = std::min(of.end, rows.end);
    for (std::size_t row = of.begin; row < end; row += 8) {
      const std::size_t real = std::min<std::size_t>(end - row, 8);
      const __m256 of_rows = _mm256_loadu_ps(row_scales + (row - of.begin));
      for (std::size_t four = first; four < tile_end; four += 4) {
        __m256i products[4];
        pairs.load_sums(row - of.begin, four - first, products);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) {
          if (four + i >= tile_end) break;
          float* const out = y[four + i] + row;
          float values[8] = {};
          if (span > 0) std::memcpy(values, out, real * sizeof(float));
          __m256 sum = _mm256_add_ps(_mm256_loadu_ps(values), _mm256_cvtepi32_ps(products[i]));
          if (span + 1 == spans)
            sum = _mm256_mul_ps(sum, _mm256_mul_ps(_mm256_set1_ps(input.scale(four + i)), of_rows));
          if (real == 8) {
            _mm256_storeu_ps(out, sum);
          } else {
            _mm256_storeu_ps(values, sum);
            std::memcpy(out, values, real * sizeof(float));
          }
        }
      }
    }
  }
  template <class Pairs>
  TULLE_TARGET_AVX512 void add_products(isa::Avx512, const Pairs& pairs, std::size_t span, RowRange of,
                                        std::size_t first, const float* row_scales) const noexcept {
    const std::size_t tile_end = std::min(first + Pairs::inputs, input.inputs()), end = std::min(of.end, rows.end);
    for (std::size_t row = of.begin; row < end; row += 16) {
      const auto real = static_cast<__mmask16>(end - row < 16 ? (1u << (end - row)) - 1 : 0xFFFF);
      const __m512 of_rows = _mm512_maskz_loadu_ps(real, row_scales + (row - of.begin));
      for (std::size_t four = first; four < tile_end; four += 4) {
        __m512i products[4];
        pairs.load_sums(row - of.begin, four - first, products);
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) {
          if (four + i >= tile_end) break;
          float* const out = y[four + i] + row;
          __m512 sum = _mm512_cvtepi32_ps(products[i]);
          sum = _mm512_add_ps(span > 0 ? _mm512_maskz_loadu_ps(real, out) : _mm512_setzero_ps(), sum);
          if (span + 1 == spans)
            sum = _mm512_mul_ps(sum, _mm512_mul_ps(_mm512_set1_ps(input.scale(four + i)), of_rows));
          _mm512_mask_storeu_ps(out, real, sum);
        }
      }
    }
  }
#endif

  void finish(std::size_t panel, std::size_t of, float* values) const noexcept {
    for (std::size_t i = 0; i < panel_rows; ++i) values[i] *= input.scale(of) * scales[panel * panel_rows + i];
    if (order.is_that_of_matrix()) return store_panel(y, rows, panel, of, values);
    const auto [group, in_group] = order.rows_from(panel * panel_rows);
    float* const out = y[of] + group;
    for (std::size_t i = 0; i < real_rows(panel, rows); ++i) out[in_group[i]] = values[i];
  }
};

}  // namespace tulle::detail
