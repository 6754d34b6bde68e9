// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of windowed ELL weights on every instruction set (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <tulle/kernel/tiles.hpp>
#include <tulle/kernel/well_pairs.hpp>
#include <tulle/kernel/well_panels.hpp>
#include <tulle/kernel/wide_input.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// The low byte of a window's begin, 64 times: what is taken off a column to find it in the window.
struct WindowBegins {
  alignas(64) std::uint8_t bytes[256 / window_step][64];

  constexpr WindowBegins() : bytes() {
    for (std::size_t i = 0; i < 256 / window_step; ++i) {
      for (std::uint8_t& byte : bytes[i]) byte = static_cast<std::uint8_t>(i * window_step);
    }
  }
};
inline constexpr WindowBegins window_begins{};

/// Panels of Y = X W^T. The columns are cut into spans of 2048, so that the sum of a span's products is an exact int32;
/// y = (sum of the float of each span's, in order) * scale of the input * scale of the row. So all sets give the same bits.
template <class Form, class Isa>
struct WellLoop {
  const std::uint8_t* bytes;
  const std::uint8_t* advances;
  const std::size_t* bundles;  ///< [panels * spans + 1] where each begins
  std::size_t columns, spans;
  const std::int32_t* sums;    ///< [panels * spans][16] of a row's values
  const float* scales;         ///< [rows padded]
  const WideInput& input;
  MatrixView<float> y;
  RowRange rows;

  /// A panel with inputs `first` ... `first + Inputs - 1`, of few.
  template <std::size_t Inputs>
  void run(std::size_t panel, std::size_t first) const noexcept {
    run<Inputs>(panel, first, [&](std::size_t piece, const std::uint8_t* x, Dots<Inputs>& high, Dots<Inputs>& low) {
      compute(Isa{}, piece, x, high, low);
    });
  }

  /// `products` fills the sums of a piece (a span of a panel) with the inputs' codes from x on.
  template <std::size_t Inputs, class Products>
  void run(std::size_t panel, std::size_t first, Products&& products) const noexcept {
    alignas(64) Dots<Inputs> high, low;
    float values[Inputs][panel_rows] = {};
    for (std::size_t span = 0; span < spans; ++span) {
      products(panel * spans + span, input.high(first) + span * span_columns, high, low);
      add_parts<Inputs>(Isa{}, high, low, sums + (panel * spans + span) * panel_rows, values);
    }
    for (std::size_t lane = 0; lane < Inputs; ++lane) finish(panel, first + lane, values[lane]);
  }

#if defined(TULLE_X86)
  /// All panels with many inputs.
  void run_many() const noexcept {
    WellPairs pairs;
    for (std::size_t panel = rows.begin / panel_rows; panel * panel_rows < rows.end; ++panel) {
      for (std::size_t span = 0; span < spans; ++span) {
        const std::size_t piece = panel * spans + span, at_once = WellPairs::rows_at_once(bundles_of(piece) * Form::steps);
        for (std::size_t begin = 0; begin < panel_rows; begin += at_once) {
          pairs.read<Form>(bytes_of(piece), bundles_of(piece), begin, at_once);
          const std::size_t row = panel * panel_rows + begin;
          for (std::size_t first = 0; first < input.inputs(); first += WellPairs::inputs) {
            alignas(32) WellPairs::Dots dots;
            pairs.multiply(at_once, input.codes(first) + span * span_columns * WellPairs::inputs, dots);
            add_dots(dots, span, {row, row + at_once}, first);
          }
        }
      }
    }
  }
#endif

  template <std::size_t Inputs>
  using Dots = std::int32_t[Inputs][panel_rows];

  const std::uint8_t* bytes_of(std::size_t piece) const noexcept { return bytes + bundles[piece] * Form::bundle_bytes; }
  std::size_t bundles_of(std::size_t piece) const noexcept { return bundles[piece + 1] - bundles[piece]; }
  const std::uint8_t* advances_of(std::size_t piece) const noexcept { return advances + bundles[piece] * Form::steps; }

