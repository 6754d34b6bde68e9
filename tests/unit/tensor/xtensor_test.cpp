// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/xtensor.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

using namespace tulle;

TEST_CASE("a matrix has the shape it was asked for and lies row by row", "[tensor][xtensor]") {
  FloatMatrix matrix = float_matrix(3, 4);
  CHECK(matrix.shape(0) == 3);
  CHECK(matrix.shape(1) == 4);
  for (std::size_t row = 0; row < 3; ++row) {
    const auto first = static_cast<float>(10 * row);
    set_row(matrix, row, std::vector<float>{first, first + 1, first + 2, first + 3});
  }
  CHECK(matrix(1, 2) == 12);
  CHECK(matrix(2, 3) == 23);
  CHECK(matrix.data()[4] == 10);
}

TEST_CASE("a matrix may have no rows", "[tensor][xtensor]") {
  CHECK(float_matrix(0, 0).size() == 0);
}
