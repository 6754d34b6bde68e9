// SPDX-License-Identifier: Apache-2.0
/// \file The only include of xtensor: tensors at the public edge (L1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <xtensor/xtensor.hpp>

namespace tulle {

/// A matrix that owns its elements, row-major.
using FloatMatrix = xt::xtensor<float, 2>;

/// An uninitialised matrix [rows, columns].
inline FloatMatrix float_matrix(std::size_t rows, std::size_t columns) {
  return FloatMatrix(std::array<std::size_t, 2>{rows, columns});
}

/// Copies `values` [columns] into row `row`.
inline void set_row(FloatMatrix& matrix, std::size_t row, std::span<const float> values) {
  std::copy(values.begin(), values.end(), matrix.data() + row * matrix.shape(1));
}

}  // namespace tulle
