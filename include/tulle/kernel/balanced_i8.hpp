// SPDX-License-Identifier: Apache-2.0
/// \file Balanced (N:M) sparse int8 weights: at most N of M neighbouring columns of a row are not zero (L2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <tulle/kernel/i8_step.hpp>
#include <tulle/kernel/i8_weights.hpp>

namespace tulle {

namespace detail {

/// What the balanced layouts share. A block is 32 or 64 bytes that say where its nonzeros are, then `Pattern::steps` lines
/// of 64 codes [16 rows][4]: a step takes 4 codes of every row, picks their activations out of the block's 16 with one byte
/// shuffle, and adds the 4 products to the row's sum. Rows with fewer nonzeros are filled with zeros.
///
/// A code has a field of 2 or 4 bits. Those of codes 0 ... 31 and 32 ... 63 of the steps follow each other: first in the low
/// bits of 32 bytes, then in the next higher ones, so that both halves of a step are one shift and one mask away.
template <class Pattern>
struct BalancedPanels {
  static constexpr std::string_view name = Pattern::name;
  static constexpr std::size_t steps = Pattern::steps;
  static constexpr std::size_t field_bits = Pattern::field_bits;
  static constexpr std::size_t fields_per_byte = 8 / field_bits;
  static constexpr std::size_t field_bytes = 64 * steps / fields_per_byte;
  static constexpr std::size_t block_bytes = field_bytes + 64 * steps;
  static constexpr std::size_t far_panels = 4;
  static constexpr bool offset_codes = false;
  static constexpr bool expands_for_many = false;
  static constexpr unsigned field_mask = (1u << field_bits) - 1;

  /// Where the fields of a half of step s begin, and the lowest of their bits.
  static constexpr std::size_t fields_at(std::size_t s, std::size_t half) noexcept {
    return (2 * s + half) / fields_per_byte * 32;
  }
  static constexpr int shift(std::size_t s, std::size_t half) noexcept {
    return static_cast<int>((2 * s + half) % fields_per_byte * field_bits);
  }

  /// The 16 codes of one row of a block.
  using Row = std::array<std::int8_t, block_columns>;
  static Row row_of(const std::int8_t* codes, std::size_t row) noexcept {
    Row values;
    for (std::size_t k = 0; k < block_columns; ++k) values[k] = codes[(k / 4 * panel_rows + row) * 4 + k % 4];
    return values;
  }

  static bool fits(const std::int8_t* codes) noexcept {
    std::array<std::uint8_t, 4 * steps> columns;
    for (std::size_t row = 0; row < panel_rows; ++row) {
      if (!Pattern::choose(row_of(codes, row), columns)) return false;
    }
    return true;
  }

  static std::uint8_t* write(const std::int8_t* codes, std::uint8_t* out) noexcept {
    std::memset(out, 0, block_bytes);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const Row values = row_of(codes, row);
      std::array<std::uint8_t, 4 * steps> columns{};
      (void)Pattern::choose(values, columns);
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t s = i / 4, b = row * 4 + i % 4;
        std::uint8_t& fields = out[fields_at(s, b / 32) + b % 32];
        fields = static_cast<std::uint8_t>(fields | Pattern::field(columns, i) << shift(s, b / 32));
        out[field_bytes + 64 * s + b] = static_cast<std::uint8_t>(values[columns[i]]);
      }
    }
    return out + block_bytes;
  }

#if defined(TULLE_X86)
  /// |w| meets x with w's sign (see `add_products`): which activations meet a row differs, so no sum of theirs is known.
  struct Step256 {
    __m256i codes, magnitudes, order;
    TULLE_INLINE_AVX2 __m256i dot(__m256i sums, const std::int8_t* x, std::size_t) const noexcept {
      const __m256i block = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(x)));
      return add_products(sums, codes, magnitudes, _mm256_shuffle_epi8(block, order));
    }
  };
  struct Step512 {
    __m512i magnitudes, order;
    __mmask64 negative;
    TULLE_INLINE_AVX512 __m512i dot(__m512i sums, const std::int8_t* x, std::size_t) const noexcept {
      const __m512i block = _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(x)));
      const __m512i chosen = _mm512_shuffle_epi8(block, order);
      return _mm512_dpbusd_epi32(sums, magnitudes, _mm512_mask_sub_epi8(chosen, negative, _mm512_setzero_si512(), chosen));
    }
  };
