// SPDX-License-Identifier: Apache-2.0
/// \file The loops of attention on int8 keys and values, multiplied as integers: in plain C++, and on SSE4.1 (L3).
///
/// Queries and weights become codes of 16 bits with one scale a row, so that the products are exact in 32 bits. What is
/// multiplied lies in pairs, [pairs][lanes] of two codes, of which an instruction multiplies both and adds them: pairs
/// are two elements of a key, and a lane is a key; or pairs are two rows of values, and a lane is one of their elements.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/checked.hpp>
#include <tulle/model/attention_loop_128.hpp>
#include <tulle/tensor/isa.hpp>
#include <tulle/tensor/simd128.hpp>

namespace tulle::detail {

/// Sets of vectors compute this many lanes at once, or a part of it.
inline constexpr std::size_t lane_multiple = 16;

/// The codes of the weights of a query.
using TileCodes = std::array<std::int16_t, attention_tile>;

/// What codes of floats are to be multiplied by, and its inverse.
struct ScaleOfCodes {
  float scale = 0, inverse = 0;

  static constexpr float max_code = 32767;

  /// Of floats whose largest magnitude is `largest`. Where one is not finite the scale is NaN, and the codes are 0. So
  /// they are where all are below 1e-33, of which the inverse may be infinite.
  static ScaleOfCodes of(float largest) noexcept {
    const bool finite = largest <= std::numeric_limits<float>::max();
    return {finite ? largest * (1 / max_code) : std::numeric_limits<float>::quiet_NaN(),
            finite && largest >= 1e-33f ? max_code / largest : 0};
  }
};

/// codes[i] = x[i] * factors[i] / scale, rounded to nearest, ties to even; scale is the largest magnitude of a product
/// over 32767, and is returned. factors: null for 1. Requires: count is a multiple of lane_multiple.
inline float to_codes(isa::Scalar, const float* x, const float* factors, std::size_t count,
                      std::int16_t* codes) noexcept {
  const auto value = [&](std::size_t i) { return factors == nullptr ? x[i] : x[i] * factors[i]; };
  float largest = 0;
  for (std::size_t i = 0; i < count && !std::isnan(largest); ++i) {
    const float magnitude = std::fabs(value(i));
    if (!(magnitude <= largest)) largest = magnitude;  // also takes a NaN
  }
  const auto [scale, inverse] = ScaleOfCodes::of(largest);
  for (std::size_t i = 0; i < count; ++i) {
    const float code = inverse == 0 ? 0 : std::nearbyint(value(i) * inverse);
    codes[i] = static_cast<std::int16_t>(std::clamp(code, -ScaleOfCodes::max_code, ScaleOfCodes::max_code));
  }
  return scale;
}

/// pairs [size / 2][attention_tile] of the elements of keys [count][size]; an odd one is paired with 0. Requires:
/// count >= 1. Lanes behind the last key have any value.
inline void pair_keys(isa::Scalar, const std::int8_t* keys, std::size_t count, std::size_t size,
                      std::int16_t* pairs) noexcept {
  for (std::size_t d = 0; d < size; d += 2, pairs += 2 * attention_tile) {
    for (std::size_t i = 0; i < count; ++i) {
      pairs[2 * i] = keys[i * size + d];
      pairs[2 * i + 1] = d + 1 < size ? keys[i * size + d + 1] : std::int8_t{0};
    }
  }
}

/// pairs [count / 2][size] of the rows of values [count][size]; an odd one is paired with 0.
inline void pair_values(isa::Scalar, const std::int8_t* values, std::size_t count, std::size_t size,
                        std::int16_t* pairs) noexcept {
  for (std::size_t i = 0; i < count; i += 2, pairs += 2 * size) {
    for (std::size_t d = 0; d < size; ++d) {
      pairs[2 * d] = values[i * size + d];
      pairs[2 * d + 1] = i + 1 < count ? values[(i + 1) * size + d] : std::int8_t{0};
    }
  }
}

/// One factor of `multiply_pairs`: rows of codes, in pairs.
struct CodeRows {
  const std::int16_t* codes;
  std::size_t stride;  ///< codes from a row to the next
  const float* scales = nullptr;

  /// Both codes of a pair.
  std::int32_t pair(std::size_t row, std::size_t pair) const noexcept {
    std::int32_t both;
    std::memcpy(&both, codes + row * stride + 2 * pair, sizeof both);
    return both;
  }
};

/// The other: `count` pairs of `lanes` lanes, `stride` lanes apart.
struct PairLanes {
  const std::int16_t* pairs;
  std::size_t count, lanes, stride;

