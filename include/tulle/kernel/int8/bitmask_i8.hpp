// SPDX-License-Identifier: Apache-2.0
/// \file Unstructured sparse int8 weights: dense panels with the zeros squeezed out (L2).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <tulle/kernel/int8/i8_weights.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/kernel/int8/nonzero_mask.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>

namespace tulle {

namespace detail {

#if defined(TULLE_X86)

/// For every byte of a mask, where vpshufb finds what belongs at its 8 positions: k at the position of the k-th set bit,
/// the top bit (which makes zero) elsewhere. `first` also counts the bits, for the positions of the byte after it.
struct ExpandTable {
  alignas(16) std::uint8_t first[256][16], second[256][16];

  constexpr ExpandTable() : first(), second() {
    for (unsigned byte = 0; byte < 256; ++byte) {
      unsigned set = 0;
      for (unsigned position = 0; position < 8; ++position) {
        const bool is_set = (byte >> position & 1) != 0;
        first[byte][position] = second[byte][8 + position] = static_cast<std::uint8_t>(is_set ? set : 0x80);
        set += is_set;
      }
      for (unsigned position = 8; position < 16; ++position) first[byte][position] = static_cast<std::uint8_t>(set);
    }
  }
};
inline constexpr ExpandTable expand_table{};

#endif

/// A block is 32 bytes of mask, one bit for each of its codes in their dense order [4 quads][16 rows][4], and the codes
/// that are not zero in the same order: 1/8 byte a weight and 1 byte a nonzero. Expanding a quad of columns gives a line of
/// a dense panel, so group scales and sums are those of dense weights.
struct BitmaskPanels {
  static constexpr std::string_view name = "bitmask_i8";
  static constexpr std::size_t block_bytes = 0;  ///< blocks differ in size
  static constexpr std::size_t code_bits = 8;
  static constexpr std::size_t steps = 4;
  static constexpr std::size_t streams_one_row = 2;
  static constexpr bool offset_codes = true;
  static constexpr std::size_t mask_bytes = block_codes / 8;
  static constexpr bool expands_for_many = true;
  static constexpr bool expands_on_simd128 = true;

  static std::size_t bytes_of(const std::int8_t* codes) noexcept {
    return mask_bytes + count_nonzeros(codes, block_codes);
  }
  static bool fits(const std::int8_t*) noexcept { return true; }
  static std::uint8_t* write(const std::int8_t* codes, std::uint8_t* out) noexcept {
    std::int8_t values[block_codes];
    std::size_t count = 0;
    for (std::size_t i = 0; i < block_codes; i += 8) {
      const unsigned mask = nonzero_mask_8(codes + i);
      out[i / 8] = static_cast<std::uint8_t>(mask);
      // No branch: every code is written, and overwritten by the next one where it was zero.
      for (std::size_t k = 0; k < 8; ++k) {
        values[count] = codes[i + k];
        count += mask >> k & 1;
      }
    }
    std::memcpy(out + mask_bytes, values, count);
    return out + mask_bytes + count;
  }

  class Cursor {
   public:
    Cursor() = default;
    Cursor(const std::uint8_t* block) noexcept : at(block), values_(block + mask_bytes) {}

    /// After the steps of the block, or after `read`.
    void next() noexcept {
      at = values_;
      values_ += mask_bytes;
      prefetch_stream<128, false>(at);
    }
    void read(std::int8_t* codes) noexcept {
      for (std::size_t i = 0; i < block_codes; ++i) {
        codes[i] = at[i / 8] >> i % 8 & 1 ? static_cast<std::int8_t>(*values_++) : std::int8_t{0};
      }
    }
#if defined(TULLE_X86)
    TULLE_INLINE_AVX2 DenseStep256 step(isa::Avx2 isa, std::size_t s, std::size_t half) noexcept {
      return DenseStep256::of(codes(isa, s, half));
    }
    TULLE_INLINE_AVX512 DenseStep512 step(isa::Avx512 isa, std::size_t s, std::size_t) noexcept {
      return DenseStep512::of(codes(isa, s));
    }

    TULLE_INLINE_AVX2 __m256i codes(isa::Avx2, std::size_t s, std::size_t half) noexcept {
      const std::uint8_t* mask = at + 8 * s + 4 * half;
      const __m128i low = expand16(mask), high = expand16(mask + 2);
      return _mm256_set_m128i(high, low);
    }
    TULLE_INLINE_AVX512 __m512i codes(isa::Avx512, std::size_t s) noexcept {
      std::uint64_t mask;
      std::memcpy(&mask, at + 8 * s, sizeof mask);
      __m512i packed = _mm512_loadu_si512(values_);
#if defined(__GNUC__)
      __asm__("" : "+v"(packed));  // vpexpandb from a register is a tenth faster than from memory
#endif
      values_ += std::popcount(mask);
      return _mm512_maskz_expand_epi8(mask, packed);
    }
#endif

    const std::uint8_t* at = nullptr;  ///< the mask of the block

   private:
#if defined(TULLE_X86)
    TULLE_INLINE_AVX2 __m128i expand16(const std::uint8_t* mask) noexcept {
      const __m128i order =
          _mm_add_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(expand_table.first[mask[0]])),
                       _mm_load_si128(reinterpret_cast<const __m128i*>(expand_table.second[mask[1]])));
      const __m128i codes = _mm_shuffle_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values_)), order);
      values_ += std::popcount(static_cast<unsigned>(mask[0] | mask[1] << 8));
      return codes;
    }
#endif

    const std::uint8_t* values_ = nullptr;
  };

#if defined(TULLE_X86)
  using Step512 = DenseStep512;

  /// The next `blocks` blocks as dense ones. out [blocks][256].
  TULLE_TARGET_AVX2 static void expand(isa::Avx2 isa, Cursor& cursor, std::size_t blocks, std::int8_t* out) noexcept {
    for (; blocks > 0; --blocks, out += block_codes, cursor.next()) {
      for (std::size_t half = 0; half < 2 * steps; ++half) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(out + 32 * half), cursor.codes(isa, half / 2, half % 2));
      }
    }
  }
  TULLE_TARGET_AVX512 static void expand(isa::Avx512 isa, Cursor& cursor, std::size_t blocks,
                                         std::int8_t* out) noexcept {
    for (; blocks > 0; --blocks, out += block_codes, cursor.next()) {
      for (std::size_t s = 0; s < steps; ++s) _mm512_store_si512(out + 64 * s, cursor.codes(isa, s));
    }
  }
#endif
};

}  // namespace detail

template <class Isa>
using BasicBitmaskI8 = I8Kernel<detail::BitmaskPanels, Isa>;
using BitmaskI8 = BasicBitmaskI8<isa::Active>;

static_assert(LinearKernel<BitmaskI8>);

}  // namespace tulle