#endif

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    void read(std::int8_t* codes) const noexcept {
      std::memset(codes, 0, block_codes);
      for (std::size_t row = 0; row < panel_rows; ++row) {
        std::array<std::uint8_t, 4 * steps> fields;
        for (std::size_t i = 0; i < fields.size(); ++i) {
          const std::size_t b = row * 4 + i % 4;
          const unsigned byte = at[fields_at(i / 4, b / 32) + b % 32];
          fields[i] = static_cast<std::uint8_t>(byte >> shift(i / 4, b / 32) & field_mask);
        }
        for (std::size_t i = 0; i < fields.size(); ++i) {
          const std::size_t column = Pattern::column(fields, i);
          const std::uint8_t code = at[field_bytes + 64 * (i / 4) + row * 4 + i % 4];
          if (code != 0) codes[(column / 4 * panel_rows + row) * 4 + column % 4] = static_cast<std::int8_t>(code);
        }
      }
    }
#if defined(TULLE_X86)
    TULLE_INLINE_AVX2 Step256 step(isa::Avx2, std::size_t s, std::size_t half) noexcept {
      const __m256i fields = _mm256_load_si256(reinterpret_cast<const __m256i*>(at + fields_at(s, half)));
      const __m256i codes =
          _mm256_load_si256(reinterpret_cast<const __m256i*>(at + field_bytes + 64 * s + 32 * half));
      const __m256i order = _mm256_and_si256(_mm256_srli_epi16(fields, shift(s, half)), _mm256_set1_epi8(field_mask));
      return {codes, _mm256_abs_epi8(codes), pattern.order(order, s, half)};
    }
    TULLE_INLINE_AVX512 Step512 step(isa::Avx512, std::size_t s) noexcept {
      static_assert(fields_at(0, 0) == fields_at(0, 1));  // both halves of a step lie in the same bytes
      const __m512i fields =
          _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(at + fields_at(s, 0))));
      const __m512i codes = _mm512_loadu_si512(at + field_bytes + 64 * s);
      const __m512i shifts = _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>(shift(s, 0))),
                                                _mm256_set1_epi16(static_cast<short>(shift(s, 1))), 1);
      const __m512i order = _mm512_and_si512(_mm512_srlv_epi16(fields, shifts), _mm512_set1_epi8(field_mask));
      return {_mm512_abs_epi8(codes), pattern.order(order, s), _mm512_movepi8_mask(codes)};
    }
#endif
#if defined(TULLE_SIMD128)
    TULLE_INLINE_SIMD128 PickingStep128 step(isa::Simd128, std::size_t s, std::size_t quarter) noexcept {
      using namespace simd128;
      const std::size_t half = quarter / 2;
      const auto fields = load<U16x8>(at + fields_at(s, half) + 16 * (quarter % 2));
      const auto order = (I8x16)(fields >> shift(s, half)) & static_cast<std::int8_t>(field_mask);
      return {Codes::at(at + field_bytes + 64 * s + 16 * quarter), pattern.order128(order, s, quarter)};
    }
    typename Pattern::Order pattern{};
#endif
  };
};

/// 2 of 4 (also 1 of 4 beside another): the field is the column inside its four.
struct TwoOfFour {
  static constexpr std::string_view name = "2:4_i8";
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

