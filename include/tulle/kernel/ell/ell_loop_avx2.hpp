// SPDX-License-Identifier: Apache-2.0
/// \file The inner loop of ELL weights on AVX2 (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <tulle/kernel/ell/ell_panels.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// The places of the activations of 32 slots in a window: for each of its blocks of 16 columns the order of a byte
/// shuffle, with bit 7 (a zero) for slots whose columns lie in another block. (vpblendvb would need one order for all,
/// but is three operations on most Intel CPUs.)
template <std::size_t Window>
struct EllOrder256 {
  static constexpr std::size_t block_columns = 16, blocks = Window / block_columns;
  __m256i order[blocks];

  /// `columns`: of the slots, their low bytes.
  static TULLE_INLINE_AVX2 EllOrder256 of(std::size_t window, __m256i columns) noexcept {
    const auto* begins = window_begins.from(window);
    const __m256i up = _mm256_set1_epi8(0x70);
    EllOrder256 found;
#pragma GCC unroll 4
    for (std::size_t block = 0; block < blocks; ++block) {
      // Columns before the block are negative. Those after it get bit 7 by adding 0x70, or by subtracting 9 * 16. Where
      // both must keep it, the sum saturates.
      const auto* begin = begins[block == 0 ? WindowBegins::beyond : block * block_columns / window_step];
      const __m256i place = _mm256_sub_epi8(columns, _mm256_load_si256(reinterpret_cast<const __m256i*>(begin)));
      found.order[block] = block == 0 || block + 1 == blocks ? place : _mm256_adds_epu8(place, up);
    }
    return found;
  }

  /// The activations of the slots of some halves, out of the window at x.
  template <std::size_t Halves>
  static TULLE_INLINE_AVX2 void pick(const EllOrder256 (&orders)[Halves], const std::uint8_t* x,
                                     __m256i (&picked)[Halves]) noexcept {
#pragma GCC unroll 4
    for (std::size_t block = 0; block < blocks; ++block) {
      const auto* from = reinterpret_cast<const __m128i*>(x + block * block_columns);
      const __m256i columns = _mm256_broadcastsi128_si256(_mm_loadu_si128(from));
#pragma GCC unroll 2
      for (std::size_t h = 0; h < Halves; ++h) {
        const __m256i found = _mm256_shuffle_epi8(columns, orders[h].order[block]);
        picked[h] = block == 0 ? found : _mm256_or_si256(picked[h], found);
      }
    }
  }
};

/// Sums of 8 rows by one row of activations. Without dot products one register holds both parts, which saves a
/// register.
template <class Isa>
struct EllSum256 {
  __m256i sum;

  TULLE_INLINE_AVX2 void clear() noexcept { sum = _mm256_setzero_si256(); }
  TULLE_INLINE_AVX2 void add_high(__m256i x, __m256i values) noexcept {
    sum = add_pairs(sum, x, values, _mm256_set1_epi16(128));
  }
  TULLE_INLINE_AVX2 void add_low(__m256i x, __m256i values) noexcept {
    sum = add_pairs(sum, x, values, _mm256_set1_epi16(1));
  }
  TULLE_INLINE_AVX2 __m256i total() const noexcept { return sum; }
};
template <>
struct EllSum256<isa::AvxVnni> {
  __m256i high, low;

  TULLE_INLINE_AVX2 void clear() noexcept { high = low = _mm256_setzero_si256(); }
  TULLE_INLINE_AVX2 void add_high(__m256i x, __m256i values) noexcept { high = dot_bytes(high, x, values); }
  TULLE_INLINE_AVX2 void add_low(__m256i x, __m256i values) noexcept { low = dot_bytes(low, x, values); }
  TULLE_INLINE_AVX2 __m256i total() const noexcept { return _mm256_add_epi32(_mm256_slli_epi32(high, 7), low); }
};

/// What a loop is compiled for: the form of the weights, the columns of a window and the instruction set.
template <class FormOf, std::size_t Window, class IsaOf>
struct EllLoop256 {
  using Form = FormOf;
  using Order = EllOrder256<Window>;
  using Sum = EllSum256<IsaOf>;
};

/// A walk over the bundles of a piece, for 8 (or 16) of its rows and some rows of activations.
template <class Loop, std::size_t Halves, std::size_t Lanes>
struct EllWalk256 {
  using Form = typename Loop::Form;
  using Order = typename Loop::Order;

  __m256i position[Halves];
  typename Loop::Sum sums[Halves][Lanes];
  const std::uint8_t *bundle, *advance;
  std::size_t window;

  /// Starts at row 8 * half.
  TULLE_INLINE_AVX2 void start(const EllPiece& piece, std::size_t half) noexcept {
#pragma GCC unroll 2
    for (std::size_t h = 0; h < Halves; ++h) {
      position[h] = _mm256_setzero_si256();
#pragma GCC unroll 4
      for (std::size_t lane = 0; lane < Lanes; ++lane) sums[h][lane].clear();
    }
    bundle = piece.bytes + 32 * half;
    advance = piece.advances;
    window = 0;
  }

