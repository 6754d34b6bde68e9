// SPDX-License-Identifier: Apache-2.0
/// \file Patterns of balanced sparsity: which columns of a block's row are stored, and how that is encoded (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tulle/kernel/int8/nonzero_mask.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// A pattern stores `4 * steps` of a row's 16 codes, each with a field of `field_bits`:
/// - `fits(mask)`: whether nonzeros at the bits of `mask` keep the pattern;
/// - `choose(values, columns)`: the columns to store, in order; false where the nonzeros do not keep the pattern;
/// - `field(columns, i)` encodes the i-th of them; `column(fields, i)` decodes it;
/// - `Order::order` decodes the 8 or 16 rows of a step at once, as the order of a byte shuffle of the activations.

/// 2 of 4 (also 1 of 4 beside another): the field is the column inside its four.
struct TwoOfFour {
  static constexpr std::string_view i8_name = "2:4_i8", i4_name = "2:4_i4";
  static constexpr std::size_t steps = 2, field_bits = 2;
  using Columns = std::array<std::uint8_t, 8>;

  static bool fits(unsigned mask) noexcept {
    const unsigned pairs = (mask & 0x5555) + (mask >> 1 & 0x5555);               // of every two columns, how many
    return (((pairs & 0x3333) + (pairs >> 2 & 0x3333) + 0x1111) & 0x4444) == 0;  // of every four; 3 and 4 reach bit 2
  }
  static bool choose(const std::array<std::int8_t, 16>& values, Columns& columns) noexcept {
    const unsigned mask = nonzero_mask_16(values.data());
    if (!fits(mask)) return false;
    for (unsigned four = 0; four < 4; ++four) {
      // Nonzeros first. A place that is left takes a column whose weight is zero.
      const unsigned here = mask >> 4 * four & 15;
      const std::uint64_t order = set_bits.places[here] | set_bits.places[here ^ 15] << 8 * set_bits.counts[here];
      columns[2 * four] = static_cast<std::uint8_t>(4 * four + (order & 3));
      columns[2 * four + 1] = static_cast<std::uint8_t>(4 * four + (order >> 8 & 3));
    }
    return true;
  }
  static unsigned field(const Columns& columns, std::size_t i) noexcept { return columns[i] % 4u; }
  static std::size_t column(const Columns& fields, std::size_t i) noexcept { return i / 2 * 4 + fields[i]; }

#if defined(TULLE_X86)
  struct Order {
    static TULLE_INLINE_AVX2 __m256i order(__m256i fields, std::size_t s, std::size_t) noexcept {
      return _mm256_or_si256(fields, _mm256_set1_epi32(static_cast<int>(s == 0 ? 0x04040000u : 0x0C0C0808u)));
    }
    static TULLE_INLINE_AVX512 __m512i order(__m512i fields, std::size_t s) noexcept {
      return _mm512_or_si512(fields, _mm512_set1_epi32(static_cast<int>(s == 0 ? 0x04040000u : 0x0C0C0808u)));
    }
  };
#endif
};

/// Any 4 of 16 in one step (so also 1 of 4), any 8 of 16 in two (so also 4 of 8): the field is the column.
template <std::size_t Steps>
struct OfSixteen {
  static constexpr std::string_view i8_name = Steps == 1 ? "4:16_i8" : "8:16_i8", i4_name = "4:16_i4";
  static constexpr std::size_t steps = Steps, field_bits = 4;
  using Columns = std::array<std::uint8_t, 4 * steps>;

  static bool fits(unsigned mask) noexcept { return count_set_bits(mask) <= 4 * steps; }
  static bool choose(const std::array<std::int8_t, 16>& values, Columns& columns) noexcept {
    const unsigned mask = nonzero_mask_16(values.data());
    std::array<std::uint8_t, 32> order;
    const std::size_t found = put_set_bits(mask, order.data());
    if (found > columns.size()) return false;
    if (found < columns.size()) (void)put_set_bits(mask ^ 0xFFFF, &order[found]);
    std::copy_n(order.begin(), columns.size(), columns.begin());
    return true;
  }
  static unsigned field(const Columns& columns, std::size_t i) noexcept { return columns[i]; }
  static std::size_t column(const Columns& fields, std::size_t i) noexcept { return fields[i]; }

#if defined(TULLE_X86)
  struct Order {
    static TULLE_INLINE_AVX2 __m256i order(__m256i fields, std::size_t, std::size_t) noexcept { return fields; }
    static TULLE_INLINE_AVX512 __m512i order(__m512i fields, std::size_t) noexcept { return fields; }
  };
#endif
};
using FourOfSixteen = OfSixteen<1>;
using EightOfSixteen = OfSixteen<2>;

