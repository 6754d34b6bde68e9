// SPDX-License-Identifier: Apache-2.0
/// \file Element types of tensors as files hold them, and how many bytes they take (L1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>

namespace tulle {

/// Plain elements, and every type of block that ggml has (elements that share their scales; layouts in ggml-common.h).
/// The table of encodings (format/encoding/encodings.hpp) lists those that are read as weights.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u8,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q8_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  q8_k,
  iq2_xxs,
  iq2_xs,
  iq3_xxs,
  iq1_s,
  iq4_nl,
  iq3_s,
  iq2_s,
  iq4_xs,
  iq1_m,
  tq1_0,
  tq2_0,
  mxfp4,
  nvfp4,
  q1_0,
  f8_e4m3,
  f8_e5m2
};

struct DTypeInfo {
  std::string_view name;
  std::size_t block_elements;  ///< elements in one block; 1 for plain types
  std::size_t block_bytes;
  std::uint32_t ggml_type;  ///< its number in GGUF files (ggml.h, enum ggml_type), or `no_ggml_type`
};

inline constexpr std::uint32_t no_ggml_type = 0xFFFFFFFF;

/// In the order of `DType`.
inline constexpr std::array<DTypeInfo, 38> dtype_infos{{{"F64", 1, 8, 28},
                                                        {"F32", 1, 4, 0},
                                                        {"F16", 1, 2, 1},
                                                        {"BF16", 1, 2, 30},
                                                        {"I64", 1, 8, 27},
                                                        {"I32", 1, 4, 26},
                                                        {"I16", 1, 2, 25},
                                                        {"I8", 1, 1, 24},
                                                        {"U8", 1, 1, no_ggml_type},
                                                        {"BOOL", 1, 1, no_ggml_type},
                                                        {"Q4_0", 32, 18, 2},
                                                        {"Q4_1", 32, 20, 3},
                                                        {"Q5_0", 32, 22, 6},
                                                        {"Q5_1", 32, 24, 7},
                                                        {"Q8_0", 32, 34, 8},
                                                        {"Q8_1", 32, 40, 9},
                                                        {"Q2_K", 256, 84, 10},
                                                        {"Q3_K", 256, 110, 11},
                                                        {"Q4_K", 256, 144, 12},
                                                        {"Q5_K", 256, 176, 13},
                                                        {"Q6_K", 256, 210, 14},
                                                        {"Q8_K", 256, 292, 15},
                                                        {"IQ2_XXS", 256, 66, 16},
                                                        {"IQ2_XS", 256, 74, 17},
                                                        {"IQ3_XXS", 256, 98, 18},
                                                        {"IQ1_S", 256, 50, 19},
                                                        {"IQ4_NL", 32, 18, 20},
                                                        {"IQ3_S", 256, 110, 21},
                                                        {"IQ2_S", 256, 82, 22},
                                                        {"IQ4_XS", 256, 136, 23},
                                                        {"IQ1_M", 256, 56, 29},
                                                        {"TQ1_0", 256, 54, 34},
                                                        {"TQ2_0", 256, 66, 35},
                                                        {"MXFP4", 32, 17, 39},
                                                        {"NVFP4", 64, 36, 40},
                                                        {"Q1_0", 128, 18, 41},
                                                        {"F8_E4M3", 1, 1, no_ggml_type},
                                                        {"F8_E5M2", 1, 1, no_ggml_type}}};

constexpr const DTypeInfo& dtype_info(DType dtype) noexcept {
  return dtype_infos[static_cast<std::size_t>(dtype)];
}

constexpr std::string_view dtype_name(DType dtype) noexcept {
  return dtype_info(dtype).name;
}

/// The type with that number in GGUF files, or nothing for a number that ggml removed or that is newer than this table.
constexpr std::optional<DType> ggml_dtype(std::uint32_t ggml_type) noexcept {
  for (std::size_t i = 0; i < dtype_infos.size() && ggml_type != no_ggml_type; ++i) {
    if (dtype_infos[i].ggml_type == ggml_type) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// Bytes of `elements` consecutive elements.
/// Errors: malformed when they are no whole number of blocks or too many; `what` names the tensor.
inline std::size_t dtype_bytes(DType dtype, std::size_t elements, std::string_view what) {
  const DTypeInfo& info = dtype_info(dtype);
  if (elements % info.block_elements != 0) {
    fail(ErrorCode::malformed, what, ": ", elements, " elements are no whole number of ", info.name, " blocks of ",
         info.block_elements);
  }
  return checked_multiply(elements / info.block_elements, info.block_bytes, what);
}

}  // namespace tulle
