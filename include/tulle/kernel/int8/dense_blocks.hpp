// SPDX-License-Identifier: Apache-2.0
/// \file The layout of dense int8 weights, to which sparse ones can be unpacked (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/dot_i8.hpp>

namespace tulle::detail {

/// Blocks as they are: [4 quads of columns][16 rows][4], 1 byte a weight.
struct DenseBlocks {
  static constexpr std::string_view name = "dense_i8";
  static constexpr std::size_t block_bytes = block_codes, code_bits = 8;
  static constexpr std::size_t steps = 4;
  static constexpr std::size_t max_streams = 4;
  static constexpr bool offset_codes = true, picks = false;

  static bool fits(const std::int8_t*) noexcept { return true; }
  static std::uint8_t* write(const std::int8_t* codes, std::uint8_t* out) noexcept {
    std::memcpy(out, codes, block_codes);
    return out + block_codes;
  }

  struct Cursor {
    const std::uint8_t* at = nullptr;

    void next() noexcept { at += block_codes; }
    void read(std::int8_t* out) const noexcept { std::memcpy(out, at, block_codes); }
#if defined(TULLE_SIMD128)
    TULLE_INLINE_SIMD128 DenseStep128 step(isa::Simd128, std::size_t s, std::size_t quarter) const noexcept {
      return {simd128::Codes::at(at + 64 * s + 16 * quarter)};
    }
#endif
#if defined(TULLE_X86)
    TULLE_INLINE_AVX2 DenseStep256 step(isa::Avx2, std::size_t s, std::size_t half) const noexcept {
      return DenseStep256::of(_mm256_load_si256(reinterpret_cast<const __m256i*>(at + 64 * s + 32 * half)));
    }
    TULLE_INLINE_AVX512 DenseStep512 step(isa::Avx512, std::size_t s, std::size_t) const noexcept {
      return DenseStep512::of(codes(isa::Avx512{}, s));
    }
    TULLE_INLINE_AVX512 __m512i codes(isa::Avx512, std::size_t s) const noexcept {
      return _mm512_load_si512(at + 64 * s);
    }
#endif
  };
};

}  // namespace tulle::detail
