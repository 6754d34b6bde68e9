// SPDX-License-Identifier: Apache-2.0
/// \file Products of ELL weights and a batch on AVX2 and AVX-512 (L2).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include <tulle/kernel/activations/activations_i14.hpp>
#include <tulle/kernel/ell/ell_panels.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// Row i is a byte shuffle of 4 values and 4 columns, 2 bytes each: it moves those whose bit is set in i to the front.
struct FrontShuffles {
  alignas(16) std::uint8_t rows[16][16];

  constexpr FrontShuffles() : rows() {
    for (unsigned mask = 0; mask < 16; ++mask) {
      unsigned at = 0;
      for (unsigned slot = 0; slot < 4; ++slot) {
        if ((mask >> slot & 1) == 0) continue;
        for (unsigned byte = 0; byte < 2; ++byte, ++at) {
          rows[mask][at] = static_cast<std::uint8_t>(2 * slot + byte);
          rows[mask][8 + at] = static_cast<std::uint8_t>(8 + 2 * slot + byte);
        }
      }
    }
  }
};
inline constexpr FrontShuffles front_shuffles{};

/// Rows as lists of their nonzero weights. Two weights of a row at a time are multiplied by the int16 codes of their
/// two columns, interleaved, for a tile of rows of activations: exact products, hardly any of them with a zero.
template <class Isa>
class EllPairs {
 public:
  static constexpr std::size_t inputs = ActivationsI14::tile_of<Isa>;  ///< rows of activations in a tile
  static constexpr std::size_t max_rows = 64;

  /// For rows of pieces with at most `steps` steps.
  explicit EllPairs(std::size_t steps) noexcept : stride_(std::min(steps * row_slots, span_columns) + row_slots) {}

  /// Rows that fit at once: 8, 16, ... 64.
  std::size_t rows_at_once() const noexcept { return std::min(max_slots / stride_ / 8 * 8, max_rows); }

