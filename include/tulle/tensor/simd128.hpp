// SPDX-License-Identifier: Apache-2.0
/// \file Vectors of 128 bits that are the same on SSE4.1, NEON and WebAssembly, and what they do with int8 codes (L1).
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

/// Function attributes, as in x86.hpp; where every processor has the set they ask for nothing.
#if defined(TULLE_X86)
#define TULLE_TARGET_SIMD128 __attribute__((target("sse4.1")))
#define TULLE_INLINE_SIMD128 inline __attribute__((always_inline, target("sse4.1")))
#else
#define TULLE_TARGET_SIMD128
#define TULLE_INLINE_SIMD128 inline __attribute__((always_inline))
#endif

/// Before a loop of a few rounds whose sums are to stay in registers, also where code is compiled for size; and before one
/// whose rounds, one after the other, would need more registers than there are.
#if defined(__clang__)
#define TULLE_UNROLL _Pragma("clang loop unroll(full)")
#define TULLE_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TULLE_UNROLL _Pragma("GCC unroll 8")
#define TULLE_NO_UNROLL _Pragma("GCC unroll 1")
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

TULLE_INLINE_SIMD128 F32x4 splat(float value) noexcept { return F32x4{value, value, value, value}; }
TULLE_INLINE_SIMD128 I32x4 splat(std::int32_t value) noexcept { return I32x4{value, value, value, value}; }
/// 4 codes, 4 times.
TULLE_INLINE_SIMD128 I8x16 splat4(const std::int8_t* codes) noexcept {
  std::int32_t four;
  std::memcpy(&four, codes, sizeof four);
  return (I8x16)splat(four);
}
TULLE_INLINE_SIMD128 std::int32_t sum(I32x4 values) noexcept { return values[0] + values[1] + values[2] + values[3]; }
TULLE_INLINE_SIMD128 F32x4 as_floats(I32x4 values) noexcept { return __builtin_convertvector(values, F32x4); }

/// a * b + c, rounded once where the processor has such an instruction (see `isa::Simd128::fuses`).
TULLE_INLINE_SIMD128 F32x4 multiply_add(F32x4 a, F32x4 b, F32x4 c) noexcept {
#if defined(__aarch64__)
  return (F32x4)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  return a * b + c;
#endif
}

/// To the nearest integer, halves to even; |values| < 2^31.
TULLE_INLINE_SIMD128 I32x4 round(F32x4 values) noexcept {
#if defined(TULLE_X86)
  return (I32x4)_mm_cvtps_epi32((__m128)values);
#elif defined(__aarch64__)
  return (I32x4)vcvtnq_s32_f32((float32x4_t)values);
#else
  return (I32x4)wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest((v128_t)values));
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

TULLE_INLINE_SIMD128 F32x4 load4(const float* from) noexcept { return load<F32x4>(from); }
TULLE_INLINE_SIMD128 F32x4 load4(const BFloat16* from) noexcept {
  return (F32x4)U32x4{std::uint32_t{from[0].bits} << 16, std::uint32_t{from[1].bits} << 16, std::uint32_t{from[2].bits} << 16,
                      std::uint32_t{from[3].bits} << 16};
}
TULLE_INLINE_SIMD128 F32x4 load4(const std::int8_t* from) noexcept {
  return as_floats(I32x4{from[0], from[1], from[2], from[3]});
}
/// The bits of a half, moved to where a float has them, are 2^-112 of its value, subnormals too.
TULLE_INLINE_SIMD128 F32x4 load4(const Half* from) noexcept {
#if defined(__wasm_simd128__)
  const auto halves = (I32x4)wasm_i32x4_load16x4(from);
#else
  std::int16_t each[4];
  std::memcpy(each, from, sizeof each);
#if !defined(__aarch64__)
  const I32x4 halves{each[0], each[1], each[2], each[3]};
#endif
#endif
#if defined(__aarch64__)
  return (F32x4)vcvt_f32_f16(vreinterpret_f16_s16(vld1_s16(each)));
#else
  const I32x4 bits = halves << 13 & static_cast<std::int32_t>(0x8FFFE000u);
  const I32x4 not_finite = ((bits & 0x7FFFFFFF) > 0x0F7FFFFF) & 0x7F800000;
  return (F32x4)((I32x4)((F32x4)bits * splat(0x1p112f)) | not_finite);
#endif
}

