// SPDX-License-Identifier: Apache-2.0
/// \file The loops of ops.hpp for AVX2, also in a program that is compiled for older CPUs (L1).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <tulle/core/half.hpp>
#include <tulle/tensor/x86.hpp>

namespace tulle::detail {

/// erf(u) = 1 - (a0 t + ... + a4 t^5) exp(-u^2), t = 1 / (1 + p u), for u >= 0, off by 1.5e-7 at the most: Abramowitz,
/// Stegun, "Handbook of Mathematical Functions", 1964, 7.1.26.
namespace erf_terms {
inline constexpr float inverse_root_2 = 0.70710678f, p = 0.3275911f;
inline constexpr float a[5] = {0.254829592f, -0.284496736f, 1.421413741f, -1.453152027f, 1.061405429f};
}  // namespace erf_terms

}  // namespace tulle::detail

#if defined(TULLE_X86)

namespace tulle::detail {

/// exp(x): 2^n * p(r), n = round(x / ln 2), r = x - n ln 2 in two steps (Cody, Waite), p of degree 6 from the Taylor
/// series on |r| <= 0.35: relative error below 4e-8. 0 below -87, infinity above 88.3; a NaN stays NaN.
TULLE_INLINE_AVX2 __m256 exponential(__m256 x) noexcept {
  const __m256 top = _mm256_min_ps(_mm256_set1_ps(89.0f), x);  // n = 128 gives infinity; a NaN of x is kept
  const __m256 n =
      _mm256_round_ps(_mm256_mul_ps(top, _mm256_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), top);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
  __m256 p = _mm256_set1_ps(1.0f / 720);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 120));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 24));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f / 6));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(0.5f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.0f));
  const __m256i exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
  const __m256 result = _mm256_mul_ps(p, _mm256_castsi256_ps(exponent));
  const __m256 vanishes = _mm256_cmp_ps(x, _mm256_set1_ps(-87.0f), _CMP_LT_OQ);
  return _mm256_blendv_ps(_mm256_andnot_ps(vanishes, result), x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

TULLE_INLINE_AVX2 float sum_of_lanes(__m256 x) noexcept {
  const __m128 half = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 quarter = _mm_add_ps(half, _mm_movehl_ps(half, half));
  return _mm_cvtss_f32(_mm_add_ss(quarter, _mm_movehdup_ps(quarter)));
}

/// The largest lane of eight magnitudes as integers, as a float.
TULLE_INLINE_AVX2 float largest_of(__m256i most) noexcept {
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4E));
  return _mm_cvtss_f32(_mm_castsi128_ps(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xB1))));
}

