// SPDX-License-Identifier: Apache-2.0
/// \file Balanced (N:M) sparse int8 weights: at most N of M neighbouring columns of a row are not zero (L2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <tulle/kernel/balanced_patterns.hpp>
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
  static constexpr bool expands_on_simd128 = field_bits == 2;  ///< what such fields need costs more than they save
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
    typename Pattern::Order pattern{};
#endif
#if defined(TULLE_SIMD128)
    TULLE_INLINE_SIMD128 PickingStep128 step(isa::Simd128, std::size_t s, std::size_t quarter) const noexcept
      requires(field_bits == 4)  // then a field is a column
    {
      using namespace simd128;
      const std::size_t half = quarter / 2;
      const auto fields = load<U16x8>(at + fields_at(s, half) + 16 * (quarter % 2));
      const auto order = (I8x16)(fields >> shift(s, half)) & static_cast<std::int8_t>(field_mask);
      return {Codes::at(at + field_bytes + 64 * s + 16 * quarter), order};
    }
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