/// Bytes from the magnitudes of activations to their signs, where they are kept apart.
inline constexpr std::size_t sign_distance = 64;

/// 4 rows by 4 columns of int8 codes, one row a lane of 32 bits, made ready to be multiplied; 4 activations, the same for
/// every row; and the sums of products of the 4 rows with them. Every product of a code in [-128, 127] and an activation in
/// [-127, 127] is exact. `add_positive` wants codes in [0, 127], and activations that are not split.
#if defined(TULLE_X86)

struct Codes {
  __m128i codes, magnitudes;

  static TULLE_INLINE_SIMD128 Codes of(I8x16 codes) noexcept { return {(__m128i)codes, _mm_abs_epi8((__m128i)codes)}; }
  static TULLE_INLINE_SIMD128 Codes at(const std::uint8_t* codes) noexcept { return of(load<I8x16>(codes)); }
};

struct Quad {
  I8x16 x;

  static TULLE_INLINE_SIMD128 Quad of(const std::int8_t* x) noexcept { return {splat4(x)}; }
};

struct Sums {
  I32x4 sums{};

  /// |w| meets x with w's sign: 2 * 128 * 127 fits the int16 of a pair.
  TULLE_INLINE_SIMD128 void add(const Codes& w, I8x16 x) noexcept {
    const __m128i pairs = _mm_maddubs_epi16(w.magnitudes, _mm_sign_epi8((__m128i)x, w.codes));
    sums += (I32x4)_mm_madd_epi16(pairs, _mm_set1_epi16(1));
  }
  TULLE_INLINE_SIMD128 void add(const Codes& w, const Quad& quad) noexcept { add(w, quad.x); }
  TULLE_INLINE_SIMD128 void add_positive(const Codes& w, const std::int8_t* x) noexcept { add(w, Quad::of(x)); }
  TULLE_INLINE_SIMD128 I32x4 total() const noexcept { return sums; }
};

#elif defined(__aarch64__)

struct Codes {
  int8x16_t codes;

  static Codes of(I8x16 codes) noexcept { return {(int8x16_t)codes}; }
  static Codes at(const std::uint8_t* codes) noexcept { return of(load<I8x16>(codes)); }
};

struct Quad {
  I8x16 x;

  static Quad of(const std::int8_t* x) noexcept { return {splat4(x)}; }
};

struct Sums {
  int32x4_t sums{};

  void add(const Codes& w, I8x16 x) noexcept {
#if defined(__ARM_FEATURE_DOTPROD)
    sums = vdotq_s32(sums, w.codes, (int8x16_t)x);
#else
    const int16x8_t low = vmull_s8(vget_low_s8(w.codes), vget_low_s8((int8x16_t)x));
    sums = vpadalq_s16(sums, vpaddq_s16(low, vmull_high_s8(w.codes, (int8x16_t)x)));
#endif
  }
  void add(const Codes& w, const Quad& quad) noexcept { add(w, quad.x); }
  void add_positive(const Codes& w, const std::int8_t* x) noexcept { add(w, Quad::of(x)); }
  I32x4 total() const noexcept { return (I32x4)sums; }
};

#elif defined(__wasm_relaxed_simd__)

// A relaxed dot product wants one operand in [0, 127]: magnitudes of activations. Where x is negative it meets the bits of w
// turned, which are -w - 1: what the sum lacks is |x|, for every row the same, so that whoever made the magnitudes knows it.
inline constexpr bool splits_activations = true;

struct Codes {
  v128_t codes;

  static Codes of(I8x16 codes) noexcept { return {(v128_t)codes}; }
  static Codes at(const std::uint8_t* codes) noexcept { return {wasm_v128_load(codes)}; }
};

