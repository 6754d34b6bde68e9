// SPDX-License-Identifier: Apache-2.0
/// \file Rows of elements that each are a number: floats, and integers without scales (L3).
#pragma once

#include <cstddef>

#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

namespace detail {

template <DType Type>
void decode_plain_row(const std::byte* row, std::size_t columns, float* out) noexcept {
  decode_floats(Type, row, columns, out);
}

template <DType Type>
inline constexpr RowEncoding plain_rows{
    Type, {.floats = is_float_dtype(Type) ? Type : DType::f32}, {}, decode_plain_row<Type>};

}  // namespace detail

inline constexpr const RowEncoding& f32_rows = detail::plain_rows<DType::f32>;
inline constexpr const RowEncoding& f16_rows = detail::plain_rows<DType::f16>;
inline constexpr const RowEncoding& bf16_rows = detail::plain_rows<DType::bf16>;
inline constexpr const RowEncoding& f64_rows = detail::plain_rows<DType::f64>;
inline constexpr const RowEncoding& i64_rows = detail::plain_rows<DType::i64>;
inline constexpr const RowEncoding& i32_rows = detail::plain_rows<DType::i32>;
inline constexpr const RowEncoding& i16_rows = detail::plain_rows<DType::i16>;

}  // namespace tulle
