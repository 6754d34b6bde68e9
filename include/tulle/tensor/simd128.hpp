// SPDX-License-Identifier: Apache-2.0
/// \file 128-bit vectors with one interface for SSE4.1, NEON and WebAssembly (L1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/core/half.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/x86.hpp>

#if defined(TULLE_SIMD128)

#if defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

/// Function attributes, as in x86.hpp; empty where every CPU has the set.
#if defined(TULLE_X86)
#define TULLE_TARGET_SIMD128 __attribute__((target("sse4.1")))
#define TULLE_INLINE_SIMD128 inline __attribute__((always_inline, target("sse4.1")))
#else
#define TULLE_TARGET_SIMD128
#define TULLE_INLINE_SIMD128 inline __attribute__((always_inline))
#endif

/// TULLE_UNROLL before a short loop keeps its sums in registers, also in code compiled for size. TULLE_NO_UNROLL before
/// a loop whose unrolled form would need more registers than there are.
#if defined(__clang__)
#define TULLE_UNROLL _Pragma("clang loop unroll(full)")
#define TULLE_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TULLE_UNROLL _Pragma("GCC unroll 8")
#define TULLE_NO_UNROLL _Pragma("GCC unroll 1")
#endif
/// Before the loop over the steps of a block of codes. Where a step takes many instructions (no dot product), V8 15 is
/// slower with an unrolled loop: on Zen 4 by a fifth for a batch, three times for one row.
#if defined(__wasm__) && !defined(__wasm_relaxed_simd__)
#define TULLE_UNROLL_STEPS TULLE_NO_UNROLL
#else
#define TULLE_UNROLL_STEPS TULLE_UNROLL
#endif