  struct Order {
#if defined(TULLE_X86)
    static TULLE_INLINE_AVX2 __m256i order(__m256i fields, std::size_t s, std::size_t) noexcept {
      return _mm256_or_si256(fields, _mm256_set1_epi32(static_cast<int>(s == 0 ? 0x04040000u : 0x0C0C0808u)));
    }
    static TULLE_INLINE_AVX512 __m512i order(__m512i fields, std::size_t s) noexcept {
      return _mm512_or_si512(fields, _mm512_set1_epi32(static_cast<int>(s == 0 ? 0x04040000u : 0x0C0C0808u)));
    }
#endif
#if defined(TULLE_SIMD128)
    static TULLE_INLINE_SIMD128 simd128::I8x16 order128(simd128::I8x16 fields, std::size_t s, std::size_t) noexcept {
      return fields | (simd128::I8x16)simd128::splat(std::int32_t{s == 0 ? 0x04040000 : 0x0C0C0808});
    }
#endif
  };
};

/// The field is the column: 4 of 16 in one step (so also 1 of 4), 8 of 16 in two (so also 4 of 8).
template <std::size_t Steps>
struct OfSixteen {
  static constexpr std::string_view name = Steps == 1 ? "4:16_i8" : "8:16_any_i8";
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

  struct Order {
#if defined(TULLE_X86)
    static TULLE_INLINE_AVX2 __m256i order(__m256i fields, std::size_t, std::size_t) noexcept { return fields; }
    static TULLE_INLINE_AVX512 __m512i order(__m512i fields, std::size_t) noexcept { return fields; }
#endif
#if defined(TULLE_SIMD128)
    static TULLE_INLINE_SIMD128 simd128::I8x16 order128(simd128::I8x16 fields, std::size_t, std::size_t) noexcept {
      return fields;
    }
#endif
  };
};
using FourOfSixteen = OfSixteen<1>;
using AnyEightOfSixteen = OfSixteen<2>;

/// 8 of 16 whose columns are at most 4 apart, the first at most 3: 8938 of the 12870 ways to choose 8 of 16. The field is
/// the distance from the column before, less one.
struct EightOfSixteen {
  static constexpr std::string_view name = "8:16_i8";
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

  struct Order {
#if defined(TULLE_X86)
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
#endif
#if defined(TULLE_SIMD128)
    TULLE_INLINE_SIMD128 simd128::I8x16 order128(simd128::I8x16 fields, std::size_t s, std::size_t quarter) noexcept {
      using namespace simd128;
      const auto sums = (I8x16)((I32x4)fields * 0x01010101);
      if (s == 0) {
        const I8x16 columns = sums + (I8x16)splat(std::int32_t{0x03020100});
        last128[quarter] = shuffle(columns, I8x16{3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15});
        return columns;
      }
      return sums + (I8x16)splat(std::int32_t{0x04030201}) + last128[quarter];
    }
    simd128::I8x16 last128[4];
#endif
  };
};

}  // namespace detail

template <class Isa>
using BasicTwoOfFourI8 = I8Kernel<detail::BalancedPanels<detail::TwoOfFour>, Isa>;
template <class Isa>
using BasicFourOfSixteenI8 = I8Kernel<detail::BalancedPanels<detail::FourOfSixteen>, Isa>;
template <class Isa>
using BasicAnyEightOfSixteenI8 = I8Kernel<detail::BalancedPanels<detail::AnyEightOfSixteen>, Isa>;
template <class Isa>
using BasicEightOfSixteenI8 = I8Kernel<detail::BalancedPanels<detail::EightOfSixteen>, Isa>;

using TwoOfFourI8 = BasicTwoOfFourI8<isa::Active>;
using FourOfSixteenI8 = BasicFourOfSixteenI8<isa::Active>;
using AnyEightOfSixteenI8 = BasicAnyEightOfSixteenI8<isa::Active>;
using EightOfSixteenI8 = BasicEightOfSixteenI8<isa::Active>;

static_assert(LinearKernel<TwoOfFourI8> && LinearKernel<FourOfSixteenI8> && LinearKernel<AnyEightOfSixteenI8> &&
              LinearKernel<EightOfSixteenI8>);

}  // namespace tulle
