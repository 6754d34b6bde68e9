// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of dense int8 weights on every instruction set (L2).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/core/half.hpp>
#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/tiles.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// One tile of Y = X W^T for int8 panels [columns / 4][16 rows][4].
///
/// Per span of columns (a weight group, at most the 32 columns of an activation group) the dot product is an exact int32.
/// Spans are added in increasing order: y = fma(float(dot), x_scale [* w_scale of the group], y); the row's scale comes last.
/// `GroupScale` is void (one scale per row), Half or float ([columns / group][16 rows] per panel).
template <class GroupScale, std::size_t Span, class Isa>
struct DenseI8Loop {
  static constexpr bool grouped = !std::is_void_v<GroupScale>;
  static constexpr std::size_t steps = Span / 4;
  static constexpr std::size_t sums_per_span = Span / sum_columns;

  const std::int8_t* codes;
  const GroupScale* group_scales;
  const float* row_scales;  ///< [rows padded], null when grouped
  std::size_t group;        ///< columns of a weight group; a multiple of Span
  std::size_t groups;       ///< of a row
  const QuantizedInput& input;
  MatrixView<float> y;
  RowRange rows;

  std::size_t padded_columns() const noexcept { return input.padded_columns(); }
  const std::int8_t* panel(std::size_t index) const noexcept { return codes + index * padded_columns() * panel_rows; }
  auto panel_scales(std::size_t index) const noexcept { return group_scales + index * groups * panel_rows; }

  void store(std::size_t panel_index, std::size_t input_index, const float* values) const noexcept {
    const std::size_t first = panel_index * panel_rows;
    std::memcpy(y[input_index] + first, values, std::min(panel_rows, rows.end - first) * sizeof(float));
  }

  template <std::size_t Panels, std::size_t Inputs>
  void run(const std::size_t* which, const InputTile& tile) const noexcept {
    if constexpr (std::is_same_v<Isa, isa::Scalar>) {
      for (std::size_t p = 0; p < Panels; ++p) compute_panel(which[p], tile);
    } else {
      compute<Panels, Inputs>(Isa{}, which, tile);
    }
  }

  void compute_panel(std::size_t which, const InputTile& tile) const noexcept {
    const std::int8_t* x = input.codes(tile);
    const std::int8_t* w = panel(which);
    for (std::size_t lane = 0; lane < tile.inputs; ++lane) {
      float values[panel_rows] = {};
      for (std::size_t begin = 0; begin < padded_columns(); begin += Span) {
        const float x_scale = input.scales(tile)[begin / group_columns * tile.width + lane];
        for (std::size_t row = 0; row < panel_rows; ++row) {
          std::int32_t dot = 0;
          for (std::size_t column = begin; column < begin + Span; ++column) {
            dot += int{w[(column / 4 * panel_rows + row) * 4 + column % 4]} * x[(column / 4 * tile.width + lane) * 4 + column % 4];
          }
          float scale = x_scale;
          if constexpr (grouped) scale = to_float(panel_scales(which)[begin / group * panel_rows + row]) * x_scale;
          values[row] = std::fma(static_cast<float>(dot), scale, values[row]);
        }
      }
      if constexpr (!grouped) {
        for (std::size_t row = 0; row < panel_rows; ++row) values[row] *= row_scales[which * panel_rows + row];
      }
      store(which, tile.first + lane, values);
    }
  }

#if defined(TULLE_X86)
  static TULLE_INLINE_AVX2 __m256 load8(const float* scales) noexcept { return _mm256_loadu_ps(scales); }
  static TULLE_INLINE_AVX2 __m256 load8(const Half* scales) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(scales)));
  }
  static TULLE_INLINE_AVX512 __m512 load16(const float* scales) noexcept { return _mm512_loadu_ps(scales); }
  static TULLE_INLINE_AVX512 __m512 load16(const Half* scales) noexcept {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(scales)));
  }

  /// maddubs multiplies u8 by s8 and saturates its pair sums at int16, so |w| (at most 128) meets x with w's sign
  /// (|x| at most 127): 2 * 128 * 127 = 32512 fits, and every product is exact.
  template <std::size_t Panels, std::size_t Inputs>
  TULLE_TARGET_AVX2 void compute(isa::Avx2, const std::size_t* which, const InputTile& tile) const noexcept {
    constexpr std::size_t at_once = Panels * Inputs <= 4 ? Panels : Inputs >= 4 ? 1 : 4 / Inputs;
    constexpr std::size_t lanes = Inputs < 4 ? Inputs : 4;
    const auto* x = reinterpret_cast<const std::int32_t*>(input.codes(tile));
    const float* x_scales = input.scales(tile);
    const __m256i ones = _mm256_set1_epi16(1);
    for (std::size_t p0 = 0; p0 < Panels; p0 += at_once) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
        __m256 values[at_once][lanes][2];
        const std::int8_t* w[at_once];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
          w[p] = panel(which[p0 + p]);
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) values[p][lane][0] = values[p][lane][1] = _mm256_setzero_ps();
        }
        for (std::size_t begin = 0; begin < padded_columns(); begin += Span) {
          __m256i dots[at_once][lanes][2];
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 4
            for (std::size_t lane = 0; lane < lanes; ++lane) dots[p][lane][0] = dots[p][lane][1] = _mm256_setzero_si256();
          }
          for (std::size_t quad = begin / 4; quad < begin / 4 + steps; ++quad) {
#pragma GCC unroll 4
            for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 2
              for (std::size_t half = 0; half < 2; ++half) {
                const __m256i codes8 =
                    _mm256_load_si256(reinterpret_cast<const __m256i*>(w[p] + quad * 4 * panel_rows + 32 * half));
                const __m256i magnitude = _mm256_abs_epi8(codes8);
#pragma GCC unroll 4
                for (std::size_t lane = 0; lane < lanes; ++lane) {
                  const __m256i value = _mm256_set1_epi32(x[quad * Inputs + lane0 + lane]);
                  const __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(value, codes8));
                  dots[p][lane][half] = _mm256_add_epi32(dots[p][lane][half], _mm256_madd_epi16(pairs, ones));
                }
              }
            }
          }
