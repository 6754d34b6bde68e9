// SPDX-License-Identifier: Apache-2.0
/// \file Dense int8 blocks made ready for many inputs on AVX2: magnitudes and signs apart (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// The head of a block whose negative weights meet ~x, which is -x - 1: what their products lack, 16 int32 sums, one a row.
struct MissingProducts {
  static constexpr std::size_t bytes = panel_rows * sizeof(std::int32_t);

  __m256i sums[2];  ///< of 8 rows each

  TULLE_INLINE_AVX2 MissingProducts() noexcept : sums{_mm256_setzero_si256(), _mm256_setzero_si256()} {}
  TULLE_INLINE_AVX2 void add(std::size_t half, __m256i magnitudes, __m256i negative) noexcept {
    sums[half] = add_pairs(isa::Avx2{}, sums[half], magnitudes, _mm256_abs_epi8(negative));
  }
  TULLE_INLINE_AVX2 void store(std::uint8_t* block) const noexcept {
    _mm256_store_si256(reinterpret_cast<__m256i*>(block), sums[0]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(block) + 1, sums[1]);
  }
  static TULLE_INLINE_AVX2 __m256i load(const std::uint8_t* block, std::size_t half) noexcept {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(block) + half);
  }
};

/// maddubs wants |w|, and x with w's sign. vpsignb would give that, but shares its two execution ports with the multiplications;
/// ~x, an xor, does not, and is -x - 1: the products of the negative weights lack their |w|, whatever x is. So a block is
/// `MissingProducts`, then for 8 rows by 4 columns at a time 32 magnitudes and 32 bytes that are -1 where the weight is
/// negative, [4 quads of columns][2 halves of the rows]. A third faster than `DensePanels` on Zen 4.
struct SignedPanels {
  static constexpr std::size_t first_bytes = MissingProducts::bytes, step_bytes = 64;
  static constexpr std::size_t steps = 4, block_bytes = first_bytes + 2 * steps * step_bytes;
  static constexpr bool offset_codes = false;
  static constexpr std::size_t streams_one_row = 4;

  /// Exact like `add_products`: |w| * ~x is at least 128 * -128, and two of them fit an int16.
  struct Step {
    __m256i magnitudes, negative;
    TULLE_INLINE_AVX2 __m256i dot(isa::Avx2 isa, __m256i sums, const std::int8_t* x, std::size_t s) const noexcept {
      return add_pairs(isa, sums, magnitudes, _mm256_xor_si256(_mm256_set1_epi32(load_quad(x + 4 * s)), negative));
    }
  };

  /// Makes a block of dense codes ready, at an address that is a multiple of 64.
  TULLE_TARGET_AVX2 static void write(const std::int8_t* codes, std::uint8_t* out) noexcept {
    MissingProducts missing;
    auto* step = reinterpret_cast<__m256i*>(out + first_bytes);
    for (std::size_t s = 0; s < steps; ++s) {
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half, step += 2) {
        const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 64 * s + 32 * half));
        const __m256i magnitudes = _mm256_abs_epi8(w), negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), w);
        _mm256_store_si256(step, magnitudes);
        _mm256_store_si256(step + 1, negative);
        missing.add(half, magnitudes, negative);
      }
    }
    missing.store(out);
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    TULLE_INLINE_AVX2 Step step(isa::Avx2, std::size_t s, std::size_t half) const noexcept {
      const auto* of = reinterpret_cast<const __m256i*>(at + first_bytes + (2 * s + half) * step_bytes);
      return {_mm256_load_si256(of), _mm256_load_si256(of + 1)};
    }
    /// What the sums of 8 rows begin with.
    TULLE_INLINE_AVX2 __m256i first(std::size_t half) const noexcept { return MissingProducts::load(at, half); }
  };
};

}  // namespace tulle::detail

#endif
