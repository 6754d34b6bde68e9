// SPDX-License-Identifier: Apache-2.0
/// \file Dense int8 blocks made ready for many inputs on AVX-512: with the sums of their rows (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// vpdpbusd wants one operand without a sign. Where that is x + 128, a product of 16 rows holds 128 times the sums of their
/// weights too much, whatever x is: so a block is those 16 int32, then the codes as they are, [4 quads of columns][16 rows][4].
/// `DensePanels` adds 128 to the weights instead, for every input anew.
struct SummedPanels {
  static constexpr std::size_t first_bytes = panel_rows * sizeof(std::int32_t);
  static constexpr std::size_t steps = 4, block_bytes = first_bytes + block_codes;
  static constexpr bool offset_codes = false;
  static constexpr std::size_t streams_one_row = 4;

  struct Step512 {
    __m512i codes;
    TULLE_INLINE_AVX512 __m512i dot(__m512i sums, const std::uint8_t* chunk, std::size_t column,
                                    std::size_t s) const noexcept {
      return _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(load_quad(chunk + column + 4 * s)), codes);
    }
  };

  /// Makes a block of dense codes ready, at an address that is a multiple of 64.
  TULLE_TARGET_AVX512 static void write(const std::int8_t* codes, std::uint8_t* out) noexcept {
    __m512i sums_128 = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (std::size_t s = 0; s < steps; ++s) {
      const __m512i quad = _mm512_loadu_si512(codes + 64 * s);
      sums_128 = _mm512_dpbusd_epi32(sums_128, _mm512_set1_epi8(static_cast<char>(0x80)), quad);
      _mm512_store_si512(out + first_bytes + 64 * s, quad);
    }
    _mm512_store_si512(out, sums_128);
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    TULLE_INLINE_AVX512 Step512 step(isa::Avx512, std::size_t s, std::size_t) const noexcept {
      return {_mm512_load_si512(at + first_bytes + 64 * s)};
    }
    TULLE_INLINE_AVX512 __m512i add_codes(__m512i sums_128) const noexcept {
      return _mm512_add_epi32(sums_128, _mm512_load_si512(at));
    }
  };
};

}  // namespace tulle::detail

#endif
