// SPDX-License-Identifier: Apache-2.0
/// \file 16-bit floating-point numbers: storage types with exact conversions (L0).
#pragma once

#include <bit>
#include <cstdint>

namespace tulle {

/// IEEE 754 binary16, kept as its bits.
struct Half {
  std::uint16_t bits = 0;
};

/// The upper half of an IEEE 754 binary32, kept as its bits.
struct BFloat16 {
  std::uint16_t bits = 0;
};

/// Exact: every binary16 value is a binary32 value. NaN payloads are kept.
constexpr float to_float(Half value) noexcept {
  const std::uint32_t sign = std::uint32_t{value.bits & 0x8000u} << 16;
  const std::uint32_t exponent = (value.bits >> 10) & 31u;
  const std::uint32_t fraction = value.bits & 0x3FFu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  // Subnormal: fraction * 2^-24, exact in binary32.
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}

/// Exact.
constexpr float to_float(BFloat16 value) noexcept {
  return std::bit_cast<float>(std::uint32_t{value.bits} << 16);
}

constexpr float to_float(float value) noexcept {
  return value;
}

/// Round to nearest, ties to even; too large becomes infinity; NaN stays a quiet NaN.
constexpr Half to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint16_t sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {
    return {static_cast<std::uint16_t>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu))};
  }
  if (magnitude >= 0x477FF000u) return {static_cast<std::uint16_t>(sign | 0x7C00u)};  // rounds to 65536 or more
  if (magnitude < 0x38800000u) {                                                      // below 2^-14: subnormal or zero
    // Adding 0.5 places the unit of the sum at 2^-24, so the addition itself rounds to even.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return {static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(rounded) - 0x3F000000u))};
  }
  const std::uint32_t even = (magnitude >> 13) & 1u;
  return {static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000u + 0xFFFu + even) >> 13))};
}

/// Round to nearest, ties to even; NaN stays a quiet NaN.
constexpr BFloat16 to_bfloat16(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

}  // namespace tulle