 private:
  /// Both parts hold 64 too much; what wraps around in 128 * high, the sum brings back.
  template <std::size_t Inputs>
  static void add_parts(isa::Scalar, const Dots<Inputs>& high, const Dots<Inputs>& low, const std::int32_t* of_rows,
                        float (&values)[Inputs][panel_rows]) noexcept {
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        const auto upper = static_cast<std::uint32_t>(high[lane][row] - WideInput::offset * of_rows[row]);
        const auto lower = static_cast<std::uint32_t>(low[lane][row] - WideInput::offset * of_rows[row]);
        values[lane][row] += static_cast<float>(static_cast<std::int32_t>(128 * upper + lower));
      }
    }
  }
  template <std::size_t Inputs, class Other>
  static void add_parts(Other, const Dots<Inputs>& high, const Dots<Inputs>& low, const std::int32_t* of_rows,
                        float (&values)[Inputs][panel_rows]) noexcept {
    add_parts<Inputs>(isa::Scalar{}, high, low, of_rows, values);
  }

  void finish(std::size_t panel, std::size_t of, float* values) const noexcept {
    for (std::size_t row = 0; row < panel_rows; ++row) values[row] *= input.scale(of) * scales[panel * panel_rows + row];
    store_panel(y, rows, panel, of, values);
  }

#if defined(TULLE_X86)
  /// y holds the sums of the spans before.
  void add_dots(const WellPairs::Dots& dots, std::size_t span, RowRange of, std::size_t first) const noexcept {
    const std::size_t end = std::min(of.end, rows.end);
    for (std::size_t i = 0; i < WellPairs::inputs; ++i) {
      const std::size_t at = first + WellPairs::input_of(i);
      if (at >= input.inputs()) continue;
      for (std::size_t row = of.begin; row < end; ++row) {
        float value = (span > 0 ? y[at][row] : 0.0f) + static_cast<float>(dots[row - of.begin][i]);
        if (span + 1 == spans) value *= input.scale(at) * scales[row];
        y[at][row] = value;
      }
    }
  }
#endif

  template <std::size_t Inputs>
  void compute(isa::Simd128, std::size_t piece, const std::uint8_t* x, Dots<Inputs>& high, Dots<Inputs>& low) const noexcept {
    compute<Inputs>(isa::Scalar{}, piece, x, high, low);  // a window is more than one register: dense weights are faster
  }

  template <std::size_t Inputs>
  void compute(isa::Scalar, std::size_t piece, const std::uint8_t* x, Dots<Inputs>& high, Dots<Inputs>& low) const noexcept {
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      for (std::size_t row = 0; row < panel_rows; ++row) high[lane][row] = low[lane][row] = 0;
    }
    for_each_well_value<Form>(bytes_of(piece), bundles_of(piece), [&](std::size_t row, std::size_t column, std::int8_t value) {
      for (std::size_t lane = 0; lane < Inputs; ++lane) {
        high[lane][row] += value * x[2 * lane * input.stride() + column];
        low[lane][row] += value * x[(2 * lane + 1) * input.stride() + column];
      }
    });
  }

#if defined(TULLE_X86)
  /// Bytes of main memory ahead of the loop: bundles are read once, and not every processor foresees them.
  static constexpr std::size_t prefetch_bytes = 4096;

  static TULLE_INLINE_AVX2 __m256i block(const std::uint8_t* x) noexcept {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x)));
  }

  /// Bytes of b where the top bit of `mask` is set, else of a.
  static TULLE_INLINE_AVX2 __m256i blend(__m256i a, __m256i b, __m256i mask) noexcept {
#if defined(__GNUC__) && !defined(__clang__)
    __m256i blended;  // of the intrinsic GCC makes a comparison and then the blend
    __asm__("vpblendvb %3, %2, %1, %0" : "=x"(blended) : "x"(a), "x"(b), "x"(mask));
    return blended;
#else
    return _mm256_blendv_epi8(a, b, mask);
#endif
  }

  /// The bytes of the window at x that `places` (0 ... window - 1) name.
  static TULLE_INLINE_AVX2 __m256i pick(__m256i places, __m256i bit4, __m256i bit5, const std::uint8_t* x) noexcept {
    const __m256i first = blend(_mm256_shuffle_epi8(block(x), places),
                                _mm256_shuffle_epi8(block(x + 16), places), bit4);
    if constexpr (Form::window == 32) {
      return (void)bit5, first;
    } else {
      const __m256i second = blend(_mm256_shuffle_epi8(block(x + 32), places),
                                   _mm256_shuffle_epi8(block(x + 48), places), bit4);
      return blend(first, second, bit5);
    }
  }

  static TULLE_INLINE_AVX2 __m256i add_dot(__m256i sums, __m256i x, __m256i values) noexcept {
    return _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(x, values), _mm256_set1_epi16(1)));
  }

  /// 8 rows and at most 4 inputs at a time, or all 16 rows of one input.
  template <std::size_t Inputs>
  TULLE_TARGET_AVX2 void compute(isa::Avx2, std::size_t piece, const std::uint8_t* x_of_span, Dots<Inputs>& high,
                                 Dots<Inputs>& low) const noexcept {
    constexpr std::size_t halves = Inputs == 1 ? 2 : 1, lanes = Inputs < 4 ? Inputs : 4;
    // The last of a row's 4 running columns, for all its slots to start from.
    const __m256i last = _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15));
    const __m256i gap_mask = _mm256_set1_epi8(static_cast<char>(Form::most_gap));
    __m256i running = _mm256_set1_epi32(0x01010101);  // times 4 gaps: their running sums