/// The functions of ops.hpp of the same names.
struct Avx2Ops {
  TULLE_TARGET_AVX2 static void rms_norm(const float* x, const float* weight, std::size_t size, float epsilon,
                                         float* y) noexcept {
    const float inverse = 1.0f / std::sqrt(sum<Squares>(x, size, 0) / static_cast<float>(size) + epsilon);
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
      const __m256 scaled = _mm256_mul_ps(load8(x + i), _mm256_set1_ps(inverse));
      _mm256_storeu_ps(y + i, _mm256_mul_ps(scaled, load8(weight + i)));
    }
    for (; i < size; ++i) y[i] = x[i] * inverse * weight[i];
  }

  TULLE_TARGET_AVX2 static void layer_norm(const float* x, const float* weight, const float* bias, std::size_t size,
                                           float epsilon, float* y) noexcept {
    const float mean = sum<Values>(x, size, 0) / static_cast<float>(size);
    const float inverse = 1.0f / std::sqrt(sum<Squares>(x, size, mean) / static_cast<float>(size) + epsilon);
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
      const __m256 scaled = _mm256_mul_ps(_mm256_sub_ps(load8(x + i), _mm256_set1_ps(mean)), _mm256_set1_ps(inverse));
      _mm256_storeu_ps(y + i, _mm256_fmadd_ps(scaled, load8(weight + i), load8(bias + i)));
    }
    for (; i < size; ++i) y[i] = std::fma((x[i] - mean) * inverse, weight[i], bias[i]);
  }

  TULLE_TARGET_AVX2 static void add(const float* x, std::size_t size, float* y) noexcept { each<Sum>(x, y, size, y); }
  TULLE_TARGET_AVX2 static void silu_times(const float* gate, const float* up, std::size_t size, float* y) noexcept {
    each<SiluTimes>(gate, up, size, y);
  }
  TULLE_TARGET_AVX2 static void gelu_new(float* x, std::size_t size) noexcept { each<GeluNew>(x, x, size, x); }
  TULLE_TARGET_AVX2 static void gelu_erf(float* x, std::size_t size) noexcept { each<GeluErf>(x, x, size, x); }
  TULLE_TARGET_AVX2 static void gelu_times(const float* gate, const float* up, std::size_t size, float* y) noexcept {
    each<GeluTimes>(gate, up, size, y);
  }

  TULLE_TARGET_AVX2 static void soft_cap(float cap, std::size_t size, float* x) noexcept {
    const float caps[8] = {cap, cap, cap, cap, cap, cap, cap, cap};
    for (std::size_t i = 0; i < size; i += 8) {
      each<SoftCap>(x + i, caps, size - i < 8 ? size - i : 8, x + i);
    }
  }

  /// Pairs (x[j], x[j + pairs]).
  TULLE_TARGET_AVX2 static void rotate_halves(float* head, const float* cosines, const float* sines,
                                              std::size_t pairs) noexcept {
    std::size_t j = 0;
    for (; j + 8 <= pairs; j += 8) {
      const __m256 x = load8(head + j), y = load8(head + pairs + j), cosine = load8(cosines + j),
                   sine = load8(sines + j);
      _mm256_storeu_ps(head + j, _mm256_fmsub_ps(x, cosine, _mm256_mul_ps(y, sine)));
      _mm256_storeu_ps(head + pairs + j, _mm256_fmadd_ps(y, cosine, _mm256_mul_ps(x, sine)));
    }
    for (; j < pairs; ++j) rotate_pair(head[j], head[pairs + j], cosines[j], sines[j]);
  }

  /// Pairs (x[2j], x[2j + 1]).
  TULLE_TARGET_AVX2 static void rotate_interleaved(float* head, const float* cosines, const float* sines,
                                                   std::size_t pairs) noexcept {
    const __m256i twice = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    std::size_t j = 0;
    for (; j + 4 <= pairs; j += 4) {
      const __m256 x = load8(head + 2 * j), swapped = _mm256_permute_ps(x, 0xB1);
      const __m256 cosine = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(cosines + j)), twice);
      const __m256 sine = _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(sines + j)), twice);
      _mm256_storeu_ps(head + 2 * j, _mm256_fmaddsub_ps(x, cosine, _mm256_mul_ps(swapped, sine)));
    }
    for (; j < pairs; ++j) rotate_pair(head[2 * j], head[2 * j + 1], cosines[j], sines[j]);
  }

  TULLE_TARGET_AVX2 static void scale(float factor, std::size_t size, float* x) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) _mm256_storeu_ps(x + i, _mm256_mul_ps(load8(x + i), _mm256_set1_ps(factor)));
    for (; i < size; ++i) x[i] *= factor;
  }

  TULLE_TARGET_AVX2 static void weighted_sum(const float* x, float a, const float* y, float b, std::size_t size,
                                             float* out) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
      const __m256 first = _mm256_mul_ps(load8(x + i), _mm256_set1_ps(a));
      _mm256_storeu_ps(out + i, _mm256_fmadd_ps(load8(y + i), _mm256_set1_ps(b), first));
    }
    for (; i < size; ++i) out[i] = std::fma(y[i], b, x[i] * a);
  }

  /// `encode_row` of cache/element.hpp: codes x / scale, scale = max|x| / 127, which is returned.
  TULLE_TARGET_AVX2 static float to_bytes(const float* x, std::size_t size, std::int8_t* y) noexcept {
    const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
    __m256i most = _mm256_setzero_si256();  // as integers: ordered like the floats, and what is not finite comes last
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
      most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(load8(x + i)), magnitude));
    }
    float last[8] = {};
    std::memcpy(last, x + i, sizeof(float) * (size - i));
    most = _mm256_max_epi32(most, _mm256_and_si256(_mm256_castps_si256(load8(last)), magnitude));
    const float largest = largest_of(most);
    const bool finite = largest <= std::numeric_limits<float>::max();
    const float scale = finite ? largest / 127.0f : std::numeric_limits<float>::quiet_NaN();
    if (!finite || scale == 0) {
      std::memset(y, 0, size);
      return scale;
    }
    const auto codes = [scale](const float* from) TULLE_TARGET_AVX2 {
      const __m256i whole = _mm256_cvtps_epi32(_mm256_div_ps(load8(from), _mm256_set1_ps(scale)));
      const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
      return _mm_max_epi8(_mm_packs_epi16(words, words), _mm_set1_epi8(-127));
    };
    for (i = 0; i + 8 <= size; i += 8) _mm_storel_epi64(reinterpret_cast<__m128i*>(y + i), codes(x + i));
    const __m128i rest = codes(last);
    std::memcpy(y + i, &rest, size - i);
    return scale;
  }

  TULLE_TARGET_AVX2 static void to_halves(const float* x, std::size_t size, Half* y) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), _mm256_cvtps_ph(load8(x + i), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; i < size; ++i) y[i] = to_half(x[i]);
  }

 private:
  struct Values {
    TULLE_INLINE_AVX2 static __m256 of(__m256 sum, __m256 centred) noexcept { return _mm256_add_ps(sum, centred); }
  };
  struct Squares {
    TULLE_INLINE_AVX2 static __m256 of(__m256 sum, __m256 centred) noexcept {
      return _mm256_fmadd_ps(centred, centred, sum);
    }
  };
  struct Sum {
    TULLE_INLINE_AVX2 static __m256 of(__m256 x, __m256 y) noexcept { return _mm256_add_ps(x, y); }
  };
  struct SiluTimes {
    TULLE_INLINE_AVX2 static __m256 of(__m256 gate, __m256 up) noexcept {
      const __m256 one = _mm256_set1_ps(1);
      const __m256 power = exponential(_mm256_sub_ps(_mm256_setzero_ps(), gate));
      return _mm256_mul_ps(_mm256_div_ps(gate, _mm256_add_ps(one, power)), up);
    }
  };
  struct GeluNew {
    TULLE_INLINE_AVX2 static __m256 of(__m256 x, __m256) noexcept {
      constexpr float twice_root = 1.5957691216057308f;  // 2 sqrt(2 / pi)
      const __m256 root = _mm256_set1_ps(-twice_root), square = _mm256_mul_ps(x, x);
      const __m256 slope = _mm256_fmadd_ps(square, _mm256_set1_ps(-twice_root * 0.044715f), root);
      return _mm256_div_ps(x, _mm256_add_ps(_mm256_set1_ps(1), exponential(_mm256_mul_ps(x, slope))));
    }
  };
  struct GeluErf {
    TULLE_INLINE_AVX2 static __m256 of(__m256 x, __m256) noexcept {
      const __m256 size = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x), one = _mm256_set1_ps(1);
      const __m256 u = _mm256_mul_ps(size, _mm256_set1_ps(erf_terms::inverse_root_2));
      const __m256 t = _mm256_div_ps(one, _mm256_fmadd_ps(u, _mm256_set1_ps(erf_terms::p), one));
      __m256 sum = _mm256_set1_ps(erf_terms::a[4]);
#pragma GCC unroll 4
      for (int i = 3; i >= 0; --i) sum = _mm256_fmadd_ps(sum, t, _mm256_set1_ps(erf_terms::a[i]));
      const __m256 power = exponential(_mm256_sub_ps(_mm256_setzero_ps(), _mm256_mul_ps(u, u)));
      const __m256 rest = _mm256_mul_ps(_mm256_mul_ps(_mm256_mul_ps(sum, t), power), _mm256_set1_ps(0.5f));
      return _mm256_fnmadd_ps(size, rest, _mm256_max_ps(_mm256_setzero_ps(), x));
    }
  };
  struct SoftCap {
    TULLE_INLINE_AVX2 static __m256 of(__m256 x, __m256 cap) noexcept {
      const __m256 one = _mm256_set1_ps(1), two = _mm256_set1_ps(2);
      const __m256 power = exponential(_mm256_div_ps(_mm256_mul_ps(two, x), cap));
      return _mm256_mul_ps(cap, _mm256_sub_ps(one, _mm256_div_ps(two, _mm256_add_ps(one, power))));
    }
  };
  struct GeluTimes {
    TULLE_INLINE_AVX2 static __m256 of(__m256 gate, __m256 up) noexcept {
      return _mm256_mul_ps(GeluNew::of(gate, gate), up);
    }
  };

  /// Sum of x - mean or of its square: first in four independent vectors, which hide the latency of the addition, then
  /// across them.
  template <class Term>
  TULLE_TARGET_AVX2 static float sum(const float* x, std::size_t size, float mean) noexcept {
    const __m256 centre = _mm256_set1_ps(mean);
    __m256 sums[4] = {_mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps(), _mm256_setzero_ps()};
    std::size_t i = 0;
    for (; i + 32 <= size; i += 32) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < 4; ++k) sums[k] = Term::of(sums[k], _mm256_sub_ps(load8(x + i + 8 * k), centre));
    }
    for (; i < size; i += 8) {
      const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
      const __m256i inside = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(size - i)), index);
      const __m256 centred = _mm256_sub_ps(_mm256_maskload_ps(x + i, inside), centre);
      sums[0] = Term::of(sums[0], _mm256_and_ps(centred, _mm256_castsi256_ps(inside)));
    }
    const __m256 all = _mm256_add_ps(_mm256_add_ps(sums[0], sums[1]), _mm256_add_ps(sums[2], sums[3]));
    return sum_of_lanes(all);
  }

  /// y[i] = Function(a[i], b[i]). The tail is computed in a vector, too, so that the bits do not depend on the index.
  template <class Function>
  TULLE_TARGET_AVX2 static void each(const float* a, const float* b, std::size_t size, float* y) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= size; i += 8) _mm256_storeu_ps(y + i, Function::of(load8(a + i), load8(b + i)));
    if (i == size) return;
    float last[2][8] = {};
    std::memcpy(last[0], a + i, sizeof(float) * (size - i));
    std::memcpy(last[1], b + i, sizeof(float) * (size - i));
    _mm256_storeu_ps(last[0], Function::of(load8(last[0]), load8(last[1])));
    std::memcpy(y + i, last[0], sizeof(float) * (size - i));
  }

  TULLE_INLINE_AVX2 static void rotate_pair(float& x, float& y, float cosine, float sine) noexcept {
    const float first = std::fma(x, cosine, -(y * sine));
    y = std::fma(y, cosine, x * sine);
    x = first;
  }
};

}  // namespace tulle::detail

#endif
