// SPDX-License-Identifier: Apache-2.0
/// \file The only include of xtensor: adapts matrices for those who use it; no other header of ours includes it (L1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <xtensor/xadapt.hpp>
#include <xtensor/xtensor.hpp>

#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// The elements of `matrix` as an expression of xtensor [rows, columns], without a copy. Lifetime: that of the matrix.
inline auto as_xtensor(Matrix& matrix) {
  return xt::adapt(matrix.values.data(), matrix.values.size(), xt::no_ownership(),
                   std::array<std::size_t, 2>{matrix.rows, matrix.columns});
}
inline auto as_xtensor(const Matrix& matrix) {
  return xt::adapt(matrix.values.data(), matrix.values.size(), xt::no_ownership(),
                   std::array<std::size_t, 2>{matrix.rows, matrix.columns});
}

/// A copy of a two-dimensional expression.
template <class Expression>
Matrix to_matrix(const xt::xexpression<Expression>& expression) {
  const auto& source = expression.derived_cast();
  Matrix matrix(source.shape()[0], source.shape()[1]);
  as_xtensor(matrix) = source;
  return matrix;
}

}  // namespace tulle
