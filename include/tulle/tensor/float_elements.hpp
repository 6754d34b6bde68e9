// SPDX-License-Identifier: Apache-2.0
/// \file Floating-point elements of files as floats (L1).
#pragma once

#include <cstddef>
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

/// `count` elements of F32, F16 or BF16 (`is_float_dtype`), exactly. out [count].
inline void decode_floats(DType dtype, const std::byte* bytes, std::size_t count, float* out) noexcept {
  if (dtype == DType::f32) {
    std::memcpy(out, bytes, count * sizeof(float));
  } else if (dtype == DType::f16) {
    for (std::size_t i = 0; i < count; ++i) out[i] = load_half(bytes + 2 * i);
  } else {
    for (std::size_t i = 0; i < count; ++i) out[i] = to_float(load_unaligned<BFloat16>(bytes + 2 * i));
  }
}

}  // namespace tulle
