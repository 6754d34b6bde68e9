// SPDX-License-Identifier: Apache-2.0
/// \file A row-major matrix that owns its elements (L1).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tulle/tensor/matrix_view.hpp>

namespace tulle {

/// rows x columns values; row r begins at r * columns. <tulle/tensor/xtensor.hpp> adapts it for users of xtensor.
template <class T>
struct BasicMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<T> values;  ///< [rows, columns]

  BasicMatrix() = default;
  /// All zeros.
  BasicMatrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}

  T* operator[](std::size_t row) noexcept { return values.data() + row * columns; }
  const T* operator[](std::size_t row) const noexcept { return values.data() + row * columns; }
  std::span<T> row(std::size_t index) noexcept { return {(*this)[index], columns}; }
  std::span<const T> row(std::size_t index) const noexcept { return {(*this)[index], columns}; }
  MatrixView<T> view() noexcept { return {values.data(), rows, columns}; }
  MatrixView<const T> view() const noexcept { return {values.data(), rows, columns}; }
};

using Matrix = BasicMatrix<float>;

}  // namespace tulle
