// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/linear_algebra.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <tulle/tensor/matrix.hpp>
#include <vector>

using namespace tulle;
using Catch::Matchers::WithinAbs;

TEST_CASE("Products, transposed or not, of parts of matrices") {
  prepare_blas();
  const std::vector<double> a{1, 2, 3, 4, 5, 6}, b{1, 0, 2, 1, 1, 1};
  std::vector<double> c(4, 1);
  multiply_matrices<double>({a.data(), 2, 3}, Transposed::no, {b.data(), 3, 2}, Transposed::no, 1, 1, {c.data(), 2, 2});
  CHECK(c == std::vector<double>{9, 6, 21, 12});
  multiply_matrices<double>({a.data(), 2, 3}, Transposed::no, {b.data(), 2, 3}, Transposed::yes, 1, 0,
                            {c.data(), 2, 2});
  CHECK(c == std::vector<double>{7, 6, 16, 15});
  multiply_matrices<double>({a.data(), 2, 2, 3}, Transposed::yes, {b.data(), 2, 2, 3}, Transposed::no, 2, 0,
                            {c.data(), 2, 2});
  CHECK(c == std::vector<double>{10, 8, 14, 10});
}

TEST_CASE("A Cholesky factor, the inverse and solutions; a matrix that is not positive definite has none") {
  prepare_blas();
  const BasicMatrix<double> matrix = [] {
    BasicMatrix<double> made(3, 3);
    made.values = {4, 1, 0, 1, 3, 1, 0, 1, 2};
    return made;
  }();
  BasicMatrix<double> factor = matrix;
  REQUIRE(factor_cholesky(factor.view()));
  CHECK_THAT(factor.values[0], WithinAbs(2, 1e-12));
  CHECK_THAT(factor.values[3], WithinAbs(0.5, 1e-12));
  BasicMatrix<double> inverse = factor, x(1, 3);
  invert_factored(inverse.view());
  x.values = {1, 2, 3};
  solve_factored<double>(factor.view(), x.view());
  for (std::size_t i = 0; i < 3; ++i) {
    double product = 0;
    for (std::size_t j = 0; j < 3; ++j) product += matrix.values[i * 3 + j] * x.values[j];
    CHECK_THAT(product, WithinAbs(static_cast<double>(i + 1), 1e-12));
    for (std::size_t k = 0; k < 3; ++k) {
      double sum = 0;
      for (std::size_t j = 0; j < 3; ++j) sum += matrix.values[i * 3 + j] * inverse.values[j * 3 + k];
      CHECK_THAT(sum, WithinAbs(i == k ? 1 : 0, 1e-12));
    }
  }
  BasicMatrix<double> indefinite(2, 2);
  indefinite.values = {1, 2, 2, 1};
  CHECK(!factor_cholesky(indefinite.view()));
}

TEST_CASE("The median is the lower one of the middle") {
  CHECK(median<float>(std::vector<float>{3, 1, 2}) == 2);
  CHECK(median<float>(std::vector<float>{4, 1, 3, 2}) == 2);
  CHECK(median<float>({}) == 0);
}
