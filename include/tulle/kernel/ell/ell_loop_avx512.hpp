// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of ELL weights on AVX-512 (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i14.hpp>
#include <tulle/kernel/ell/ell_panels.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

struct EllStep512 {
  __m512i places, values;  ///< for each slot the place of its activation in the window, and its weight
  std::size_t column;      ///< the window's first, from the span's first on
};

/// Walks the steps of a piece, those of a bundle in order.
template <class Form>
class EllSteps512 {
 public:
  TULLE_INLINE_AVX512 void start(const EllPiece& piece) noexcept {
    bundle_ = piece.bytes;
    advance_ = piece.advances;
    window_ = 0;
    position_ = _mm512_setzero_si512();
    running_ = _mm512_set1_epi32(0x01010101);
#if defined(__GNUC__)
    __asm__("" : "+v"(running_));  // one product, not the shifts and sums that GCC makes of it
#endif
  }

  TULLE_INLINE_AVX512 EllStep512 step(std::size_t s) noexcept {
    if (s == 0) prefetch_bundle<Form>(bundle_, advance_);
    // The last of a row's 4 running columns, from which its next 4 slots start.
    const __m512i last = _mm512_broadcast_i32x4(_mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15));
    const __m512i gap_mask = _mm512_set1_epi8(static_cast<char>(Form::max_gap));
    window_ += *advance_++;
    const __m512i codes = _mm512_load_si512(bundle_);
    const __m512i values =
        Form::nibbles ? _mm512_andnot_si512(gap_mask, codes) : _mm512_load_si512(bundle_ + 64 * (1 + s));
    const __m512i gaps =
        _mm512_and_si512(_mm512_srli_epi16(codes, static_cast<unsigned>(s * Form::gap_bits)), gap_mask);
    const __m512i run = _mm512_mullo_epi32(gaps, running_);
    const __m512i columns = _mm512_add_epi8(run, position_);
    position_ = _mm512_shuffle_epi8(columns, last);
    const __m512i begin = _mm512_load_si512(*window_begins.from(window_));
    return {_mm512_sub_epi8(columns, begin), values, window_step * window_};
  }
  void next_bundle() noexcept { bundle_ += Form::bundle_bytes; }

 private:
  const std::uint8_t *bundle_, *advance_;
  std::size_t window_;
  __m512i position_;
  __m512i running_;  // times 4 gaps: their running sums
};

/// Sums of a panel by a few rows of activations. `Chains`: sums in 1 or 2 registers, as a product takes longer than a
/// step.
template <std::size_t Chains, std::size_t Inputs>
struct EllSums512 {
  __m512i high[Chains][Inputs], low[Chains][Inputs];

  TULLE_INLINE_AVX512 void clear() noexcept {
#pragma GCC unroll 2
    for (std::size_t chain = 0; chain < Chains; ++chain) {
#pragma GCC unroll 8
      for (std::size_t lane = 0; lane < Inputs; ++lane) high[chain][lane] = low[chain][lane] = _mm512_setzero_si512();
    }
  }

  /// Step s of a bundle.
  TULLE_INLINE_AVX512 void add(const EllStep512& step, std::size_t s, const std::uint8_t* x,
                               std::size_t stride) noexcept {
    const std::size_t chain = s % Chains;
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      const std::uint8_t* upper = x + step.column + 2 * lane * stride;
      const __m512i x_high = _mm512_permutexvar_epi8(step.places, _mm512_loadu_si512(upper));
      const __m512i x_low = _mm512_permutexvar_epi8(step.places, _mm512_loadu_si512(upper + stride));
      high[chain][lane] = _mm512_dpbusd_epi32(high[chain][lane], x_high, step.values);
      low[chain][lane] = _mm512_dpbusd_epi32(low[chain][lane], x_low, step.values);
    }
  }

  TULLE_INLINE_AVX512 void store(EllDots<Inputs>& dots) const noexcept {
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < Inputs; ++lane) {
      __m512i upper = high[0][lane], lower = low[0][lane];
      if constexpr (Chains == 2) {
        upper = _mm512_add_epi32(upper, high[1][lane]);
        lower = _mm512_add_epi32(lower, low[1][lane]);
      }
      _mm512_store_si512(dots[lane], _mm512_add_epi32(_mm512_slli_epi32(upper, 7), lower));
    }
  }
};

/// Distant panels are interleaved, bundle by bundle: each is a separate memory stream.
template <class Form, std::size_t Panels, std::size_t Inputs>
TULLE_TARGET_AVX512 void compute_ell_avx512(const EllPiece (&pieces)[Panels], const std::uint8_t* x, std::size_t stride,
                                            EllDots<Inputs> (&dots)[Panels]) noexcept {
  EllSums512<Panels * Inputs == 1 ? 2 : 1, Inputs> sums[Panels];
  EllSteps512<Form> steps[Panels];
  std::size_t common = pieces[0].bundles;
#pragma GCC unroll 2
  for (std::size_t p = 0; p < Panels; ++p) {
    sums[p].clear();
    steps[p].start(pieces[p]);
    common = std::min(common, pieces[p].bundles);
  }
  for (std::size_t left = common; left > 0; --left) {
#pragma GCC unroll 4
    for (std::size_t s = 0; s < Form::steps; ++s) {
#pragma GCC unroll 2
      for (std::size_t p = 0; p < Panels; ++p) sums[p].add(steps[p].step(s), s, x, stride);
    }
#pragma GCC unroll 2
    for (std::size_t p = 0; p < Panels; ++p) steps[p].next_bundle();
  }
#pragma GCC unroll 2
  for (std::size_t p = 0; p < Panels; ++p) {
    for (std::size_t left = pieces[p].bundles - common; left > 0; --left, steps[p].next_bundle()) {
#pragma GCC unroll 4
      for (std::size_t s = 0; s < Form::steps; ++s) sums[p].add(steps[p].step(s), s, x, stride);
    }
    sums[p].store(dots[p]);
  }
}

/// Adds each sum of exact products, as a float, to `values`.
template <std::size_t Inputs>
TULLE_TARGET_AVX512 void add_sums_avx512(const EllDots<Inputs>& dots, const std::int32_t* of_rows,
                                         float (&values)[Inputs][panel_rows]) noexcept {
  const __m512i too_much =
      _mm512_mullo_epi32(_mm512_loadu_si512(of_rows), _mm512_set1_epi32(ActivationsI14::offset_of_both));
  for (std::size_t lane = 0; lane < Inputs; ++lane) {
    const __m512 sum = _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_load_si512(dots[lane]), too_much));
    _mm512_storeu_ps(values[lane], _mm512_add_ps(_mm512_loadu_ps(values[lane]), sum));
  }
}

}  // namespace tulle::detail

#endif
