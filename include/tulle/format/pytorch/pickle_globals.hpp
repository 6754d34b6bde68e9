// SPDX-License-Identifier: Apache-2.0
/// \file The names that a pickle of a state dict may hold, and what they stand for (L3).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include <tulle/tensor/dtype.hpp>

namespace tulle::detail {

/// What a pickle of a state dict may name.
struct PickleGlobal {
  enum class Kind : std::uint8_t { tensor, tensor_of_bytes, parameter, dict, storage, bytes_storage, dtype };

  std::string_view module, name;
  Kind kind;
  DType dtype = DType::u8;
};

inline constexpr std::array pickle_globals{
    PickleGlobal{"torch._utils", "_rebuild_tensor_v2", PickleGlobal::Kind::tensor},
    PickleGlobal{"torch._utils", "_rebuild_tensor_v3", PickleGlobal::Kind::tensor_of_bytes},
    PickleGlobal{"torch._utils", "_rebuild_parameter", PickleGlobal::Kind::parameter},
    PickleGlobal{"collections", "OrderedDict", PickleGlobal::Kind::dict},
    PickleGlobal{"torch", "DoubleStorage", PickleGlobal::Kind::storage, DType::f64},
    PickleGlobal{"torch", "FloatStorage", PickleGlobal::Kind::storage, DType::f32},
    PickleGlobal{"torch", "HalfStorage", PickleGlobal::Kind::storage, DType::f16},
    PickleGlobal{"torch", "BFloat16Storage", PickleGlobal::Kind::storage, DType::bf16},
    PickleGlobal{"torch", "LongStorage", PickleGlobal::Kind::storage, DType::i64},
    PickleGlobal{"torch", "IntStorage", PickleGlobal::Kind::storage, DType::i32},
    PickleGlobal{"torch", "ShortStorage", PickleGlobal::Kind::storage, DType::i16},
    PickleGlobal{"torch", "CharStorage", PickleGlobal::Kind::storage, DType::i8},
    PickleGlobal{"torch", "ByteStorage", PickleGlobal::Kind::storage, DType::u8},
    PickleGlobal{"torch", "BoolStorage", PickleGlobal::Kind::storage, DType::boolean},
    PickleGlobal{"torch.storage", "UntypedStorage", PickleGlobal::Kind::bytes_storage, DType::u8},
    PickleGlobal{"torch", "float32", PickleGlobal::Kind::dtype, DType::f32},
    PickleGlobal{"torch", "float16", PickleGlobal::Kind::dtype, DType::f16},
    PickleGlobal{"torch", "bfloat16", PickleGlobal::Kind::dtype, DType::bf16}};

/// nullptr for every other name.
constexpr const PickleGlobal* find_pickle_global(std::string_view module, std::string_view name) noexcept {
  for (const PickleGlobal& global : pickle_globals) {
    if (global.module == module && global.name == name) return &global;
  }
  return nullptr;
}

}  // namespace tulle::detail
