// SPDX-License-Identifier: Apache-2.0
/// \file The element types of a cache, and the conversion of a row of floats to them (L2).
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include <tulle/core/half.hpp>
#include <tulle/tensor/ops.hpp>

namespace tulle {

template <class E>
concept CacheElement = std::same_as<E, float> || std::same_as<E, Half> || std::same_as<E, std::int8_t>;

/// An int8 row of a head needs one scale to be read back; the other elements are their own values.
template <CacheElement Element>
inline constexpr bool has_row_scale = std::same_as<Element, std::int8_t>;

/// Stores one row of a head and returns what its elements are to be multiplied by. Shapes: row [count], encoded
/// [count].
inline float encode_row(const float* row, std::size_t count, float* encoded) noexcept {
  std::memcpy(encoded, row, count * sizeof(float));
  return 1;
}

/// Rounds to nearest, ties to even; beyond 65504 becomes infinity.
inline float encode_row(const float* row, std::size_t count, Half* encoded) noexcept {
  to_halves(row, count, encoded);
  return 1;
}

/// Symmetric: scale = max|x| / 127, element = x / scale rounded to nearest, ties to even. A row of zeros has scale 0.
/// A row with an infinity or a NaN has scale NaN and elements 0: attention then gives NaN, as it does with floats.
inline float encode_row(const float* row, std::size_t count, std::int8_t* encoded) noexcept {
  float scale_there = 0;
  if (detail::on_avx2([&](auto ops) { scale_there = ops.to_bytes(row, count, encoded); })) return scale_there;
  // Without their sign bit, floats order as their bits do, and everything that is not finite comes last.
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::bit_cast<std::int32_t>(row[i]) & std::int32_t{0x7FFFFFFF});
  }
  const bool finite = largest < 0x7F800000;
  const float scale = finite ? std::bit_cast<float>(largest) / 127.0f : std::numeric_limits<float>::quiet_NaN();
  if (!finite || scale == 0) {
    std::memset(encoded, 0, count);
    return scale;
  }
  constexpr float rounder = 0x1.8p23f;  // the unit of a sum near it is 1, so the addition itself rounds to even
  for (std::size_t i = 0; i < count; ++i) {
    const float quotient = row[i] / scale;  // beyond 127 only where a subnormal scale was rounded
    const float clamped = std::min(std::max(quotient, -127.0f), 127.0f);
    encoded[i] =
        static_cast<std::int8_t>(std::bit_cast<std::int32_t>(clamped + rounder) - std::bit_cast<std::int32_t>(rounder));
  }
  return scale;
}

}  // namespace tulle