#pragma GCC unroll 4
          for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
              __m256 w_scale{};
              if constexpr (grouped) w_scale = load8(panel_scales(which[p0 + p]) + begin / group * panel_rows + 8 * half);
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
#pragma GCC unroll 4
        for (std::size_t p = 0; p < at_once; ++p) {
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            if (lane0 + lane >= tile.inputs) continue;
            alignas(32) float out[panel_rows];
#pragma GCC unroll 2
            for (std::size_t half = 0; half < 2; ++half) {
              __m256 value = values[p][lane][half];
              if constexpr (!grouped) {
                value = _mm256_mul_ps(value, _mm256_loadu_ps(row_scales + which[p0 + p] * panel_rows + 8 * half));
              }
              _mm256_store_ps(out + 8 * half, value);
            }
            store(which[p0 + p], tile.first + lane0 + lane, out);
          }
        }
      }
    }
  }

  /// vpdpbusd multiplies u8 by s8 exactly: w + 128 meets x, and the sum starts at -128 * sum(x).
  template <std::size_t Panels, std::size_t Inputs>
  TULLE_TARGET_AVX512 void compute(isa::Avx512, const std::size_t* which, const InputTile& tile) const noexcept {
    const auto* x = reinterpret_cast<const std::int32_t*>(input.codes(tile));
    const float* x_scales = input.scales(tile);
    const std::int32_t* x_sums = input.sums(tile);
    const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
    __m512 values[Panels][Inputs];
    const std::int8_t* w[Panels];
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
      w[p] = panel(which[p]);
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) values[p][lane] = _mm512_setzero_ps();
    }
    for (std::size_t begin = 0; begin < padded_columns(); begin += Span) {
      __m512i dots[Panels][Inputs];
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        std::int32_t sum = 0;
#pragma GCC unroll 4
        for (std::size_t part = 0; part < sums_per_span; ++part) sum += x_sums[(begin / sum_columns + part) * Inputs + lane];
        const __m512i start = _mm512_set1_epi32(-128 * sum);
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) dots[p][lane] = start;
      }
#pragma GCC unroll 2
      for (std::size_t quad = begin / 4; quad < begin / 4 + steps; ++quad) {
        __m512i weights[Panels];
#pragma GCC unroll 4
        for (std::size_t p = 0; p < Panels; ++p) {
          weights[p] = _mm512_xor_si512(_mm512_load_si512(w[p] + quad * 4 * panel_rows), offset);
        }
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) {
          const __m512i value = _mm512_set1_epi32(x[quad * Inputs + lane]);
#pragma GCC unroll 4
          for (std::size_t p = 0; p < Panels; ++p) dots[p][lane] = _mm512_dpbusd_epi32(dots[p][lane], weights[p], value);
        }
      }
#pragma GCC unroll 4
      for (std::size_t p = 0; p < Panels; ++p) {
        __m512 w_scale{};
        if constexpr (grouped) w_scale = load16(panel_scales(which[p]) + begin / group * panel_rows);
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) {
          __m512 scale = _mm512_set1_ps(x_scales[begin / group_columns * Inputs + lane]);
          if constexpr (grouped) scale = _mm512_mul_ps(w_scale, scale);
          values[p][lane] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots[p][lane]), scale, values[p][lane]);
        }
      }
    }
#pragma GCC unroll 4
    for (std::size_t p = 0; p < Panels; ++p) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        if (lane >= tile.inputs) continue;
        __m512 value = values[p][lane];
        if constexpr (!grouped) value = _mm512_mul_ps(value, _mm512_loadu_ps(row_scales + which[p] * panel_rows));
        alignas(64) float out[panel_rows];
        _mm512_store_ps(out, value);
        store(which[p], tile.first + lane, out);
      }
    }
  }
#endif
};

}  // namespace tulle::detail
