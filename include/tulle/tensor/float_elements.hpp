// SPDX-License-Identifier: Apache-2.0
/// \file Numbers of files as floats (L1).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/core/half.hpp>
#include <tulle/tensor/dtype.hpp>

namespace tulle {

constexpr bool is_float_dtype(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

constexpr bool is_f8_dtype(DType dtype) noexcept {
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2;
}

/// Bytes of a file, which may lie at any address, as a T.
template <class T>
T load_unaligned(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

/// Floats of 8 bits (OCP 8-bit Floating Point Specification, 2023). E4M3: no infinity, NaN where all other bits are 1.
constexpr float to_float_e4m3(std::uint8_t bits) noexcept {
  const auto sign = std::uint32_t{bits & 0x80u} << 24;
  const std::uint32_t magnitude = bits & 0x7Fu;
  if (magnitude == 0x7F) return std::bit_cast<float>(sign | 0x7FC00000u);
  if (magnitude >= 8) return std::bit_cast<float>(sign | ((magnitude + (120u << 3)) << 20));
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * 0x1p-9f));
}

/// E5M2: the upper half of a binary16.
constexpr float to_float_e5m2(std::uint8_t bits) noexcept {
  return to_float(Half{static_cast<std::uint16_t>(bits << 8)});
}

inline float load_half(const std::byte* bytes) noexcept {
  return to_float(load_unaligned<Half>(bytes));
}

/// Whether an element is a number by itself: no part of a block, no truth value.
constexpr bool is_number_dtype(DType dtype) noexcept {
  return dtype <= DType::u8 || is_f8_dtype(dtype);
}

/// An element of F64, of 8-bit floats or of integers, rounded to the nearest float.
inline float load_number(DType dtype, const std::byte* bytes) noexcept {
  switch (dtype) {
    case DType::f64: return static_cast<float>(load_unaligned<double>(bytes));
    case DType::i64: return static_cast<float>(load_unaligned<std::int64_t>(bytes));
    case DType::i32: return static_cast<float>(load_unaligned<std::int32_t>(bytes));
    case DType::i16: return static_cast<float>(load_unaligned<std::int16_t>(bytes));
    case DType::f8_e4m3: return to_float_e4m3(load_unaligned<std::uint8_t>(bytes));
    case DType::f8_e5m2: return to_float_e5m2(load_unaligned<std::uint8_t>(bytes));
    case DType::i8: return static_cast<float>(load_unaligned<std::int8_t>(bytes));
    default: return static_cast<float>(load_unaligned<std::uint8_t>(bytes));
  }
}

/// `count` elements of a type for which `is_number_dtype`; F32, F16 and BF16 exactly. out [count].
inline void decode_floats(DType dtype, const std::byte* bytes, std::size_t count, float* out) noexcept {
  if (dtype == DType::f32) {
    if (count != 0) std::memcpy(out, bytes, count * sizeof(float));
  } else if (dtype == DType::f16) {
    for (std::size_t i = 0; i < count; ++i) out[i] = load_half(bytes + 2 * i);
  } else if (dtype == DType::bf16) {
    for (std::size_t i = 0; i < count; ++i) out[i] = to_float(load_unaligned<BFloat16>(bytes + 2 * i));
  } else {
    const std::size_t size = dtype_info(dtype).block_bytes;
    for (std::size_t i = 0; i < count; ++i) out[i] = load_number(dtype, bytes + size * i);
  }
}

}  // namespace tulle