  const std::int16_t* at(std::size_t pair, std::size_t lane) const noexcept {
    return pairs + 2 * (pair * stride + lane);
  }
};

/// Memory that is read soon. It is fetched in the course of a product, little by little: much at once would stop the CPU's
/// loads.
struct Ahead {
  const void* from = nullptr;
  std::size_t bytes = 0;

  /// The part that belongs to `width` lanes from `lane` on of a product by `by`: where it begins, and the step of a pair.
  Ahead part(const PairLanes& by, std::size_t lane, std::size_t width) const noexcept {
    return {static_cast<const std::byte*>(from) + bytes * lane / by.lanes, bytes * width / by.lanes / by.count};
  }
  void fetch(std::size_t pair) const noexcept {
    constexpr std::size_t line = 64;
    for (std::size_t at = 0; at < bytes; at += line) {
      __builtin_prefetch(static_cast<const std::byte*>(from) + pair * bytes + at);
    }
  }
};

/// out[q][lane] = sum of the products of row q with the lane, for `rows` <= queries_at_once rows; with scales, the sum
/// times scales[q] is added to out[q][lane]. Requires, except here: lanes is a multiple of lane_multiple.
inline void multiply_pairs(isa::Scalar, const CodeRows& of, std::size_t rows, const PairLanes& by, float* const* out,
                           const Ahead&) noexcept {
  for (std::size_t q = 0; q < rows; ++q) {
    const std::int16_t* codes = of.codes + q * of.stride;
    for (std::size_t lane = 0; lane < by.lanes; ++lane) {
      std::int32_t sum = 0;
      for (std::size_t pair = 0; pair < by.count; ++pair) {
        const std::int16_t* both = by.at(pair, lane);
        sum += codes[2 * pair] * both[0] + codes[2 * pair + 1] * both[1];
      }
      const auto product = static_cast<float>(sum);
      out[q][lane] = of.scales == nullptr ? product : std::fma(of.scales[q], product, out[q][lane]);
    }
  }
}

#if defined(TULLE_X86)

TULLE_TARGET_SIMD128 inline float to_codes(isa::Simd128, const float* x, const float* factors, std::size_t count,
                                           std::int16_t* codes) noexcept {
  using namespace simd128;
  const auto value = [&](std::size_t i) TULLE_TARGET_SIMD128 {
    return factors == nullptr ? load4(x + i) : load4(x + i) * load4(factors + i);
  };
  I32x4 most{};  // magnitudes as integers: ordered like the floats, with NaN on top
  for (std::size_t i = 0; i < count; i += 4) {
    const I32x4 magnitude = (I32x4)value(i) & 0x7FFFFFFF;
    most = magnitude > most ? magnitude : most;
  }
  const std::int32_t bits = std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
  const auto [scale, inverse] = ScaleOfCodes::of(std::bit_cast<float>(bits));
  for (std::size_t i = 0; i < count; i += 8) {
    I32x4 whole[2]{};
    if (inverse != 0) {
      whole[0] = simd128::round(value(i) * splat(inverse));
      whole[1] = simd128::round(value(i + 4) * splat(inverse));
    }
    const auto low = (I16x8)whole[0], high = (I16x8)whole[1];  // each is within 16 bits
    store(codes + i, (I16x8)__builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14));
  }
  return scale;
}

/// 16 codes in pairs, widened, to `to`.
TULLE_INLINE_SIMD128 void store_wide(std::int16_t* to, simd128::I8x16 codes) noexcept {
  using namespace simd128;
  store(to, (I16x8)__builtin_shufflevector(codes, codes, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7) >> 8);
  store(to + 8,
        (I16x8)__builtin_shufflevector(codes, codes, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15) >> 8);
}