#if defined(__GNUC__)
    __asm__("" : "+x"(running));  // one product, not the shifts and sums that GCC makes of it
#endif
    for (std::size_t half0 = 0; half0 < 2; half0 += halves) {
      for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
        __m256i position[halves], h[halves][lanes], l[halves][lanes];
#pragma GCC unroll 2
        for (std::size_t half = 0; half < halves; ++half) {
          position[half] = _mm256_setzero_si256();
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) h[half][lane] = l[half][lane] = _mm256_setzero_si256();
        }
        const std::uint8_t* at = bytes_of(piece) + 32 * half0;
        const std::uint8_t* advance = advances_of(piece);
        const std::uint8_t* x = x_of_span + 2 * lane0 * input.stride();
        const std::size_t stride = input.stride();
        std::size_t window = 0;
        for (std::size_t left = bundles_of(piece); left > 0; --left, at += Form::bundle_bytes) {
#pragma GCC unroll 4
          for (std::size_t line = 0; line < Form::bundle_bytes && half0 == 0; line += 64) {
            __builtin_prefetch(at + prefetch_bytes + line);
          }
#pragma GCC unroll 4
          for (std::size_t step = 0; step < Form::steps; ++step, ++advance) {
            window += *advance;
            const __m256i begin = _mm256_load_si256(reinterpret_cast<const __m256i*>(window_begins.bytes[window % 16]));
            const std::uint8_t* in_window = x + window_step * window;
#pragma GCC unroll 2
            for (std::size_t half = 0; half < halves; ++half) {
              const __m256i codes = _mm256_load_si256(reinterpret_cast<const __m256i*>(at + 32 * half));
              __m256i values;
              if constexpr (Form::nibbles) {
                values = _mm256_andnot_si256(gap_mask, codes);
              } else {
                values = _mm256_load_si256(reinterpret_cast<const __m256i*>(at + 64 * (1 + step) + 32 * half));
              }
              const __m256i gaps =
                  _mm256_and_si256(_mm256_srli_epi16(codes, static_cast<int>(step * Form::gap_bits)), gap_mask);
              const __m256i run = _mm256_mullo_epi32(gaps, running);
              const __m256i places = _mm256_add_epi8(run, _mm256_sub_epi8(position[half], begin));
              position[half] = _mm256_add_epi8(position[half], _mm256_shuffle_epi8(run, last));
              const __m256i bit4 = _mm256_slli_epi16(places, 3), bit5 = _mm256_slli_epi16(places, 2);
#pragma GCC unroll 4
              for (std::size_t lane = 0; lane < lanes; ++lane) {
                const std::uint8_t* upper = in_window + 2 * lane * stride;
                h[half][lane] = add_dot(h[half][lane], pick(places, bit4, bit5, upper), values);
                l[half][lane] = add_dot(l[half][lane], pick(places, bit4, bit5, upper + stride), values);
              }
            }
          }
        }
