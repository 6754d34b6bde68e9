// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/matrix_view.hpp>

#include <type_traits>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("rows lie a stride apart", "[tensor][matrix_view]") {
  int values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const MatrixView<int> wide(values, 3, 4), narrow(values + 1, 3, 2, 4);
  CHECK(wide.stride == 4);
  CHECK(wide[2][3] == 11);
  CHECK(narrow[2][1] == 10);
  CHECK(narrow.row(1).size() == 2);
  CHECK(narrow.row(1).front() == 5);
  narrow[0][0] = -1;
  CHECK(values[1] == -1);
}

TEST_CASE("a mutable view becomes a constant one, not the other way", "[tensor][matrix_view]") {
  float values[6] = {1, 2, 3, 4, 5, 6};
  const MatrixView<const float> view = MatrixView<float>(values, 2, 2, 3);
  CHECK(view.rows == 2);
  CHECK(view.columns == 2);
  CHECK(view.stride == 3);
  CHECK(view[1][0] == 4);
  STATIC_CHECK_FALSE(std::is_convertible_v<MatrixView<const float>, MatrixView<float>>);
}

TEST_CASE("a view of nothing is empty", "[tensor][matrix_view]") {
  const MatrixView<float> view;
  CHECK(view.data == nullptr);
  CHECK(view.rows == 0);
  CHECK(view.columns == 0);
}
