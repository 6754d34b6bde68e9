// SPDX-License-Identifier: Apache-2.0
/// \file Int8 blocks unpacked for a batch on AVX-512: codes, sums of rows and, if balanced, columns (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_X86)

namespace tulle::detail {

/// vpdpbusd multiplies unsigned by signed bytes. Where the unsigned operand is x + 128, a product of 16 rows has 128
/// times the sums of their weights too much, whatever x is. `DenseBlocks` adds 128 to the weights instead, again for
/// every row.
///
/// A block is those 16 sums (int32), then for each step 64 codes [16 rows][4], and where `Picks` the places of their
/// activations in a chunk.
template <std::size_t Steps, bool Picks>
struct UnpackedBlocks512 {
  static constexpr std::size_t first_bytes = panel_rows * sizeof(std::int32_t), step_bytes = Picks ? 128 : 64;
  static constexpr std::size_t steps = Steps, block_bytes = first_bytes + steps * step_bytes;
  static constexpr bool offset_codes = false;
  static constexpr std::size_t max_streams = 4;

  struct Step512 {
    __m512i codes, order;
    TULLE_INLINE_AVX512 __m512i dot(__m512i sums, const std::uint8_t* chunk, std::size_t column,
                                    std::size_t s) const noexcept {
      if constexpr (Picks) {
        return _mm512_dpbusd_epi32(sums, _mm512_permutexvar_epi8(order, _mm512_load_si512(chunk)), codes);
      } else {
        return _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(load_quad(chunk + column + 4 * s)), codes);
      }
    }
  };

  /// Unpacks block `index` of a panel, at a layout's cursor, to an address that is a multiple of 64.
  template <class From>
  TULLE_TARGET_AVX512 static void write(From& cursor, std::size_t index, std::uint8_t* out) noexcept {
    __m512i sums_128 = _mm512_setzero_si512();
    std::uint8_t* line = out + first_bytes;
#pragma GCC unroll 4
    for (std::size_t s = 0; s < steps; ++s, line += step_bytes) {
      const __m512i codes = cursor.codes(isa::Avx512{}, s);
      sums_128 = add_128_times(sums_128, codes);
      _mm512_store_si512(line, codes);
      if constexpr (Picks) {
        const auto step = cursor.step(isa::Avx512{}, s, index * block_columns % chunk_columns);
        _mm512_store_si512(line + 64, step.order);
      }
    }
    _mm512_store_si512(out, sums_128);
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_bytes; }
    TULLE_INLINE_AVX512 Step512 step(isa::Avx512, std::size_t s, std::size_t) const noexcept {
      const std::uint8_t* line = at + first_bytes + s * step_bytes;
      Step512 step{_mm512_load_si512(line), _mm512_setzero_si512()};
      if constexpr (Picks) step.order = _mm512_load_si512(line + 64);
      return step;
    }
    TULLE_INLINE_AVX512 __m512i add_codes(__m512i sums_128) const noexcept {
      return _mm512_add_epi32(sums_128, _mm512_load_si512(at));
    }
  };
};

}  // namespace tulle::detail

#endif