#pragma GCC unroll 2
        for (std::size_t half = 0; half < halves; ++half) {
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            _mm256_store_si256(reinterpret_cast<__m256i*>(high[lane0 + lane] + 8 * (half0 + half)), h[half][lane]);
            _mm256_store_si256(reinterpret_cast<__m256i*>(low[lane0 + lane] + 8 * (half0 + half)), l[half][lane]);
          }
        }
      }
    }
  }

  template <std::size_t Inputs>
  TULLE_TARGET_AVX512 static void add_parts(isa::Avx512, const Dots<Inputs>& high, const Dots<Inputs>& low,
                                            const std::int32_t* of_rows, float (&values)[Inputs][panel_rows]) noexcept {
    static_assert(WideInput::offset == 64);
    const __m512i too_much = _mm512_slli_epi32(_mm512_loadu_si512(of_rows), 6);
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      const __m512i upper = _mm512_sub_epi32(_mm512_load_si512(high[lane]), too_much);
      const __m512i lower = _mm512_sub_epi32(_mm512_load_si512(low[lane]), too_much);
      const __m512 sum = _mm512_cvtepi32_ps(_mm512_add_epi32(_mm512_slli_epi32(upper, 7), lower));
      _mm512_storeu_ps(values[lane], _mm512_add_ps(_mm512_loadu_ps(values[lane]), sum));
    }
  }

  template <std::size_t Inputs>
  TULLE_TARGET_AVX512 void compute(isa::Avx512, std::size_t piece, const std::uint8_t* x, Dots<Inputs>& high,
                                   Dots<Inputs>& low) const noexcept {
    constexpr std::size_t chains = Inputs == 1 ? 2 : 1;  // a product takes longer than a step
    const __m512i last =
        _mm512_broadcast_i32x4(_mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15));
    const __m512i gap_mask = _mm512_set1_epi8(static_cast<char>(Form::most_gap));
    __m512i running = _mm512_set1_epi32(0x01010101);  // as above
#if defined(__GNUC__)
    __asm__("" : "+v"(running));
#endif
    __m512i position = _mm512_setzero_si512(), h[chains][Inputs], l[chains][Inputs];
#pragma GCC unroll 2
    for (std::size_t chain = 0; chain < chains; ++chain) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) h[chain][lane] = l[chain][lane] = _mm512_setzero_si512();
    }
    const std::uint8_t* at = bytes_of(piece);
    const std::uint8_t* advance = advances_of(piece);
    const std::size_t stride = input.stride();
    std::size_t window = 0;
    for (std::size_t left = bundles_of(piece); left > 0; --left, at += Form::bundle_bytes) {
#pragma GCC unroll 4
      for (std::size_t line = 0; line < Form::bundle_bytes; line += 64) __builtin_prefetch(at + prefetch_bytes + line);
      const __m512i codes = _mm512_load_si512(at);
#pragma GCC unroll 4
      for (std::size_t step = 0; step < Form::steps; ++step, ++advance) {
        window += *advance;
        const __m512i values = Form::nibbles ? _mm512_andnot_si512(gap_mask, codes) : _mm512_load_si512(at + 64 * (1 + step));
        const __m512i gaps = _mm512_and_si512(_mm512_srli_epi16(codes, static_cast<unsigned>(step * Form::gap_bits)), gap_mask);
        const __m512i run = _mm512_mullo_epi32(gaps, running);
        const __m512i places =
            _mm512_add_epi8(run, _mm512_sub_epi8(position, _mm512_load_si512(window_begins.bytes[window % 16])));
        position = _mm512_add_epi8(position, _mm512_shuffle_epi8(run, last));
        const std::uint8_t* in_window = x + window_step * window;
        const std::size_t chain = step % chains;
#pragma GCC unroll 8
        for (std::size_t lane = 0; lane < Inputs; ++lane) {
          const std::uint8_t* upper = in_window + 2 * lane * stride;
          const __m512i x_high = _mm512_permutexvar_epi8(places, _mm512_loadu_si512(upper));
          const __m512i x_low = _mm512_permutexvar_epi8(places, _mm512_loadu_si512(upper + stride));
          h[chain][lane] = _mm512_dpbusd_epi32(h[chain][lane], x_high, values);
          l[chain][lane] = _mm512_dpbusd_epi32(l[chain][lane], x_low, values);
        }
      }
    }
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      if constexpr (chains == 2) {
        h[0][lane] = _mm512_add_epi32(h[0][lane], h[1][lane]);
        l[0][lane] = _mm512_add_epi32(l[0][lane], l[1][lane]);
      }
      _mm512_store_si512(high[lane], h[0][lane]);
      _mm512_store_si512(low[lane], l[0][lane]);
    }
  }
#endif
};

}  // namespace tulle::detail
