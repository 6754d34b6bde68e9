// SPDX-License-Identifier: Apache-2.0
/// \file Element types of tensors as files hold them, and how many bytes they take (L1).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <tulle/core/checked.hpp>
#include <tulle/core/error.hpp>

namespace tulle {

/// Plain elements, and GGUF blocks (32 or 256 elements that share their scales; layouts in ggml's ggml-common.h).
enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean, q8_0, q4_0, q4_1, q6_k };

struct DTypeInfo {
  std::string_view name;
  std::size_t block_elements;  ///< elements in one block; 1 for plain types
  std::size_t block_bytes;
};

constexpr DTypeInfo dtype_info(DType dtype) noexcept {
  constexpr std::array<DTypeInfo, 14> infos{{{"F64", 1, 8},
                                             {"F32", 1, 4},
                                             {"F16", 1, 2},
                                             {"BF16", 1, 2},
                                             {"I64", 1, 8},
                                             {"I32", 1, 4},
                                             {"I16", 1, 2},
                                             {"I8", 1, 1},
                                             {"U8", 1, 1},
                                             {"BOOL", 1, 1},
                                             {"Q8_0", 32, 34},
                                             {"Q4_0", 32, 18},
                                             {"Q4_1", 32, 20},
                                             {"Q6_K", 256, 210}}};
  return infos[static_cast<std::size_t>(dtype)];
}

constexpr std::string_view dtype_name(DType dtype) noexcept {
  return dtype_info(dtype).name;
}

/// True for the types that `decode_elements` turns into floats.
constexpr bool is_weight_dtype(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::i8:
    case DType::q8_0:
    case DType::q4_0:
    case DType::q4_1:
    case DType::q6_k: return true;
    default: return false;
  }
}

/// Bytes of `elements` consecutive elements.
/// Errors: malformed when they are no whole number of blocks or too many; `what` names the tensor.
inline std::size_t dtype_bytes(DType dtype, std::size_t elements, std::string_view what) {
  const DTypeInfo info = dtype_info(dtype);
  if (elements % info.block_elements != 0) {
    fail(ErrorCode::malformed, what, ": ", elements, " elements are no whole number of ", info.name, " blocks of ",
         info.block_elements);
  }
  return checked_multiply(elements / info.block_elements, info.block_bytes, what);
}

}  // namespace tulle
