// SPDX-License-Identifier: Apache-2.0
/// \file The layouts of balanced (N:M) sparse weights: at most N of M neighbouring columns of a row are not zero (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include <tulle/kernel/int8/balanced_patterns.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/kernel/int8/nonzero_mask.hpp>
#include <tulle/tensor/isa.hpp>

namespace tulle::detail {

/// What the balanced layouts share. A block is 32 or 64 bytes of fields (the columns of its nonzeros), then
/// `Pattern::steps` lines of 64 codes [16 rows][4]: a step takes 4 codes of every row, picks their activations out of
/// the block's 16 with one byte shuffle, and adds the 4 products to the row's sum. Rows with fewer nonzeros are filled
/// with zeros.
///
/// A code has a field of 2 or 4 bits. Those of codes 0 ... 31 and 32 ... 63 of the steps follow each other: first in
/// the low bits of 32 bytes, then in the next higher ones, so that both halves of a step are one shift and one mask
/// away. Codes of 4 bits, in two's complement, lie in their 32 bytes a step in the same way.
template <class Pattern, std::size_t CodeBits>
struct BalancedBlocks {
  static constexpr std::string_view name = CodeBits == 8 ? Pattern::i8_name : Pattern::i4_name;
  static constexpr std::size_t steps = Pattern::steps;
  static constexpr std::size_t code_bits = CodeBits;
  static constexpr std::size_t line_bytes = 8 * CodeBits;  ///< of the 64 codes of a step
  static constexpr std::size_t field_bits = Pattern::field_bits;
  static constexpr std::size_t fields_per_byte = 8 / field_bits;
  static constexpr std::size_t field_bytes = 64 * steps / fields_per_byte;
  static constexpr std::size_t block_bytes = field_bytes + line_bytes * steps;
  static constexpr std::size_t max_streams = 4;
  static constexpr bool offset_codes = false, picks = true;
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
    for (std::size_t k = 0; k < block_columns; k += 4) std::memcpy(&values[k], codes + k * panel_rows + row * 4, 4);
    return values;
  }

  static bool fits(const std::int8_t* codes) noexcept {
    if (code_bits == 4 && std::any_of(codes, codes + block_codes, [](int code) { return code < -8 || code > 7; }))
      return false;
    for (std::size_t row = 0; row < panel_rows; ++row) {
      if (!Pattern::fits(nonzero_mask_16(row_of(codes, row).data()))) return false;
    }
    return true;
  }

  static std::uint8_t* write(const std::int8_t* codes, std::uint8_t* out) noexcept {
    std::memset(out, 0, block_bytes);
    for (std::size_t row = 0; row < panel_rows; ++row) {
      const Row values = row_of(codes, row);
      std::array<std::uint8_t, 4 * steps> columns{};
      (void)Pattern::choose(values, columns);
      const std::size_t half = row / 8;
      for (std::size_t s = 0; s < steps; ++s) {
        std::uint8_t* fields = out + fields_at(s, half) + row % 8 * 4;
        std::uint8_t* line = out + field_bytes + line_bytes * s + (code_bits == 8 ? row : row % 8) * 4;
        for (std::size_t i = 0; i < 4; ++i) {
          fields[i] = static_cast<std::uint8_t>(fields[i] | Pattern::field(columns, 4 * s + i) << shift(s, half));
          const auto code = static_cast<std::uint8_t>(values[columns[4 * s + i]]);
          line[i] = code_bits == 8 ? code : static_cast<std::uint8_t>(line[i] | (code & 15u) << half * 4);
        }
      }
    }
    return out + block_bytes;
  }

#if defined(TULLE_X86)
  /// 0 ... 7, -8 ... -1 without their signs, for a byte shuffle by nibbles.
  static TULLE_INLINE_AVX2 __m128i nibble_magnitudes() noexcept {
    return _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1);
  }
  /// The bits of `mask` from `low` on in every byte of the lower 32, and from `high` on in the upper ones.
  static TULLE_INLINE_AVX512 __m512i shift_halves(__m512i bytes, int low, int high, unsigned mask) noexcept {
    const __m512i shifts =
        _mm512_inserti64x4(_mm512_set1_epi16(static_cast<short>(low)), _mm256_set1_epi16(static_cast<short>(high)), 1);
    return _mm512_and_si512(_mm512_srlv_epi16(bytes, shifts), _mm512_set1_epi8(static_cast<char>(mask)));
  }

  /// |w| times x with the sign of w (see `add_products`): every row picks other activations, so their sum is not known.
  struct Step256 {
    __m256i codes, magnitudes, order;  ///< of codes only the signs count
    template <class Isa>
    TULLE_INLINE_AVX2 __m256i dot(Isa isa, __m256i sums, const std::int8_t* x, std::size_t) const noexcept {
      const __m256i block = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(x)));
      return add_products(isa, sums, codes, magnitudes, _mm256_shuffle_epi8(block, order));
    }
  };
  /// vpdpbusd multiplies u8 by s8 exactly: x + 128, picked out of a chunk, by w. The loop starts its sums at -128 *
  /// sum(w).
  struct Step512 {
    __m512i codes, order;
    TULLE_INLINE_AVX512 __m512i dot(__m512i sums, const std::uint8_t* chunk, std::size_t, std::size_t) const noexcept {
      return _mm512_dpbusd_epi32(sums, _mm512_permutexvar_epi8(order, _mm512_load_si512(chunk)), codes);
    }
  };