/// The restricted form of 8 of 16: columns at most 4 apart, the first at most 3. These are 8938 of the 12870 ways to
/// choose 8 of 16. The field is the distance from the column before, less one.
struct EightOfSixteenGap4 {
  static constexpr std::string_view i8_name = "8:16_gap4_i8", i4_name = "8:16_gap4_i4";
  static constexpr std::size_t steps = 2, field_bits = 2;
  using Columns = std::array<std::uint8_t, 8>;

  static bool fits(unsigned mask) noexcept {
    if (count_set_bits(mask) <= 6) return true;  // 10 zeros or more have room for at most 2 gaps that are too wide
    mask = filled(mask);
    if (count_set_bits(mask) != 8) return false;
    // A gap is too wide where four zeros side by side have a column after them.
    const unsigned zeros = ~mask & 0xFFFF, fours = zeros & zeros >> 1 & zeros >> 2 & zeros >> 3;
    const unsigned first = fours & (~fours + 1);
    return first == 0 || mask < first;
  }
  static bool choose(const std::array<std::int8_t, 16>& values, Columns& columns) noexcept {
    const unsigned mask = nonzero_mask_16(values.data());
    if (!fits(mask)) return false;
    std::array<std::uint8_t, 16> order;
    (void)put_set_bits(filled(mask), order.data());
    std::copy_n(order.begin(), columns.size(), columns.begin());
    return true;
  }
  static unsigned field(const Columns& columns, std::size_t i) noexcept {
    return i == 0 ? columns[0] : columns[i] - columns[i - 1] - 1u;
  }
  static std::size_t column(const Columns& fields, std::size_t i) noexcept {
    std::size_t column = i;
    for (std::size_t k = 0; k <= i; ++k) column += fields[k];
    return column % 16;  // what `field` made is below
  }

  /// The mask with columns of zeros added until there are 8: a gap that is too wide takes its last column that is near
  /// enough; places that are left then take free columns.
  static unsigned filled(unsigned mask) noexcept {
    std::size_t found = count_set_bits(mask);
    const auto take = [&](unsigned column) {
      mask |= 1u << column;
      ++found;
    };
    unsigned next = 0;  // the first column after the last one taken
    for (unsigned column = 0; column < 16 && found < 8; ++column) {
      if ((mask >> column & 1) == 0 && column == next + 3) take(column);
      if ((mask >> column & 1) != 0) next = column + 1;
    }
    for (unsigned column = 0; column < 16 && found < 8; ++column) {
      if ((mask >> column & 1) == 0) take(column);
    }
    return mask;
  }

#if defined(TULLE_X86)
  struct Order {
    // The prefix sums of a row's 4 fields are one multiplication; the second step continues from the first's last
    // column.
    TULLE_INLINE_AVX2 __m256i order(__m256i fields, std::size_t s, std::size_t half) noexcept {
      const __m256i sums = _mm256_mullo_epi32(fields, _mm256_set1_epi32(0x01010101));
      if (s == 0) {
        const __m256i columns = _mm256_add_epi8(sums, _mm256_set1_epi32(0x03020100));
        const __m128i last = _mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
        last256[half] = _mm256_shuffle_epi8(columns, _mm256_broadcastsi128_si256(last));
        return columns;
      }
      return _mm256_add_epi8(_mm256_add_epi8(sums, _mm256_set1_epi32(0x04030201)), last256[half]);
    }
    TULLE_INLINE_AVX512 __m512i order(__m512i fields, std::size_t s) noexcept {
      const __m512i sums = _mm512_mullo_epi32(fields, _mm512_set1_epi32(0x01010101));
      if (s == 0) {
        const __m512i columns = _mm512_add_epi8(sums, _mm512_set1_epi32(0x03020100));
        const __m128i last = _mm_setr_epi8(3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15);
        last512 = _mm512_shuffle_epi8(columns, _mm512_broadcast_i32x4(last));
        return columns;
      }
      return _mm512_add_epi8(_mm512_add_epi8(sums, _mm512_set1_epi32(0x04030201)), last512);
    }
    __m256i last256[2];
    __m512i last512;
  };
#endif
};

}  // namespace tulle::detail
