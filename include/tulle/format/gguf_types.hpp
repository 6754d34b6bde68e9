// SPDX-License-Identifier: Apache-2.0
/// \file The numbers by which GGUF files name types of metadata values and of tensors (L3).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <tulle/tensor/dtype.hpp>

namespace tulle {

/// Types of metadata values (ggml's gguf.h).
enum class GgufType : std::uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, string, array, u64, i64, f64 };

/// Bytes of one value; 0 for strings and arrays, whose size varies, and for unknown types.
constexpr std::size_t gguf_type_bytes(GgufType type) noexcept {
  constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  const auto index = static_cast<std::size_t>(type);
  return index < sizes.size() ? sizes[index] : 0;
}

/// The element type with ggml's number `id` (ggml.h, enum ggml_type), where this library reads it.
constexpr std::optional<DType> ggml_dtype(std::uint32_t id) noexcept {
  switch (id) {
    case 0: return DType::f32;
    case 1: return DType::f16;
    case 2: return DType::q4_0;
    case 3: return DType::q4_1;
    case 8: return DType::q8_0;
    case 14: return DType::q6_k;
    case 24: return DType::i8;
    case 25: return DType::i16;
    case 26: return DType::i32;
    case 27: return DType::i64;
    case 28: return DType::f64;
    case 30: return DType::bf16;
    default: return std::nullopt;
  }
}

/// ggml's name of a type that this library does not read; "" where ggml has none (removed or newer than this table).
constexpr std::string_view unread_ggml_type_name(std::uint32_t id) noexcept {
  switch (id) {
    case 6: return "Q5_0";
    case 7: return "Q5_1";
    case 9: return "Q8_1";
    case 10: return "Q2_K";
    case 11: return "Q3_K";
    case 12: return "Q4_K";
    case 13: return "Q5_K";
    case 15: return "Q8_K";
    case 16: return "IQ2_XXS";
    case 17: return "IQ2_XS";
    case 18: return "IQ3_XXS";
    case 19: return "IQ1_S";
    case 20: return "IQ4_NL";
    case 21: return "IQ3_S";
    case 22: return "IQ2_S";
    case 23: return "IQ4_XS";
    case 29: return "IQ1_M";
    case 34: return "TQ1_0";
    case 35: return "TQ2_0";
    case 39: return "MXFP4";
    case 40: return "NVFP4";
    case 41: return "Q1_0";
    case 42: return "Q2_0";
    default: return "";
  }
}

}  // namespace tulle