#endif

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    /// Code b of the 64 of step s.
    std::int8_t code_at(std::size_t s, std::size_t b) const noexcept {
      const std::uint8_t* line = at + field_bytes + line_bytes * s;
      if constexpr (code_bits == 8) return static_cast<std::int8_t>(line[b]);
      const unsigned nibble = line[b % 32] >> b / 32 * 4 & 15u;
      return static_cast<std::int8_t>(static_cast<int>(nibble ^ 8u) - 8);
    }
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
          const std::int8_t code = code_at(i / 4, row * 4 + i % 4);
          if (code != 0) codes[(column / 4 * panel_rows + row) * 4 + column % 4] = code;
        }
      }
    }
#if defined(TULLE_X86)
    TULLE_INLINE_AVX2 Step256 step(isa::Avx2, std::size_t s, std::size_t half) noexcept {
      const __m256i fields = _mm256_load_si256(reinterpret_cast<const __m256i*>(at + fields_at(s, half)));
      const __m256i order = _mm256_and_si256(_mm256_srli_epi16(fields, shift(s, half)), _mm256_set1_epi8(field_mask));
      const std::uint8_t* line = at + field_bytes + line_bytes * s;
      if constexpr (code_bits == 8) {
        const __m256i codes = _mm256_load_si256(reinterpret_cast<const __m256i*>(line + 32 * half));
        return {codes, _mm256_abs_epi8(codes), pattern.order(order, s, half)};
      } else {  // the sign of a byte is that of its upper nibble; where the code is zero the sign does not matter
        const __m256i pairs = _mm256_load_si256(reinterpret_cast<const __m256i*>(line));
        const __m256i nibbles = _mm256_and_si256(half == 0 ? pairs : _mm256_srli_epi16(pairs, 4), _mm256_set1_epi8(15));
        const __m256i magnitudes = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(nibble_magnitudes()), nibbles);
        return {half == 0 ? _mm256_slli_epi16(pairs, 4) : pairs, magnitudes, pattern.order(order, s, half)};
      }
    }
    /// The block's columns are those from `column` on of a chunk.
    TULLE_INLINE_AVX512 Step512 step(isa::Avx512, std::size_t s, std::size_t column) noexcept {
      static_assert(fields_at(0, 0) == fields_at(0, 1));  // both halves of a step lie in the same bytes
      const __m512i fields =
          _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(at + fields_at(s, 0))));
      const __m512i order = shift_halves(fields, shift(s, 0), shift(s, 1), field_mask);
      return {codes(isa::Avx512{}, s),
              _mm512_or_si512(pattern.order(order, s), _mm512_set1_epi8(static_cast<char>(column)))};
    }
    /// Adds 128 times the codes of every row.
    TULLE_INLINE_AVX512 __m512i add_codes(__m512i sums_128) const noexcept {
#pragma GCC unroll 2
      for (std::size_t s = 0; s < steps; ++s) {
        sums_128 = add_128_times(sums_128, codes(isa::Avx512{}, s));
      }
      return sums_128;
    }
    TULLE_INLINE_AVX512 __m512i codes(isa::Avx512, std::size_t s) const noexcept {
      const std::uint8_t* line = at + field_bytes + line_bytes * s;
      if constexpr (code_bits == 8) return _mm512_loadu_si512(line);
      const __m512i pairs = _mm512_broadcast_i64x4(_mm256_load_si256(reinterpret_cast<const __m256i*>(line)));
      const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
      return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), shift_halves(pairs, 0, 4, 15));
    }
    typename Pattern::Order pattern{};
#endif
#if defined(TULLE_SIMD128)
    TULLE_INLINE_SIMD128 PickingStep128 step(isa::Simd128, std::size_t s, std::size_t quarter) const noexcept
      requires(field_bits == 4)  // then a field is a column; decoding others costs more than their bytes save
    {
      using namespace simd128;
      const std::size_t half = quarter / 2;
      const auto fields = load<U16x8>(at + fields_at(s, half) + 16 * (quarter % 2));
      const auto order = (I8x16)(fields >> shift(s, half)) & static_cast<std::int8_t>(field_mask);
      const std::uint8_t* line = at + field_bytes + line_bytes * s;
      if constexpr (code_bits == 8) {
        return {Codes::at(line + 16 * quarter), order};
      } else {
        const auto nibbles =
            (I8x16)(load<U16x8>(line + 16 * (quarter % 2)) >> static_cast<int>(4 * half)) & std::int8_t{15};
        return {Codes::of(shuffle(I8x16{0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1}, nibbles)), order};
      }
    }
#endif
  };
};

/// Decoding codes of 4 bits, or distances on AVX2, takes the registers of the second panel.
template <class Pattern, std::size_t CodeBits, class Isa>
inline constexpr bool two_panels_fit<BalancedBlocks<Pattern, CodeBits>, Isa> =
    CodeBits == 8 && (std::is_same_v<Isa, isa::Avx512> || !std::is_same_v<Pattern, EightOfSixteenGap4>);

}  // namespace tulle::detail
