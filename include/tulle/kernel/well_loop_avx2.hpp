// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of windowed ELL weights on AVX2 (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/well_panels.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Activations of a window, chosen by byte shuffles of its quarters or halves.
template <class Form>
struct WellWindow256 {
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
};

/// 8 rows and at most 4 inputs at a time, or all 16 rows of one input.
template <class Form, std::size_t Inputs>
TULLE_TARGET_AVX2 void compute_well_avx2(const WellPiece& piece, const std::uint8_t* x_of_span, std::size_t stride,
                                         WellDots<Inputs>& high, WellDots<Inputs>& low) noexcept {
  using Window = WellWindow256<Form>;
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
      const std::uint8_t* at = piece.bytes + 32 * half0;
      const std::uint8_t* advance = piece.advances;
      const std::uint8_t* x = x_of_span + 2 * lane0 * stride;
      std::size_t window = 0;
      for (std::size_t left = piece.bundles; left > 0; --left, at += Form::bundle_bytes) {
#pragma GCC unroll 4
        for (std::size_t line = 0; line < Form::bundle_bytes && half0 == 0; line += 64) {
          __builtin_prefetch(at + well_prefetch_bytes + line);
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
              h[half][lane] = Window::add_dot(h[half][lane], Window::pick(places, bit4, bit5, upper), values);
              l[half][lane] = Window::add_dot(l[half][lane], Window::pick(places, bit4, bit5, upper + stride), values);
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

}  // namespace tulle::detail

#endif
