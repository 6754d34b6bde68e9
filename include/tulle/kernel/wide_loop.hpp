// SPDX-License-Identifier: Apache-2.0
/// \file The products of many inputs with a panel of int16 codes (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// 2 codes as one 32-bit lane.
inline std::int32_t load_pair(const std::int16_t* codes) noexcept {
  std::int32_t pair;
  std::memcpy(&pair, codes, sizeof pair);
  return pair;
}

#if defined(TULLE_X86)

/// The int32 dot products of 16 rows with `Inputs` inputs. weights [columns / 2][16][2] (`columns` even, 32-byte aligned),
/// x: the first column of each input, `stride` codes apart. Sums must fit an int32.
template <std::size_t Inputs, class Dots>
TULLE_TARGET_AVX2 void wide_dots(isa::Avx2, const std::int16_t* weights, std::size_t columns, const std::int16_t* x,
                                 std::size_t stride, Dots& dots) noexcept {
  constexpr std::size_t lanes = Inputs < 4 ? Inputs : 4;
  for (std::size_t lane0 = 0; lane0 < Inputs; lane0 += lanes, x += lanes * stride) {
    __m256i sums[lanes][2];
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane][0] = sums[lane][1] = _mm256_setzero_si256();
    for (std::size_t column = 0; column < columns; column += 2) {
      const auto* pairs = reinterpret_cast<const __m256i*>(weights + column * panel_rows);
      const __m256i lower = _mm256_load_si256(pairs), upper = _mm256_load_si256(pairs + 1);
#pragma GCC unroll 4
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const __m256i pair = _mm256_set1_epi32(load_pair(x + lane * stride + column));
        sums[lane][0] = _mm256_add_epi32(sums[lane][0], _mm256_madd_epi16(lower, pair));
        sums[lane][1] = _mm256_add_epi32(sums[lane][1], _mm256_madd_epi16(upper, pair));
      }
    }
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(dots[lane0 + lane]), sums[lane][0]);
      _mm256_store_si256(reinterpret_cast<__m256i*>(dots[lane0 + lane] + 8), sums[lane][1]);
    }
  }
}

#endif

}  // namespace tulle::detail
