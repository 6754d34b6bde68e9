// SPDX-License-Identifier: Apache-2.0
/// \file Numbers of files as floats (L1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/core/half.hpp>
#include <tulle/tensor/dtype.hpp>

namespace tulle {

constexpr bool is_float_dtype(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16;
}

/// Bytes of a file, which may lie at any address, as a T.
template <class T>
T load_unaligned(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

inline float load_half(const std::byte* bytes) noexcept {
  return to_float(load_unaligned<Half>(bytes));
}

/// Whether an element is a number by itself: no part of a block, no truth value.
constexpr bool is_number_dtype(DType dtype) noexcept {
  return dtype <= DType::u8;
}

/// `count` elements of such a type; exactly, but those of F64, I64 and I32 are rounded. out [count].
inline void decode_floats(DType dtype, const std::byte* bytes, std::size_t count, float* out) noexcept {
  const auto decode = [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(load_unaligned<T>(bytes + i * sizeof(T)));
  };
  switch (dtype) {
    case DType::f32: std::memcpy(out, bytes, count * sizeof(float)); return;
    case DType::bf16:
      for (std::size_t i = 0; i < count; ++i) out[i] = to_float(load_unaligned<BFloat16>(bytes + 2 * i));
      return;
    case DType::f64: return decode(double{});
    case DType::i64: return decode(std::int64_t{});
    case DType::i32: return decode(std::int32_t{});
    case DType::i16: return decode(std::int16_t{});
    case DType::i8: return decode(std::int8_t{});
    case DType::u8: return decode(std::uint8_t{});
    default:
      for (std::size_t i = 0; i < count; ++i) out[i] = load_half(bytes + 2 * i);
  }
}

}  // namespace tulle
