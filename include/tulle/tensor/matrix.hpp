// SPDX-License-Identifier: Apache-2.0
/// \file A row-major matrix that owns its elements (L1).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <tulle/tensor/matrix_view.hpp>

namespace tulle {

/// rows x columns floats; row r begins at r * columns. <tulle/tensor/xtensor.hpp> adapts it for users of xtensor.
struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values;  ///< [rows, columns]

  Matrix() = default;
  /// All zeros.
  Matrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), values(row_count * column_count) {}

  float* operator[](std::size_t row) noexcept { return values.data() + row * columns; }
  const float* operator[](std::size_t row) const noexcept { return values.data() + row * columns; }
  std::span<float> row(std::size_t index) noexcept { return {(*this)[index], columns}; }
  std::span<const float> row(std::size_t index) const noexcept { return {(*this)[index], columns}; }
  MatrixView<float> view() noexcept { return {values.data(), rows, columns}; }
  MatrixView<const float> view() const noexcept { return {values.data(), rows, columns}; }
};

}  // namespace tulle
