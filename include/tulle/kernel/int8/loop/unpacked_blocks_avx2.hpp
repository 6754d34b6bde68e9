// SPDX-License-Identifier: Apache-2.0
/// \file Int8 blocks unpacked for a batch on AVX2: magnitudes, signs and, if balanced, columns (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// maddubs multiplies |w| by x with the sign of w. vpsignb gives that, but it shares its two execution ports with the
/// multiplications. An xor does not, and ~x is -x - 1: the products of the negative weights lack their |w|, whatever x
/// is. A third faster than `DenseBlocks` on Zen 4.
///
/// A block is what its 16 sums begin with (what the products lack, int32), then for each step and 8 rows
/// 32 magnitudes, 32 bytes that are -1 where the weight is negative, and where `Picks` the columns of 32 activations.
template <std::size_t Steps, bool Picks>
struct UnpackedBlocks256 {
  static constexpr std::size_t first_bytes = panel_rows * sizeof(std::int32_t), step_bytes = Picks ? 96 : 64;
  static constexpr std::size_t steps = Steps, block_bytes = first_bytes + 2 * steps * step_bytes;
  static constexpr bool offset_codes = false;
  static constexpr std::size_t max_streams = 4;

  /// Exact: |w| * ~x is at least 128 * -128, and the sum of two such products fits an int16.
  struct Step {
    __m256i magnitudes, negative, order;
    template <class Isa>
    TULLE_INLINE_AVX2 __m256i dot(Isa isa, __m256i sums, const std::int8_t* x, std::size_t s) const noexcept {
      return add_pairs(isa, sums, magnitudes, _mm256_xor_si256(activations(x, s), negative));
    }

   private:
    TULLE_INLINE_AVX2 __m256i activations(const std::int8_t* x, std::size_t s) const noexcept {
      if constexpr (Picks) {
        const __m256i block = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(x)));
        return _mm256_shuffle_epi8(block, order);
      } else {
        return _mm256_set1_epi32(load_quad(x + 4 * s));
      }
    }
  };

  /// Unpacks the block at a layout's cursor to an address that is a multiple of 32.
  template <class From>
  TULLE_TARGET_AVX2 static void write(From& cursor, std::size_t, std::uint8_t* out) noexcept {
    __m256i first[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    auto* line = reinterpret_cast<__m256i*>(out + first_bytes);
    for (std::size_t s = 0; s < steps; ++s) {
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half) {
        const auto step = cursor.step(isa::Avx2{}, s, half);
        const __m256i negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), step.codes);
        _mm256_store_si256(line++, step.magnitudes);
        _mm256_store_si256(line++, negative);
        if constexpr (Picks) _mm256_store_si256(line++, step.order);
        first[half] = add_pairs(isa::Avx2{}, first[half], step.magnitudes, _mm256_abs_epi8(negative));
      }
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), first[0]);
    _mm256_store_si256(reinterpret_cast<__m256i*>(out) + 1, first[1]);
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    TULLE_INLINE_AVX2 Step step(isa::Avx2, std::size_t s, std::size_t half) const noexcept {
      const auto* line = reinterpret_cast<const __m256i*>(at + first_bytes + (2 * s + half) * step_bytes);
      Step step{_mm256_load_si256(line), _mm256_load_si256(line + 1), _mm256_setzero_si256()};
      if constexpr (Picks) step.order = _mm256_load_si256(line + 2);
      return step;
    }
    /// What the sums of 8 rows begin with.
    TULLE_INLINE_AVX2 __m256i first(std::size_t half) const noexcept {
      return _mm256_load_si256(reinterpret_cast<const __m256i*>(at) + half);
    }
  };
};

}  // namespace tulle::detail

#endif
