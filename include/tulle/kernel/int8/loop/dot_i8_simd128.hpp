// SPDX-License-Identifier: Apache-2.0
/// \file Exact products of int8 codes and activations on vectors of 128 bits (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/tensor/simd128.hpp>

#if defined(TULLE_SIMD128)

namespace tulle::simd128 {

/// 4 rows by 4 columns of int8 codes, one row a lane of 32 bits, prepared for multiplication; 4 activations, the same
/// for every row; and the sums of products of the 4 rows with them. Every product of a code in [-128, 127] and an
/// activation in [-127, 127] is exact. `add_positive` needs codes in [0, 127].
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

  /// |w| times x with the sign of w: 2 * 128 * 127 fits the int16 of a pair.
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

struct Codes {
  v128_t codes;

  static Codes of(I8x16 codes) noexcept { return {(v128_t)codes}; }
  static Codes at(const std::uint8_t* codes) noexcept { return {wasm_v128_load(codes)}; }
};

inline I32x4 relaxed_dot(v128_t a, v128_t b, I32x4 sums) noexcept {
  return (I32x4)wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, (v128_t)sums);
}

/// Whether a relaxed dot product treats its second operand as signed is up to the engine, which decides once. If
/// unsigned, this is added to it: to the codes, or to the activations that rows pick. An engine that adds pairs of
/// products in 16 bits is not exact then: there the npm package takes its other module.
inline const std::uint8_t offset = [] {
  const volatile std::int32_t one = 1, highest = 128;
  return static_cast<std::uint8_t>(relaxed_dot((v128_t)splat(one), (v128_t)splat(highest), {})[0] > 0 ? 128 : 0);
}();
inline constexpr bool has_offset = true;
/// The start of a sum of products of codes with the offset; `x_sum` is the sum of the activations.
template <class Integers>
inline Integers first_sum(Integers x_sum) noexcept {
  return x_sum * -std::int32_t{offset};
}
TULLE_INLINE_SIMD128 v128_t add_offset(v128_t codes) noexcept {
  return wasm_v128_xor(codes, wasm_v128_load8_splat(&offset));
}

struct Quad {
  v128_t x;

  static Quad of(const std::int8_t* x) noexcept { return {wasm_v128_load32_splat(x)}; }
};

struct Sums {
  I32x4 sums{};

  void add(const Codes& w, const Quad& x) noexcept { sums = relaxed_dot(x.x, add_offset(w.codes), sums); }
  void add_positive(const Codes& w, const std::int8_t* x) noexcept {
    sums = relaxed_dot((v128_t)splat4(x), w.codes, sums);
  }
  I32x4 total() const noexcept { return sums; }
};

struct PickedSums : Sums {
  void add(const Codes& w, I8x16 offset_x, I8x16 order) noexcept {
    sums = relaxed_dot(w.codes, wasm_i8x16_relaxed_swizzle((v128_t)offset_x, (v128_t)order), sums);
  }
  /// Adds what the offset of the activations contributes, whichever they are.
  void add_offset_of(const Codes& w) noexcept { sums = relaxed_dot(w.codes, wasm_v128_load8_splat(&offset), sums); }
};

#else

// A word of 16 bits holds an even column's code below and an odd one's above; a shift and a mask take them apart, each
// times 256, so that no sign is lost. (What extends bytes from memory in one instruction is slower: V8 gives each of
// its addresses a register.) 128 columns of the largest products, times 256, fit the sum.
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

inline constexpr bool has_offset = false;
template <class Integers>
inline Integers first_sum(Integers) noexcept {
  return {};
}

/// Sums of products with activations that each row picks out of 16: those at `order`.
struct PickedSums : Sums {
  TULLE_INLINE_SIMD128 void add(const Codes& w, I8x16 x, I8x16 order) noexcept { Sums::add(w, shuffle(x, order)); }
};

#endif

}  // namespace tulle::simd128

#endif
