// SPDX-License-Identifier: Apache-2.0
/// \file The numbers by which GGUF files name types of metadata values (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tulle {

/// Types of metadata values (ggml's gguf.h).
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// Bytes of one value; 0 for strings and arrays, whose size varies, and for unknown types.
constexpr std::size_t gguf_type_bytes(GgufType type) noexcept {
  constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const auto index = static_cast<std::size_t>(type);
  return index < sizes.size() ? sizes[index] : 0;
}

}  // namespace tulle
