// SPDX-License-Identifier: Apache-2.0
/// \file Unstructured sparse int8 weights: dense blocks without their zeros (L2).
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

#if defined(TULLE_SIMD128)

/// For every byte of a mask, the order of a byte shuffle that expands it: byte k is the number of bits set below bit k,
/// with its top bit, which gives a zero, where bit k is not set.
inline constexpr std::array<std::uint64_t, 256> expand_orders = [] {
  std::array<std::uint64_t, 256> orders{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::uint64_t set = 0;
    for (unsigned k = 0; k < 8; ++k) {
      const bool is_set = (byte >> k & 1) != 0;
      orders[byte] |= (set | (is_set ? 0u : 0x80u)) << 8 * k;
      set += is_set;
    }
  }
  return orders;
}();

#endif

/// A block is 32 bytes of mask, one bit for each of its codes in their dense order [4 quads][16 rows][4], and the codes
/// that are not zero in the same order: 1/8 byte a weight and 1 byte a nonzero. Expanding a quad of columns gives a
/// line of a dense block, so group scales and sums are those of dense weights. Where expanding takes more than the one
/// instruction of AVX-512, blocks are unpacked to dense ones for any number of rows.
struct BitmaskBlocks {
  static constexpr std::string_view name = "bitmask_i8";
  static constexpr std::size_t block_bytes = 0;  ///< blocks differ in size
  static constexpr std::size_t code_bits = 8;
  static constexpr std::size_t steps = 4;
  static constexpr std::size_t max_streams = 2;
  static constexpr bool offset_codes = true, picks = false;
  static constexpr std::size_t mask_bytes = block_codes / 8;

  static std::size_t bytes_of(const std::int8_t* codes) noexcept {
    return mask_bytes + count_nonzeros(codes, block_codes);
  }
  /// The same of a block whose mask is there.
  static std::size_t bytes_at(const std::uint8_t* block) noexcept {
    std::size_t bytes = mask_bytes;
    for (std::size_t i = 0; i < mask_bytes; i += 8) {
      std::uint64_t mask;
      std::memcpy(&mask, block + i, sizeof mask);
      bytes += static_cast<std::size_t>(std::popcount(mask));
    }
    return bytes;
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
    // NOLINTNEXTLINE(google-explicit-constructor): `PanelCursors` makes the cursors of all layouts from {block}
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
    TULLE_INLINE_AVX512 DenseStep512 step(isa::Avx512 isa, std::size_t s, std::size_t) noexcept {
      return DenseStep512::of(codes(isa, s));
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

#if defined(TULLE_SIMD128)
    /// The 16 codes from index `first` on; called with 0, 16, ... 240.
    TULLE_INLINE_SIMD128 simd128::I8x16 codes(isa::Simd128, std::size_t first) noexcept {
      constexpr std::uint64_t ones = 0x0101010101010101;
      const std::uint8_t low = at[first / 8], high = at[first / 8 + 1];
      const std::uint64_t order[2] = {expand_orders[low], expand_orders[high] + ones * set_bits.counts[low]};
      const auto codes = simd128::shuffle(simd128::load<simd128::I8x16>(values_), simd128::load<simd128::I8x16>(order));
      values_ += set_bits.counts[low] + set_bits.counts[high];
      return codes;
    }
#endif

    const std::uint8_t* at = nullptr;  ///< the mask of the block

   private:
    const std::uint8_t* values_ = nullptr;
  };

  /// The next `blocks` blocks as dense ones. out [blocks][256].
#if defined(TULLE_SIMD128)
  TULLE_TARGET_SIMD128 static void expand(isa::Simd128 isa, Cursor& cursor, std::size_t blocks,
                                          std::int8_t* out) noexcept {
    for (; blocks > 0; --blocks, cursor.next()) {
      for (std::size_t i = 0; i < block_codes; i += 16, out += 16) simd128::store(out, cursor.codes(isa, i));
    }
  }
#endif
#if defined(TULLE_X86)
  static void expand(isa::Avx2, Cursor& cursor, std::size_t blocks, std::int8_t* out) noexcept {
    expand(isa::Simd128{}, cursor, blocks, out);
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
using BasicBitmaskI8 = I8Kernel<detail::BitmaskBlocks, Isa>;
using BitmaskI8 = BasicBitmaskI8<isa::Active>;

static_assert(LinearKernel<BitmaskI8>);

}  // namespace tulle
