// SPDX-License-Identifier: Apache-2.0
/// \file Exact int8 products: what one step of the int8 loop does with 4 codes of each row (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/loop/dot_i8_simd128.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

#if defined(TULLE_X86)

/// sums[i] + the 4 products of u8 by s8 in dword i, times `factors`. Exact where two neighbouring products fit an
/// int16.
TULLE_INLINE_AVX2 __m256i add_pairs(__m256i sums, __m256i u8, __m256i s8, __m256i factors) noexcept {
  const __m256i pairs = _mm256_maddubs_epi16(u8, s8);
  __m256i sum = _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, factors));
#if defined(__GNUC__)
  __asm__(""
          : "+x"(sum));  // a chain of sums, not the tree that GCC makes of it: that needs more registers than there are
#endif
  return sum;
}
TULLE_INLINE_AVX2 __m256i add_pairs(isa::Avx2, __m256i sums, __m256i u8, __m256i s8) noexcept {
  return add_pairs(sums, u8, s8, _mm256_set1_epi16(1));
}
TULLE_INLINE_AVX2 __m256i add_pairs(isa::AvxVnni, __m256i sums, __m256i u8, __m256i s8) noexcept {
  return dot_bytes(sums, u8, s8);
}

/// 8 rows by 4 columns of codes, one row a dword; the products with 4 activations. |w| (at most 128) times x with the
/// sign of w (|x| at most 127): 2 * 128 * 127 = 32512 fits an int16, so sums are exact.
template <class Isa>
TULLE_INLINE_AVX2 __m256i add_products(Isa isa, __m256i sums, __m256i codes, __m256i magnitudes, __m256i x) noexcept {
  return add_pairs(isa, sums, magnitudes, _mm256_sign_epi8(x, codes));
}

/// A step of layouts with dense codes; its columns are 4 s ... 4 s + 3.
struct DenseStep256 {
  __m256i codes, magnitudes;

  static TULLE_INLINE_AVX2 DenseStep256 of(__m256i codes) noexcept { return {codes, _mm256_abs_epi8(codes)}; }
  TULLE_INLINE_AVX2 __m256i dot(isa::Avx2 isa, __m256i sums, const std::int8_t* x, std::size_t s) const noexcept {
    return add_products(isa, sums, codes, magnitudes, _mm256_set1_epi32(load_quad(x + 4 * s)));
  }
  /// As `DenseStep512`.
  TULLE_INLINE_AVX2 __m256i dot(isa::AvxVnni, __m256i sums, const std::int8_t* x, std::size_t s) const noexcept {
    const __m256i offset_codes = _mm256_xor_si256(codes, _mm256_set1_epi8(static_cast<char>(0x80)));
    return dot_bytes(sums, offset_codes, _mm256_set1_epi32(load_quad(x + 4 * s)));
  }
};

/// vpdpbusd multiplies u8 by s8 exactly: w + 128 by x. The loop starts its sums at -128 * sum(x).
struct DenseStep512 {
  __m512i offset_codes;

  static TULLE_INLINE_AVX512 DenseStep512 of(__m512i codes) noexcept {
    return {_mm512_xor_si512(codes, _mm512_set1_epi8(static_cast<char>(0x80)))};
  }
  TULLE_INLINE_AVX512 __m512i dot(__m512i sums, const std::int8_t* chunk, std::size_t column,
                                  std::size_t s) const noexcept {
    return _mm512_dpbusd_epi32(sums, offset_codes, _mm512_set1_epi32(load_quad(chunk + column + 4 * s)));
  }
};

/// sums + 128 times the codes of every row.
TULLE_INLINE_AVX512 __m512i add_128_times(__m512i sums, __m512i codes) noexcept {
  return _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(static_cast<char>(0x80)), codes);
}

#endif

#if defined(TULLE_SIMD128)

struct DenseStep128 {
  using Sums = simd128::Sums;
  simd128::Codes codes;

  TULLE_INLINE_SIMD128 void dot(Sums& sums, const std::int8_t* x, std::size_t s) const noexcept {
    sums.add(codes, simd128::Quad::of(x + 4 * s));
  }
};

/// Every row picks its 4 activations out of a block's 16. They have an offset where `simd128::has_offset`.
struct PickingStep128 {
  using Sums = simd128::PickedSums;
  simd128::Codes codes;
  simd128::I8x16 order;

  TULLE_INLINE_SIMD128 void dot(Sums& sums, const std::int8_t* x, std::size_t) const noexcept {
    sums.add(codes, simd128::load<simd128::I8x16>(x), order);
  }
};

#endif

}  // namespace tulle::detail
