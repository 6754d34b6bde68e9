// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/channel_permutation.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

using namespace tulle;

namespace {

/// By the definition: of every group and row the largest ones.
double kept_of(const Matrix& losses, const std::vector<std::uint32_t>& order, std::size_t keep, std::size_t of) {
  double sum = 0;
  for (std::size_t first = 0; first < order.size(); first += of) {
    for (std::size_t row = 0; row < losses.columns; ++row) {
      std::vector<float> group;
      for (std::size_t i = 0; i < of; ++i) group.push_back(losses[order[first + i]][row]);
      std::sort(group.begin(), group.end(), std::greater<>());
      for (std::size_t i = 0; i < keep; ++i) sum += static_cast<double>(group[i]);
    }
  }
  return sum;
}

Matrix losses_of(std::size_t columns, std::size_t rows, std::size_t outliers) {
  Matrix losses(columns, rows);
  for (std::size_t j = 0; j < columns; ++j) {
    const float size = j < outliers ? 100.0f : 1.0f;
    for (std::size_t i = 0; i < rows; ++i) {
      const float value = std::sin(static_cast<float>(j * 7919 + i * 104729 + 1));
      losses[j][i] = size * value * value;
    }
  }
  return losses;
}

std::vector<std::uint32_t> as_given(std::size_t columns) {
  std::vector<std::uint32_t> order(columns);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

}  // namespace

TEST_CASE("A permutation keeps more than the order that was given, and what it says") {
  const auto [keep, of] =
      GENERATE(table<std::size_t, std::size_t>({{2, 4}, {4, 8}, {8, 16}, {4, 16}, {1, 4}, {32, 64}}));
  CAPTURE(keep, of);
  const std::size_t columns = 12 * of, rows = 37;
  const Matrix losses = losses_of(columns, rows, 9);  // which lie beside each other
  ThreadPool one(1), three(3);
  ChannelPermutation permutation(losses, keep, of), again(losses, keep, of);
  const double before = permutation.kept();
  CHECK(before == Catch::Approx(kept_of(losses, as_given(columns), keep, of)).epsilon(1e-5));
  const std::vector<std::uint32_t> order = permutation.find(one);
  CHECK(permutation.kept() > before);
  CHECK(permutation.kept() == Catch::Approx(kept_of(losses, order, keep, of)).epsilon(1e-5));
  CHECK(again.find(three) == order);
  std::vector<std::uint32_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  CHECK(sorted == as_given(columns));
}

TEST_CASE("Of 8 columns in 2 groups the best partition is found where one exchange leads to it") {
  // Two columns matter, and both orders that keep them apart from each other's group are best.
  Matrix losses(8, 1);
  for (std::size_t j = 0; j < 8; ++j) losses[j][0] = j < 3 ? 10.0f : 1.0f;
  ThreadPool pool(1);
  ChannelPermutation permutation(losses, 2, 4);
  CHECK(permutation.kept() == Catch::Approx(22));  // 10 + 10 of the first three, 1 + 1
  (void)permutation.find(pool);
  CHECK(permutation.kept() == Catch::Approx(31));
}

TEST_CASE("A matrix that has the structure already loses nothing as it is") {
  Matrix losses = losses_of(16, 21, 0);
  for (std::size_t j = 0; j < 16; ++j) {
    for (std::size_t i = 0; i < 21; ++i) losses[j][i] = j % 4 < 2 ? losses[j][i] : 0.0f;
  }
  const double sum = std::accumulate(losses.values.begin(), losses.values.end(), 0.0);
  ThreadPool pool(1);
  ChannelPermutation permutation(losses, 2, 4);
  CHECK(permutation.kept() == Catch::Approx(sum).epsilon(1e-5));
  (void)permutation.find(pool);
  CHECK(!(permutation.kept() > sum * (1 + 1e-6)));
}
