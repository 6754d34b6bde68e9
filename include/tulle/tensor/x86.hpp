// SPDX-License-Identifier: Apache-2.0
/// \file The only include of the x86 intrinsics, and the attributes that let one file hold several instruction sets
/// (L1).
#pragma once

#include <cstdint>

#include <tulle/core/half.hpp>
#include <tulle/tensor/isa.hpp>

#if defined(TULLE_X86)
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // g++ 12 warns about its own _mm512_undefined_ps()
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

/// Function attributes. A function with one may only be called where `machine_has` is true.
#define TULLE_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define TULLE_TARGET_AVX512 \
  __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2")))
#define TULLE_INLINE_AVX2 inline __attribute__((always_inline, target("avx2,fma,f16c")))
#define TULLE_INLINE_AVX512            \
  inline __attribute__((always_inline, \
                        target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512vbmi,avx512vbmi2")))

namespace tulle::detail {

/// AVX-VNNI: sums[i] + the 4 products of u8 by s8 in dword i, exact. Inline assembly: compilers accept the intrinsic
/// only in AVX-VNNI functions, and they do not inline those into the loops that this code shares with AVX2.
TULLE_INLINE_AVX2 __m256i dot_bytes(__m256i sums, __m256i u8, __m256i s8) noexcept {
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums) : "x"(u8), "x"(s8));
  return sums;
}

/// VNNI: sums[i] + the 2 products of s16 by s16 in dword i, exact. Inline assembly: g++ 12 copies registers around the
/// intrinsic, one for each of them.
TULLE_INLINE_AVX512 __m512i dot_words(__m512i sums, __m512i a, __m512i b) noexcept {
  __asm__("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(a), "v"(b));
  return sums;
}

/// 8 or 16 elements as floats, from any address.
TULLE_INLINE_AVX2 __m256 load8(const float* from) noexcept {
  return _mm256_loadu_ps(from);
}
TULLE_INLINE_AVX2 __m256 load8(const Half* from) noexcept {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
TULLE_INLINE_AVX2 __m256 load8(const BFloat16* from) noexcept {
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}
TULLE_INLINE_AVX2 __m256 load8(const std::int8_t* from) noexcept {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
TULLE_INLINE_AVX512 __m512 load16(const float* from) noexcept {
  return _mm512_loadu_ps(from);
}
TULLE_INLINE_AVX512 __m512 load16(const Half* from) noexcept {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
TULLE_INLINE_AVX512 __m512 load16(const std::int8_t* from) noexcept {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
TULLE_INLINE_AVX512 __m512 load16(const BFloat16* from) noexcept {
  const __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
}

}  // namespace tulle::detail
#endif
