// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/linear_runner.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include <tulle/kernel/dense/dense_float.hpp>
#include <tulle/kernel/ell/ell.hpp>
#include <tulle/kernel/schedule/work_partition.hpp>

#include "unit/kernel/encoded_matrix.hpp"

using namespace tulle;

TEST_CASE("a linear layer of several parts is multiplied on any number of threads", "[model][linear_runner]") {
  constexpr std::size_t rows = 48, columns = 40, inputs = 11;
  const auto first = testing::random_matrix(DType::f32, 16, columns, 1),
             second = testing::random_matrix(DType::f32, rows - 16, columns, 2);
  Linear<DenseF32> linear;
  linear.parts.push_back({"a", 0, DenseF32::pack(first.rows)});
  linear.parts.push_back({"b", 16, DenseF32::pack(second.rows)});
  linear.bias = testing::random_floats(rows, 3);
  auto x = testing::random_floats(inputs * columns, 4);
  std::vector<float> wanted(inputs * rows), row(columns);
  for (std::size_t input = 0; input < inputs; ++input) {
    for (std::size_t i = 0; i < rows; ++i) {
      (i < 16 ? first.rows : second.rows).decode_row(i < 16 ? i : i - 16, row.data());
      double sum = linear.bias[i];
      for (std::size_t d = 0; d < columns; ++d) sum += static_cast<double>(row[d]) * x[input * columns + d];
      wanted[input * rows + i] = static_cast<float>(sum);
    }
  }
  for (const std::size_t threads : {1, 3}) {
    ThreadPool pool(threads);
    LinearRunner<DenseF32> runner(pool, inputs, columns);
    CHECK(runner.size_bytes() > 0);
    std::vector<float> y(inputs * rows);
    std::vector<int> finished(rows);
    runner.prepare(linear, {x.data(), inputs, columns});
    runner.multiply(linear, {y.data(), inputs, rows}, [&](std::size_t begin, std::size_t end) noexcept {
      for (std::size_t i = begin; i < end; ++i) ++finished[i];
    });
    CHECK(finished == std::vector<int>(rows, 1));
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == Catch::Approx(wanted[i]).margin(1e-4));
  }
}

TEST_CASE("what follows a product sees it whole, also where weights have their rows in another order",
          "[model][linear_runner]") {
  constexpr std::size_t rows = 80, columns = 256;
  const auto matrix =
      testing::pruned(testing::random_matrix(DType::i8, rows, columns, 5), {.kept = 4, .group = 16, .uneven = true}, 6);
  Linear<EllI8> linear;
  linear.parts.push_back({"a", 0, EllI8::pack(matrix.rows)});
  linear.bias = testing::random_floats(rows, 7);
  REQUIRE_FALSE(is_in_order(linear.parts.front().weights));
  for (const std::size_t inputs : {1, 11}) {
    auto x = testing::random_floats(inputs * columns, 8);
    std::vector<float> first;
    for (const std::size_t threads : {1, 2, 5}) {
      CAPTURE(inputs, threads);
      ThreadPool pool(threads);
      LinearRunner<EllI8> runner(pool, inputs, columns);
      std::vector<float> values(inputs * rows), seen(values.size());
      const MatrixView<float> y{values.data(), inputs, rows};
      runner.prepare(linear, {x.data(), inputs, columns});
      runner.multiply(linear, y, [&](std::size_t begin, std::size_t end) noexcept {
        for (std::size_t input = 0; input < inputs; ++input) {
          for (std::size_t i = begin; i < end; ++i) seen[input * rows + i] += y[input][i];
        }
      });
      CHECK(seen == values);
      if (threads == 1) first = values;
      CHECK(values == first);
    }
    std::vector<float> row(columns);
    for (std::size_t i = 0; i < rows; ++i) {
      matrix.rows.decode_row(i, row.data());
      double sum = linear.bias[i], size = 0;
      for (std::size_t d = 0; d < columns; ++d) {
        sum += static_cast<double>(row[d]) * x[d];
        size += std::fabs(static_cast<double>(row[d]) * x[d]);
      }
      CHECK(first[i] == Catch::Approx(sum).margin(1e-3 * size));
    }
  }
}
