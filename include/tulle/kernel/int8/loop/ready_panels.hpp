// SPDX-License-Identifier: Apache-2.0
/// \file Balanced int8 blocks made ready for many inputs: what every input would compute anew of them (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/kernel/int8/loop/signed_panels.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// What a step of `Layout` makes of its fields and codes, kept for the next inputs, with signs as in `SignedPanels`: a block is
/// `MissingProducts`, then for 8 rows at a time 32 bytes each of magnitudes, of -1 where the weight is negative, and of
/// columns, [steps][2 halves of the rows][3][32].
template <class Layout>
struct ReadyPanels256 {
  static constexpr std::size_t first_bytes = MissingProducts::bytes, step_bytes = 96;
  static constexpr std::size_t steps = Layout::steps, block_bytes = first_bytes + 2 * steps * step_bytes;
  static constexpr std::size_t streams_one_row = Layout::streams_one_row;
  static constexpr bool offset_codes = false;

  /// Exact, see `SignedPanels::Step`.
  struct Step {
    __m256i magnitudes, negative, order;
    template <class Isa>
    TULLE_INLINE_AVX2 __m256i dot(Isa isa, __m256i sums, const std::int8_t* x, std::size_t) const noexcept {
      const __m256i block = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(x)));
      return add_pairs(isa, sums, magnitudes, _mm256_xor_si256(_mm256_shuffle_epi8(block, order), negative));
    }
  };

  /// Makes the block of a cursor ready, at an address that is a multiple of 32.
  TULLE_TARGET_AVX2 static void write(typename Layout::Cursor& cursor, std::size_t, std::uint8_t* out) noexcept {
    MissingProducts missing;
    auto* line = reinterpret_cast<__m256i*>(out + first_bytes);
    for (std::size_t s = 0; s < steps; ++s) {
#pragma GCC unroll 2
      for (std::size_t half = 0; half < 2; ++half, line += 3) {
        const auto step = cursor.step(isa::Avx2{}, s, half);
        const __m256i negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), step.signs);
        _mm256_store_si256(line, step.magnitudes);
        _mm256_store_si256(line + 1, negative);
        _mm256_store_si256(line + 2, step.order);
        missing.add(half, step.magnitudes, negative);
      }
    }
    missing.store(out);
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    TULLE_INLINE_AVX2 Step step(isa::Avx2, std::size_t s, std::size_t half) const noexcept {
      const auto* line = reinterpret_cast<const __m256i*>(at + first_bytes + (2 * s + half) * step_bytes);
      return {_mm256_load_si256(line), _mm256_load_si256(line + 1), _mm256_load_si256(line + 2)};
    }
    /// What the sums of 8 rows begin with.
    TULLE_INLINE_AVX2 __m256i first(std::size_t half) const noexcept { return MissingProducts::load(at, half); }
  };
};

/// The same for AVX-512: 16 int32 sums of 128 times the codes of every row, then codes and columns [steps][2][64].
template <class Layout>
struct ReadyPanels512 {
  using Step512 = typename Layout::Step512;
  static constexpr std::size_t first_bytes = panel_rows * sizeof(std::int32_t), step_bytes = 128;
  static constexpr std::size_t steps = Layout::steps, block_bytes = first_bytes + steps * step_bytes;
  static constexpr std::size_t streams_one_row = Layout::streams_one_row;
  static constexpr bool offset_codes = false;

  /// Makes block `index` of a panel ready, at an address that is a multiple of 64.
  TULLE_TARGET_AVX512 static void write(typename Layout::Cursor& cursor, std::size_t index,
                                        std::uint8_t* out) noexcept {
    _mm512_store_si512(out, cursor.add_codes(_mm512_setzero_si512()));
    out += first_bytes;
    for (std::size_t s = 0; s < steps; ++s, out += step_bytes) {
      const Step512 step = cursor.step(isa::Avx512{}, s, index * block_columns % chunk_columns);
      _mm512_store_si512(out, step.codes);
      _mm512_store_si512(out + 64, step.order);
    }
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    TULLE_INLINE_AVX512 Step512 step(isa::Avx512, std::size_t s, std::size_t) const noexcept {
      const std::uint8_t* of = at + first_bytes + s * step_bytes;
      return {_mm512_load_si512(of), _mm512_load_si512(of + 64)};
    }
    TULLE_INLINE_AVX512 __m512i add_codes(__m512i sums_128) const noexcept {
      return _mm512_add_epi32(sums_128, _mm512_load_si512(at));
    }
  };
};

}  // namespace tulle::detail

#endif
