// SPDX-License-Identifier: Apache-2.0
/// \file Rows of elements that each are a number: floats, and integers without scales (L3).
#pragma once

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

inline constexpr RowEncoding f32_rows{DType::f32, {.floats = DType::f32}};
inline constexpr RowEncoding f16_rows{DType::f16, {.floats = DType::f16}};
inline constexpr RowEncoding bf16_rows{DType::bf16, {.floats = DType::bf16}};

// Rounded to F32.
inline constexpr RowEncoding f64_rows{DType::f64, {.floats = DType::f32}};
inline constexpr RowEncoding i64_rows{DType::i64, {.floats = DType::f32}};
inline constexpr RowEncoding i32_rows{DType::i32, {.floats = DType::f32}};
inline constexpr RowEncoding i16_rows{DType::i16, {.floats = DType::f32}};  // exactly

}  // namespace tulle