namespace tulle::simd128 {

using I8x16 = std::int8_t __attribute__((vector_size(16)));
using U8x16 = std::uint8_t __attribute__((vector_size(16)));
using I16x8 = std::int16_t __attribute__((vector_size(16)));
using U16x8 = std::uint16_t __attribute__((vector_size(16)));
using I32x4 = std::int32_t __attribute__((vector_size(16)));
using U32x4 = std::uint32_t __attribute__((vector_size(16)));
using F32x4 = float __attribute__((vector_size(16)));

template <class Vector, class Element>
TULLE_INLINE_SIMD128 Vector load(const Element* from) noexcept {
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class Vector, class Element>
TULLE_INLINE_SIMD128 void store(Element* to, Vector vector) noexcept {
  std::memcpy(to, &vector, sizeof vector);
}

TULLE_INLINE_SIMD128 constexpr F32x4 splat(float value) noexcept {
  return F32x4{value, value, value, value};
}
TULLE_INLINE_SIMD128 constexpr I32x4 splat(std::int32_t value) noexcept {
  return I32x4{value, value, value, value};
}
/// 4 codes, 4 times.
TULLE_INLINE_SIMD128 I8x16 splat4(const std::int8_t* codes) noexcept {
  std::int32_t four;
  std::memcpy(&four, codes, sizeof four);
  return (I8x16)splat(four);
}
TULLE_INLINE_SIMD128 std::int32_t sum(I32x4 values) noexcept {
  return values[0] + values[1] + values[2] + values[3];
}
TULLE_INLINE_SIMD128 F32x4 as_floats(I32x4 values) noexcept {
  return __builtin_convertvector(values, F32x4);
}

/// a * b + c, rounded once where the CPU has such an instruction (see `isa::Simd128::fuses`).
TULLE_INLINE_SIMD128 F32x4 multiply_add(F32x4 a, F32x4 b, F32x4 c) noexcept {
#if defined(__aarch64__)
  return (F32x4)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

/// To the nearest integer, halves to even; |values| <= 2^22.
TULLE_INLINE_SIMD128 I32x4 round(F32x4 values) noexcept {
#if defined(TULLE_X86)
  return (I32x4)_mm_cvtps_epi32((__m128)values);
#elif defined(__aarch64__)
  return (I32x4)vcvtnq_s32_f32((float32x4_t)values);
#else  // two instructions; WebAssembly's own rounding takes ten
  const F32x4 last_bit_is_one = splat(0x1.8p23f);
  return (I32x4)(values + last_bit_is_one) - (I32x4)last_bit_is_one;
#endif
}

/// 16 integers, each within the range of a byte, as bytes.
TULLE_INLINE_SIMD128 I8x16 narrow(const I32x4 (&whole)[4]) noexcept {
#if defined(TULLE_X86)
  const auto words = [&](int i) { return _mm_packs_epi32((__m128i)whole[i], (__m128i)whole[i + 1]); };
  return (I8x16)_mm_packs_epi16(words(0), words(2));
#elif defined(__aarch64__)
  const auto words = [&](int i) {
    return vcombine_s16(vmovn_s32((int32x4_t)whole[i]), vmovn_s32((int32x4_t)whole[i + 1]));
  };
  return (I8x16)vcombine_s8(vmovn_s16(words(0)), vmovn_s16(words(2)));
#else
  const auto words = [&](int i) { return wasm_i16x8_narrow_i32x4((v128_t)whole[i], (v128_t)whole[i + 1]); };
  return (I8x16)wasm_i8x16_narrow_i16x8(words(0), words(2));
#endif
}

/// out[i] = table[order[i]], order in 0 ... 15.
TULLE_INLINE_SIMD128 I8x16 shuffle(I8x16 table, I8x16 order) noexcept {
#if defined(TULLE_X86)
  return (I8x16)_mm_shuffle_epi8((__m128i)table, (__m128i)order);
#elif defined(__aarch64__)
  return (I8x16)vqtbl1q_s8((int8x16_t)table, (uint8x16_t)order);
#else
  return (I8x16)wasm_i8x16_swizzle((v128_t)table, (v128_t)order);
#endif
}

TULLE_INLINE_SIMD128 F32x4 load4(const float* from) noexcept {
  return load<F32x4>(from);
}
TULLE_INLINE_SIMD128 F32x4 load4(const BFloat16* from) noexcept {
  return (F32x4)U32x4{std::uint32_t{from[0].bits} << 16, std::uint32_t{from[1].bits} << 16,
                      std::uint32_t{from[2].bits} << 16, std::uint32_t{from[3].bits} << 16};
}
TULLE_INLINE_SIMD128 F32x4 load4(const std::int8_t* from) noexcept {
  return as_floats(I32x4{from[0], from[1], from[2], from[3]});
}
#if !defined(__aarch64__)
/// Constants for the conversion of halves to floats. They are in memory whose content is hidden from the compiler.
/// Otherwise V8 would build each constant again, in three instructions, wherever it is used.
struct HalfConstants {
  I32x4 mask, exponent, infinity;
  F32x4 factor;
};
inline constexpr HalfConstants half_constants{splat(static_cast<std::int32_t>(0x8FFFE000u)), splat(0x7C00),
                                              splat(0x7F800000), splat(0x1p112f)};
#endif

/// 4 * Count halves to floats. Their bits, shifted to the float's fields, are 2^-112 times the value, subnormals too.
template <std::size_t Count>
TULLE_INLINE_SIMD128 void load4s(const Half* from, F32x4 (&to)[Count]) noexcept {
#if defined(__aarch64__)
  for (std::size_t i = 0; i < Count; ++i) {
    std::int16_t each[4];
    std::memcpy(each, from + 4 * i, sizeof each);
    to[i] = (F32x4)vcvt_f32_f16(vreinterpret_f16_s16(vld1_s16(each)));
  }
#else
  const HalfConstants constants = *detail::load_again(&half_constants);
  TULLE_UNROLL
  for (std::size_t i = 0; i < Count; ++i) {
#if defined(__wasm_simd128__)
    const auto halves = (I32x4)wasm_i32x4_load16x4(from + 4 * i);
#else
    std::int16_t each[4];
    std::memcpy(each, from + 4 * i, sizeof each);
    const I32x4 halves{each[0], each[1], each[2], each[3]};
#endif
    const I32x4 bits = halves << 13 & constants.mask;
    const I32x4 not_finite = ((halves & constants.exponent) == constants.exponent) & constants.infinity;
    to[i] = (F32x4)((I32x4)((F32x4)bits * constants.factor) | not_finite);
  }
#endif
}
template <std::size_t Count, class Element>
TULLE_INLINE_SIMD128 void load4s(const Element* from, F32x4 (&to)[Count]) noexcept {
  TULLE_UNROLL
  for (std::size_t i = 0; i < Count; ++i) to[i] = load4(from + 4 * i);
}
TULLE_INLINE_SIMD128 F32x4 load4(const Half* from) noexcept {
  F32x4 four[1];
  load4s(from, four);
  return four[0];
}

}  // namespace tulle::simd128

#endif
