// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/matrix.hpp>

#include <catch2/catch_all.hpp>
#include <utility>

using namespace tulle;

TEST_CASE("a matrix has the shape that it was made with, is zero and lies row by row", "[tensor][matrix]") {
  Matrix matrix(3, 4);
  CHECK(matrix.rows == 3);
  CHECK(matrix.columns == 4);
  CHECK(matrix.values == std::vector<float>(12));
  matrix[1][2] = 5;
  matrix.row(2).back() = 7;
  CHECK(matrix.values[6] == 5.0f);
  CHECK(matrix.values[11] == 7.0f);
  CHECK(std::as_const(matrix).row(1).size() == 4);
  CHECK(std::as_const(matrix)[1][2] == 5.0f);
}

TEST_CASE("a view of a matrix sees its rows", "[tensor][matrix]") {
  Matrix matrix(2, 3);
  matrix.view()[1][0] = 4;
  const MatrixView<const float> view = std::as_const(matrix).view();
  CHECK(view.rows == 2);
  CHECK(view.columns == 3);
  CHECK(view[1][0] == 4.0f);
}

TEST_CASE("a matrix of nothing has no elements", "[tensor][matrix]") {
  CHECK(Matrix().values.empty());
  CHECK(Matrix(0, 7).values.empty());
  CHECK(Matrix(0, 7).columns == 7);
}
