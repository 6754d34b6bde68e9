// SPDX-License-Identifier: Apache-2.0
/// \file A non-owning view of a row-major matrix (L1).
#pragma once

#include <cstddef>
#include <span>

namespace tulle {

/// rows x columns elements; row r begins at data + r * stride. Lifetime: that of the data.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t stride = 0;

  MatrixView() = default;
  MatrixView(T* first, std::size_t row_count, std::size_t column_count, std::size_t row_stride) noexcept
      : data(first), rows(row_count), columns(column_count), stride(row_stride) {}
  MatrixView(T* first, std::size_t row_count, std::size_t column_count) noexcept
      : MatrixView(first, row_count, column_count, column_count) {}

  /// A view of mutable elements is a view of constant ones.
  // NOLINTNEXTLINE(google-explicit-constructor): as a span of mutable elements is one of constant ones
  operator MatrixView<const T>() const noexcept { return {data, rows, columns, stride}; }

  T* operator[](std::size_t row) const noexcept { return data + row * stride; }
  std::span<T> row(std::size_t index) const noexcept { return {data + index * stride, columns}; }
};

}  // namespace tulle
