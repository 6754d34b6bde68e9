// SPDX-License-Identifier: Apache-2.0
/// \file Patterns of balanced zeros: which columns of a block's row are stored, and what says so (L2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// A pattern stores `4 * steps` of a row's 16 codes, each with a field of `field_bits`:
/// - `choose(values, columns)`: the columns to store, in order; false where the nonzeros do not keep the pattern;
/// - `field(columns, i)`: what says where the i-th is; `column(fields, i)` reads it back;
/// - `Order::order`: the same for the 8 or 16 rows of a step at once, as the order of a byte shuffle of the activations.

/// 2 of 4 (also 1 of 4 beside another): the field is the column inside its four.
struct TwoOfFour {
  static constexpr std::string_view i8_name = "2:4_i8", i4_name = "2:4_i4";
  static constexpr std::size_t steps = 2, field_bits = 2;
  using Columns = std::array<std::uint8_t, 8>;

  static bool choose(const std::array<std::int8_t, 16>& values, Columns& columns) noexcept {
    for (std::size_t four = 0; four < 4; ++four) {
      std::size_t found = 0;
      for (std::size_t k = 4 * four; k < 4 * four + 4; ++k) {
        if (values[k] == 0) continue;
        if (found == 2) return false;
        columns[2 * four + found++] = static_cast<std::uint8_t>(k);
      }
      // A place without a nonzero takes a column whose weight is zero.
      for (std::size_t k = 4 * four; found < 2; ++k) {
        if (values[k] == 0) columns[2 * four + found++] = static_cast<std::uint8_t>(k);
      }
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

/// The field is the column: 4 of 16 in one step (so also 1 of 4), 8 of 16 in two (so also 4 of 8).
template <std::size_t Steps>
struct OfSixteen {
  static constexpr std::string_view i8_name = Steps == 1 ? "4:16_i8" : "8:16_any_i8", i4_name = "4:16_i4";
  static constexpr std::size_t steps = Steps, field_bits = 4;
  using Columns = std::array<std::uint8_t, 4 * steps>;

  static bool choose(const std::array<std::int8_t, 16>& values, Columns& columns) noexcept {
    std::size_t found = 0;
    for (std::size_t k = 0; k < 16; ++k) {
      if (values[k] == 0) continue;
      if (found == columns.size()) return false;
      columns[found++] = static_cast<std::uint8_t>(k);
    }
    for (std::size_t k = 0; found < columns.size(); ++k) {
      if (values[k] == 0) columns[found++] = static_cast<std::uint8_t>(k);
    }
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
using AnyEightOfSixteen = OfSixteen<2>;

/// 8 of 16 whose columns are at most 4 apart, the first at most 3: 8938 of the 12870 ways to choose 8 of 16. The field is
/// the distance from the column before, less one.
struct EightOfSixteen {
  static constexpr std::string_view i8_name = "8:16_i8", i4_name = "8:16_i4";
  static constexpr std::size_t steps = 2, field_bits = 2;
  using Columns = std::array<std::uint8_t, 8>;

  static bool choose(const std::array<std::int8_t, 16>& values, Columns& columns) noexcept {
    std::array<bool, 16> taken{};
    std::size_t found = 0;
    for (std::size_t k = 0; k < 16; ++k) found += taken[k] = values[k] != 0;
    // A gap too wide takes its last column that is near enough; then places that are left take what is free.
    std::size_t next = 0;  // the first column after the last one taken
    for (std::size_t k = 0; k < 16 && found <= 8; ++k) {
      if (taken[k] || (k == next + 3 && found < 8)) {
        found += !taken[k];
        taken[k] = true;
        next = k + 1;
      }
    }
    for (std::size_t k = 0; k < 16 && found < 8; ++k) {
      found += !taken[k];
      taken[k] = true;
    }
    if (found != 8) return false;
    std::size_t i = 0;
    for (std::size_t k = 0; k < 16; ++k) {
      if (!taken[k]) continue;
      columns[i] = static_cast<std::uint8_t>(k);
      if (field(columns, i) > 3) return false;
      ++i;
    }
    return true;
  }
  static unsigned field(const Columns& columns, std::size_t i) noexcept {
    return i == 0 ? columns[0] : columns[i] - columns[i - 1] - 1u;
  }
  static std::size_t column(const Columns& fields, std::size_t i) noexcept {
    std::size_t column = i;
    for (std::size_t k = 0; k <= i; ++k) column += fields[k];
    return column;
  }

#if defined(TULLE_X86)
  struct Order {
    // The prefix sums of a row's 4 fields are one multiplication; the second step goes on after the first's last column.
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