struct Quad {
  v128_t magnitudes, signs;

  /// Of 4 magnitudes, and the signs (0 or -1) that lie `sign_distance` behind them.
  static Quad of(const std::int8_t* magnitudes) noexcept {
    return {wasm_v128_load32_splat(magnitudes), wasm_v128_load32_splat(magnitudes + sign_distance)};
  }
};

struct Sums {
  v128_t sums = wasm_i32x4_const_splat(0);

  static Sums from(std::int32_t lacking) noexcept { return {(v128_t)splat(lacking)}; }
  void add(const Codes& w, const Quad& x) noexcept {
    sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(wasm_v128_xor(w.codes, x.signs), x.magnitudes, sums);
  }
  void add_positive(const Codes& w, const std::int8_t* x) noexcept {
    sums = wasm_i32x4_relaxed_dot_i8x16_i7x16_add((v128_t)splat4(x), w.codes, sums);
  }
  I32x4 total() const noexcept { return (I32x4)sums; }
};

// Each row picks others, so no sum is known: the positive ones less the negative ones.
struct PickedSums {
  v128_t positive = wasm_i32x4_const_splat(0), negative = wasm_i32x4_const_splat(0);

  void add(const Codes& w, I8x16 x, I8x16 order) noexcept {
    const v128_t zero = wasm_i8x16_const_splat(0), above = wasm_i8x16_max((v128_t)x, zero);
    const v128_t below = wasm_i8x16_sub(above, (v128_t)x);
    positive = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w.codes, wasm_i8x16_relaxed_swizzle(above, (v128_t)order), positive);
    negative = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w.codes, wasm_i8x16_relaxed_swizzle(below, (v128_t)order), negative);
  }
  I32x4 total() const noexcept { return (I32x4)wasm_i32x4_sub(positive, negative); }
};

#else

// A word of 16 bits holds an even column's code below and an odd one's above; a shift and a mask take them apart, each
// times 256, so that no sign is lost. (What extends bytes from memory in one instruction is slower: V8 gives each of its
// addresses a register.) 128 columns of the largest products, times 256, fit the sum.
struct Codes {
  v128_t even_256, odd_256;

  static Codes of(I8x16 codes) noexcept {
    return {wasm_i16x8_shl((v128_t)codes, 8), wasm_v128_and((v128_t)codes, wasm_u16x8_const_splat(0xFF00))};
  }
  static Codes at(const std::uint8_t* codes) noexcept { return of(load<I8x16>(codes)); }
};

struct Quad {
  v128_t even, odd;

  static Quad of(I8x16 x) noexcept {
    return {wasm_i16x8_shr(wasm_i16x8_shl((v128_t)x, 8), 8), wasm_i16x8_shr((v128_t)x, 8)};
  }
  static Quad of(const std::int8_t* x) noexcept { return of(splat4(x)); }
};

struct Sums {
  I32x4 sums_256{};

  void add(const Codes& w, const Quad& x) noexcept {
    sums_256 += (I32x4)wasm_i32x4_dot_i16x8(w.even_256, x.even) + (I32x4)wasm_i32x4_dot_i16x8(w.odd_256, x.odd);
  }
  void add(const Codes& w, I8x16 x) noexcept { add(w, Quad::of(x)); }
  void add_positive(const Codes& w, const std::int8_t* x) noexcept { add(w, Quad::of(x)); }
  I32x4 total() const noexcept { return sums_256 >> 8; }
};

#endif

#if !defined(__wasm_relaxed_simd__)

/// Whether a `Quad` wants magnitudes and signs of activations apart.
inline constexpr bool splits_activations = false;

/// Sums of products with activations that each row picks out of 16: those at `order`.
struct PickedSums : Sums {
  TULLE_INLINE_SIMD128 void add(const Codes& w, I8x16 x, I8x16 order) noexcept { Sums::add(w, shuffle(x, order)); }
};

#endif

}  // namespace tulle::simd128

#endif