  /// x: the span's codes of the first row of activations. `running`: 4 bytes of 1; times 4 gaps they are running sums.
  TULLE_INLINE_AVX2 void add_bundle(__m256i running, const std::uint8_t* x, std::size_t stride) noexcept {
    // The last of a row's 4 running columns, from which its next 4 slots start.
    const __m256i last =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15));
    const __m256i gap_mask = _mm256_set1_epi8(static_cast<char>(Form::max_gap));
#pragma GCC unroll 4
    for (std::size_t step = 0; step < Form::steps; ++step, ++advance) {
      window += *advance;
      const std::uint8_t* in_window = x + window_step * window;
      Order orders[Halves];
      __m256i values[Halves];
#pragma GCC unroll 2
      for (std::size_t h = 0; h < Halves; ++h) {
        const __m256i codes = _mm256_load_si256(reinterpret_cast<const __m256i*>(bundle + 32 * h));
        if constexpr (Form::nibbles) {
          values[h] = _mm256_andnot_si256(gap_mask, codes);
        } else {
          values[h] = _mm256_load_si256(reinterpret_cast<const __m256i*>(bundle + 64 * (1 + step) + 32 * h));
        }
        const __m256i gaps =
            _mm256_and_si256(_mm256_srli_epi16(codes, static_cast<int>(step * Form::gap_bits)), gap_mask);
        const __m256i run = _mm256_mullo_epi32(gaps, running);
        const __m256i columns = _mm256_add_epi8(run, position[h]);
        position[h] = _mm256_shuffle_epi8(columns, last);
        orders[h] = Order::of(window, columns);
      }
#pragma GCC unroll 4
      for (std::size_t lane = 0; lane < Lanes; ++lane) {
        const std::uint8_t* upper = in_window + 2 * lane * stride;
        __m256i picked[Halves];
        Order::pick(orders, upper, picked);
#pragma GCC unroll 2
        for (std::size_t h = 0; h < Halves; ++h) sums[h][lane].add_high(picked[h], values[h]);
        Order::pick(orders, upper + stride, picked);
#pragma GCC unroll 2
        for (std::size_t h = 0; h < Halves; ++h) sums[h][lane].add_low(picked[h], values[h]);
      }
    }
    bundle += Form::bundle_bytes;
  }
};

/// 8 rows by at most 4 rows of activations at a time, or all 16 rows by one. Distant panels are interleaved, bundle by
/// bundle: each is a separate memory stream.
template <class Loop, std::size_t Panels, std::size_t Inputs>
TULLE_TARGET_AVX2 void compute_ell_avx2(const EllPiece (&pieces)[Panels], const std::uint8_t* x, std::size_t stride,
                                        EllDots<Inputs> (&dots)[Panels]) noexcept {
  constexpr std::size_t halves = Inputs == 1 ? 2 : 1, lanes = Inputs < 4 ? Inputs : 4;
  __m256i running = _mm256_set1_epi32(0x01010101);
#if defined(__GNUC__)
  __asm__("" : "+x"(running));  // one product, not the shifts and sums that GCC makes of it
#endif
  for (std::size_t half0 = 0; half0 < 2; half0 += halves) {
    for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes) {
      const std::uint8_t* x_of_lanes = x + 2 * lane0 * stride;
      EllWalk256<Loop, halves, lanes> walks[Panels];
      std::size_t common = pieces[0].bundles;
#pragma GCC unroll 2
      for (std::size_t p = 0; p < Panels; ++p) {
        walks[p].start(pieces[p], half0);
        common = std::min(common, pieces[p].bundles);
      }
      for (std::size_t left = common; left > 0; --left) {
#pragma GCC unroll 2
        for (std::size_t p = 0; p < Panels; ++p) {
          if (half0 == 0) prefetch_bundle<typename Loop::Form>(walks[p].bundle, walks[p].advance);
          walks[p].add_bundle(running, x_of_lanes, stride);
        }
      }
#pragma GCC unroll 2
      for (std::size_t p = 0; p < Panels; ++p) {
        for (std::size_t left = pieces[p].bundles - common; left > 0; --left)
          walks[p].add_bundle(running, x_of_lanes, stride);
#pragma GCC unroll 2
        for (std::size_t h = 0; h < halves; ++h) {
#pragma GCC unroll 4
          for (std::size_t lane = 0; lane < lanes; ++lane) {
            std::int32_t* out = dots[p][lane0 + lane] + 8 * (half0 + h);
            _mm256_store_si256(reinterpret_cast<__m256i*>(out), walks[p].sums[h][lane].total());
          }
        }
      }
    }
  }
}

}  // namespace tulle::detail

#endif