  /// Reads 8 rows of a piece from `begin` on, 0 or 8, as the lists from `to` on.
  template <class Form>
  TULLE_TARGET_AVX2 void read(const EllPiece& piece, std::size_t begin, std::size_t to) noexcept {
    const __m128i gap_mask = _mm_set1_epi8(static_cast<char>(Form::max_gap));
    const __m256i last = _mm256_set_epi8(15, 14, 15, 14, 15, 14, 15, 14, 7, 6, 7, 6, 7, 6, 7, 6,  //
                                         15, 14, 15, 14, 15, 14, 15, 14, 7, 6, 7, 6, 7, 6, 7, 6);
    __m256i positions[2] = {};  // the column before each of 4 rows, 4 times
    std::size_t ends[8];
    for (std::size_t i = 0; i < 8; ++i) ends[i] = (to + i) * stride_;
    const std::uint8_t* bundle = piece.bytes;
    for (std::size_t left = piece.bundles; left > 0; --left, bundle += Form::bundle_bytes) {
      for (std::size_t step = 0; step < Form::steps; ++step) {
#pragma GCC unroll 2
        for (std::size_t half = 0; half < 2; ++half) {
          const auto load = [&](std::size_t at) TULLE_TARGET_AVX2 {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bundle + at + (begin + 4 * half) * row_slots));
          };
          const __m128i codes = load(0);
          const __m128i bytes = Form::nibbles ? _mm_andnot_si128(gap_mask, codes) : load(64 * (1 + step));
          const __m128i gaps = _mm_and_si128(_mm_srli_epi16(codes, static_cast<int>(step * Form::gap_bits)), gap_mask);
          const __m128i run = _mm_mullo_epi32(gaps, _mm_set1_epi32(0x01010101));  // running sums of a row's 4
          const __m256i columns = _mm256_add_epi16(positions[half], _mm256_cvtepu8_epi16(run));
          positions[half] = _mm256_shuffle_epi8(columns, last);
          const __m256i values = _mm256_cvtepi8_epi16(bytes),
                        places = _mm256_slli_epi16(columns, std::countr_zero(inputs));
          const __m256i even = _mm256_unpacklo_epi64(values, places), odd = _mm256_unpackhi_epi64(values, places);
          const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
          std::size_t* const of = ends + 4 * half;
          append(of[0], ~zeros, _mm256_castsi256_si128(even));
          append(of[1], ~zeros >> 4, _mm256_castsi256_si128(odd));
          append(of[2], ~zeros >> 8, _mm256_extracti128_si256(even, 1));
          append(of[3], ~zeros >> 12, _mm256_extracti128_si256(odd, 1));
        }
      }
    }
    for (std::size_t i = 0; i < 8; ++i) counts_[to + i] = ends[i] - (to + i) * stride_;
  }

  /// Reads row `row` of a piece as the list `to`.
  template <class Form>
  TULLE_TARGET_AVX2 void read_row(const EllPiece& piece, std::size_t row, std::size_t to) noexcept {
    constexpr std::uint32_t each_byte = 0x01010101, gap_mask = Form::max_gap * each_byte;
    const __m128i last = _mm_set1_epi16(0x0706);
    __m128i position = _mm_setzero_si128();  // the column before, 4 times
    std::size_t end = to * stride_;
    const std::uint8_t* slots = piece.bytes + row * row_slots;
    for (std::size_t left = piece.bundles; left > 0; --left, slots += Form::bundle_bytes) {
      const std::uint32_t codes = load_four(slots);
      for (std::size_t step = 0; step < Form::steps; ++step) {
        const std::uint32_t values = Form::nibbles ? codes & ~gap_mask : load_four(slots + 64 * (1 + step));
        const std::uint32_t run = (codes >> step * Form::gap_bits & gap_mask) * each_byte;  // running sums of the gaps
        const __m128i bytes = _mm_cvtsi32_si128(static_cast<std::int32_t>(values));
        const __m128i columns =
            _mm_add_epi16(position, _mm_cvtepu8_epi16(_mm_cvtsi32_si128(static_cast<std::int32_t>(run))));
        position = _mm_shuffle_epi8(columns, last);
        const int zeros = _mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_setzero_si128()));
        append(end, ~zeros,
               _mm_unpacklo_epi64(_mm_cvtepi8_epi16(bytes), _mm_slli_epi16(columns, std::countr_zero(inputs))));
      }
    }
    counts_[to] = end - to * stride_;
  }

  /// Ends the first `count` lists, a multiple of 4. Rows of about the same length are processed in lockstep and end
  /// together.
  void end_lists(std::size_t count) noexcept {
    std::iota(order_, order_ + count, std::uint8_t{0});
    std::sort(order_, order_ + count, [&](std::uint8_t a, std::uint8_t b) { return counts_[a] < counts_[b]; });
    for (std::size_t first = 0; first < count; first += in_lockstep) {
      const std::size_t length = round_up(counts_[order_[first + in_lockstep - 1]], std::size_t{2});
      for (std::size_t i = 0; i < in_lockstep; ++i) {
        const std::size_t list = order_[first + i] * stride_, end = counts_[order_[first + i]];
        std::fill(columns_ + list + end, columns_ + list + length, std::uint16_t{0});
        std::fill(values_ + list + end, values_ + list + length, std::int16_t{0});
      }
    }
  }

  /// Multiplies the first `count` lists by a tile, x [columns][inputs]. Every second four runs backwards, to begin with
  /// the columns that L1 still holds.
  void multiply(std::size_t count, const std::int16_t* x) noexcept {
    for (std::size_t first = 0; first < count; first += in_lockstep) multiply_in_lockstep(Isa{}, first, x);
  }

  /// The sums of `multiply` for 8 rows from `row` on, a multiple of 8, by 4 rows of activations from `input` on.
  TULLE_INLINE_AVX2 void load_sums(std::size_t row, std::size_t input, __m256i (&sums)[4]) const noexcept {
    __m256i rows[4];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) {
      const auto load = [&](std::size_t of) TULLE_TARGET_AVX2 {
        return _mm_load_si128(reinterpret_cast<const __m128i*>(sums_[of] + lane_of(input)));
      };
      rows[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(load(row + i)), load(row + 4 + i), 1);
    }
    const __m256i a = _mm256_unpacklo_epi32(rows[0], rows[1]), b = _mm256_unpackhi_epi32(rows[0], rows[1]);
    const __m256i c = _mm256_unpacklo_epi32(rows[2], rows[3]), d = _mm256_unpackhi_epi32(rows[2], rows[3]);
    sums[0] = _mm256_unpacklo_epi64(a, c);
    sums[1] = _mm256_unpackhi_epi64(a, c);
    sums[2] = _mm256_unpacklo_epi64(b, d);
    sums[3] = _mm256_unpackhi_epi64(b, d);
  }
  /// The same for 16 rows.
  TULLE_INLINE_AVX512 void load_sums(std::size_t row, std::size_t input, __m512i (&sums)[4]) const noexcept {
    __m256i near[4], far[4];
    load_sums(row, input, near);
    load_sums(row + 8, input, far);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < 4; ++i) sums[i] = _mm512_inserti64x4(_mm512_castsi256_si512(near[i]), far[i], 1);
  }

 private:
  static constexpr std::size_t in_lockstep = 4;  ///< rows
  static constexpr std::size_t max_slots = 8 * (span_columns + row_slots);

  /// Where the sums of a row of activations lie: interleaving works within parts of 128 bits.
  static constexpr std::size_t lane_of(std::size_t input) noexcept {
    return input % 8 / 4 * (inputs / 2) + input / 8 * 4;
  }

  /// Appends values and places of 4 slots of a row. Those whose bit is not set are written too, and overwritten by the
  /// next.
  TULLE_INLINE_AVX2 void append(std::size_t& end, int bits, __m128i slots) noexcept {
    const auto mask = static_cast<unsigned>(bits) & 15;
    const __m128i front =
        _mm_shuffle_epi8(slots, _mm_load_si128(reinterpret_cast<const __m128i*>(front_shuffles.rows[mask])));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(values_ + end), front);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(columns_ + end), _mm_unpackhi_epi64(front, front));
    end += static_cast<std::size_t>(std::popcount(mask));
  }

  static std::uint32_t load_four(const std::uint8_t* bytes) noexcept {
    std::uint32_t four;
    std::memcpy(&four, bytes, sizeof four);
    return four;
  }
  /// Two places, or two values.
  template <class Number>
  static std::uint32_t load_pair(const Number* numbers) noexcept {
    std::uint32_t pair;
    std::memcpy(&pair, numbers, sizeof pair);
    return pair;
  }

  /// Lists in lockstep, from their first pair on or from their last.
  struct Steps {
    std::size_t rows[in_lockstep];
    const std::uint16_t* columns[in_lockstep];
    const std::int16_t* values[in_lockstep];
    std::ptrdiff_t pairs, begin, advance;
  };
  Steps steps_from(std::size_t first) const noexcept {
    Steps steps;
    for (std::size_t i = 0; i < in_lockstep; ++i) {
      steps.rows[i] = order_[first + i];
      steps.columns[i] = columns_ + steps.rows[i] * stride_;
      steps.values[i] = values_ + steps.rows[i] * stride_;
    }
    steps.pairs = static_cast<std::ptrdiff_t>(counts_[steps.rows[in_lockstep - 1]] + 1) / 2;
    const bool backwards = first / in_lockstep % 2 == 1;
    steps.begin = backwards ? 2 * (steps.pairs - 1) : 0;
    steps.advance = backwards ? -2 : 2;
    return steps;
  }

  TULLE_TARGET_AVX2 void multiply_in_lockstep(isa::Avx2, std::size_t first, const std::int16_t* x) noexcept {
    const Steps steps = steps_from(first);
    __m256i low[in_lockstep] = {}, high[in_lockstep] = {};
    for (std::ptrdiff_t left = steps.pairs, at = steps.begin; left > 0; --left, at += steps.advance) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < in_lockstep; ++i) {
        const std::uint32_t columns = load_pair(steps.columns[i] + at);
        const __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(x + (columns & 0xFFFF)));
        const __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(x + (columns >> 16)));
        const __m256i pair = _mm256_set1_epi32(static_cast<std::int32_t>(load_pair(steps.values[i] + at)));
        low[i] = _mm256_add_epi32(low[i], _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), pair));
        high[i] = _mm256_add_epi32(high[i], _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), pair));
      }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < in_lockstep; ++i) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums_[steps.rows[i]]), low[i]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums_[steps.rows[i]] + inputs / 2), high[i]);
    }
  }

  TULLE_TARGET_AVX512 void multiply_in_lockstep(isa::Avx512, std::size_t first, const std::int16_t* x) noexcept {
    const Steps steps = steps_from(first);
    __m512i low[in_lockstep] = {}, high[in_lockstep] = {};
    for (std::ptrdiff_t left = steps.pairs, at = steps.begin; left > 0; --left, at += steps.advance) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < in_lockstep; ++i) {
        const std::uint32_t columns = load_pair(steps.columns[i] + at);
        const __m512i a = _mm512_load_si512(x + (columns & 0xFFFF)), b = _mm512_load_si512(x + (columns >> 16));
        const __m512i pair = _mm512_set1_epi32(static_cast<std::int32_t>(load_pair(steps.values[i] + at)));
        low[i] = _mm512_dpwssd_epi32(low[i], _mm512_unpacklo_epi16(a, b), pair);
        high[i] = _mm512_dpwssd_epi32(high[i], _mm512_unpackhi_epi16(a, b), pair);
      }
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < in_lockstep; ++i) {
      _mm512_store_si512(sums_[steps.rows[i]], low[i]);
      _mm512_store_si512(sums_[steps.rows[i]] + inputs / 2, high[i]);
    }
  }

  static_assert(span_columns * inputs <= 65536);

  std::uint16_t columns_[max_slots];  ///< the begin of a column's codes in a tile
  std::int16_t values_[max_slots];
  std::size_t counts_[max_rows];
  std::uint8_t order_[max_rows];                     ///< rows by their counts
  std::size_t stride_;                               ///< even
  alignas(64) std::int32_t sums_[max_rows][inputs];  ///< [rows of weights][rows of activations by `lane_of`]
};

}  // namespace tulle::detail

#endif
