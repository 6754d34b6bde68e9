// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/dense_float_loop.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>

using namespace tulle;

TEST_CASE("the float loop adds the columns of a row in order, by fma, and leaves padding rows out", "[kernel][dense_float_loop]") {
  constexpr std::size_t columns = 37, rows = 19;
  AlignedBuffer<float> panels(2 * panel_rows * columns);
  for (std::size_t i = 0; i < panels.size(); ++i) panels[i] = static_cast<float>(static_cast<int>(i * 7919 % 2001) - 1000) / 333.0f;
  std::vector<float> x(columns);
  for (std::size_t i = 0; i < columns; ++i) x[i] = static_cast<float>(static_cast<int>(i * 31 % 17) - 8) / 7.0f;
  FloatInput input(1, columns);
  input.start(1, columns);
  input.interleave({x.data(), 1, columns}, {0, 1});

  std::vector<float> y(rows + 1, -1.0f);
  const RowRange all{0, rows};
  const detail::DenseFloatLoop<float, isa::Scalar> loop{panels.data(), columns, input, {y.data(), 1, rows}, all};
  for_each_tile(loop, 1, all);
  for (std::size_t row = 0; row < rows; ++row) {
    float expected = 0;
    for (std::size_t column = 0; column < columns; ++column) {
      expected = std::fma(panels[(row / panel_rows * columns + column) * panel_rows + row % panel_rows], x[column], expected);
    }
    REQUIRE(y[row] == expected);
  }
  CHECK(y[rows] == -1.0f);
}