TULLE_TARGET_SIMD128 inline void pair_keys(isa::Simd128, const std::int8_t* keys, std::size_t count, std::size_t size,
                                           std::int16_t* pairs) noexcept {
  using namespace simd128;
  const std::size_t whole = size / 16 * 16;
  for (std::size_t i = 0; i < count; i += 8) {
    const std::int8_t* rows[8];  // a last group repeats its final row
    for (std::size_t k = 0; k < 8; ++k) rows[k] = keys + std::min(i + k, count - 1) * size;
    std::int16_t* to = pairs + 2 * i;
    for (std::size_t d = 0; d < whole; d += 16) {
      // 8 pairs of 8 keys: transposed in three steps.
      I16x8 a[8], b[8];
      TULLE_UNROLL
      for (std::size_t k = 0; k < 8; ++k) a[k] = load<I16x8>(rows[k] + d);
      TULLE_UNROLL
      for (std::size_t k = 0; k < 4; ++k) {
        b[2 * k] = __builtin_shufflevector(a[k], a[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        b[2 * k + 1] = __builtin_shufflevector(a[k], a[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
      }
      TULLE_UNROLL
      for (std::size_t k = 0; k < 4; ++k) {
        a[2 * k] = __builtin_shufflevector(b[k], b[k + 4], 0, 8, 1, 9, 2, 10, 3, 11);
        a[2 * k + 1] = __builtin_shufflevector(b[k], b[k + 4], 4, 12, 5, 13, 6, 14, 7, 15);
      }
      TULLE_UNROLL
      for (std::size_t k = 0; k < 4; ++k) {
        store_wide(to, (I8x16)__builtin_shufflevector(a[k], a[k + 4], 0, 8, 1, 9, 2, 10, 3, 11));
        to += 2 * attention_tile;
        store_wide(to, (I8x16)__builtin_shufflevector(a[k], a[k + 4], 4, 12, 5, 13, 6, 14, 7, 15));
        to += 2 * attention_tile;
      }
    }
    for (std::size_t d = whole; d < size; d += 2, to += 2 * attention_tile) {
      for (std::size_t k = 0; k < 8; ++k) {
        to[2 * k] = rows[k][d];
        to[2 * k + 1] = d + 1 < size ? rows[k][d + 1] : std::int8_t{0};
      }
    }
  }
}

TULLE_TARGET_SIMD128 inline void pair_values(isa::Simd128, const std::int8_t* values, std::size_t count,
                                             std::size_t size, std::int16_t* pairs) noexcept {
  using namespace simd128;
  const std::size_t whole = size / 16 * 16;
  for (std::size_t i = 0; i < count; i += 2, pairs += 2 * size) {
    const std::int8_t* row = values + i * size;
    const bool odd = i + 1 == count;
    for (std::size_t d = 0; d < whole; d += 16) {
      const I8x16 first = load<I8x16>(row + d), second = odd ? I8x16{} : load<I8x16>(row + size + d);
      store_wide(pairs + 2 * d,
                 __builtin_shufflevector(first, second, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
      store_wide(pairs + 2 * d + 16,
                 __builtin_shufflevector(first, second, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31));
    }
    for (std::size_t d = whole; d < size; ++d) {
      pairs[2 * d] = row[d];
      pairs[2 * d + 1] = odd ? std::int8_t{0} : row[size + d];
    }
  }
}

/// sums[i] += both products of pair i.
TULLE_INLINE_SIMD128 simd128::I32x4 add_pairs(simd128::I32x4 sums, simd128::I16x8 a, simd128::I16x8 b) noexcept {
  return sums + (simd128::I32x4)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

template <std::size_t Rows>
TULLE_TARGET_SIMD128 void multiply_pairs128(const CodeRows& of, const PairLanes& by, float* const* out,
                                            const Ahead& ahead) noexcept {
  using namespace simd128;
  constexpr std::size_t vectors = 2;
  for (std::size_t lane = 0; lane < by.lanes; lane += 4 * vectors) {
    I32x4 sums[Rows][vectors]{};
    const Ahead part = ahead.part(by, lane, 4 * vectors);
    for (std::size_t pair = 0; pair < by.count; ++pair) {
      part.fetch(pair);
      const std::int16_t* at = by.at(pair, lane);
      const I16x8 low = load<I16x8>(at), high = load<I16x8>(at + 8);
      TULLE_UNROLL
      for (std::size_t q = 0; q < Rows; ++q) {
        const auto codes = (I16x8)splat(of.pair(q, pair));
        sums[q][0] = add_pairs(sums[q][0], low, codes);
        sums[q][1] = add_pairs(sums[q][1], high, codes);
      }
    }
    TULLE_UNROLL
    for (std::size_t q = 0; q < Rows; ++q) {
      TULLE_UNROLL
      for (std::size_t v = 0; v < vectors; ++v) {
        float* to = out[q] + lane + 4 * v;
        const F32x4 product = as_floats(sums[q][v]);
        store(to, of.scales == nullptr ? product : multiply_add(splat(of.scales[q]), product, load4(to)));
      }
    }
  }
}

inline void multiply_pairs(isa::Simd128, const CodeRows& of, std::size_t rows, const PairLanes& by, float* const* out,
                           const Ahead& ahead) noexcept {
  with_count(rows, [&](auto count) { multiply_pairs128<count>(of, by, out, ahead); });
}

#endif

}  // namespace tulle::detail
