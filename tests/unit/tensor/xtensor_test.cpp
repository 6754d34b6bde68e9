// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/xtensor.hpp>

#include <catch2/catch_all.hpp>
#include <utility>

using namespace tulle;

TEST_CASE("xtensor reads and writes the elements of a matrix in place", "[tensor][xtensor]") {
  Matrix matrix(3, 4);
  auto tensor = as_xtensor(matrix);
  CHECK(tensor.dimension() == 2);
  CHECK(tensor.shape(0) == 3);
  CHECK(tensor.shape(1) == 4);
  tensor(1, 2) = 12;
  CHECK(matrix[1][2] == 12.0f);
  matrix[2][3] = 23;
  CHECK(as_xtensor(std::as_const(matrix))(2, 3) == 23.0f);
}

TEST_CASE("an expression of xtensor becomes a matrix", "[tensor][xtensor]") {
  Matrix matrix(2, 3);
  for (std::size_t i = 0; i < matrix.values.size(); ++i) matrix.values[i] = static_cast<float>(i);
  const xt::xtensor<float, 2> owned = as_xtensor(matrix);
  CHECK(to_matrix(owned).values == matrix.values);
  const Matrix doubled = to_matrix(2 * owned);
  CHECK(doubled.rows == 2);
  CHECK(doubled.columns == 3);
  CHECK(doubled[1][2] == 10.0f);
}

TEST_CASE("a matrix may have no rows", "[tensor][xtensor]") {
  const Matrix nothing;
  CHECK(as_xtensor(nothing).size() == 0);
  CHECK(to_matrix(xt::xtensor<float, 2>::from_shape({0, 5})).columns == 5);
}
