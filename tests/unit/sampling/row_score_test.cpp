// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/row_score.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace tulle;
using Catch::Approx;

namespace {

std::vector<float> random_row(std::size_t size, unsigned seed, float scale = 4) {
  std::mt19937 random(seed);
  std::normal_distribution<float> values(0, scale);
  std::vector<float> row(size);
  for (float& value : row) value = values(random);
  return row;
}

/// log softmax, in double and in the plainest way.
std::vector<double> log_probabilities(const std::vector<float>& logits) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
  std::vector<double> result;
  for (const float logit : logits) result.push_back(static_cast<double>(logit) - std::log(sum));
  return result;
}

}  // namespace

TEST_CASE("the negative log-likelihood is that of a softmax over all logits", "[evaluate]") {
  for (const std::size_t size : {1, 2, 63, 64, 65, 288, 5000}) {
    const std::vector<float> row = random_row(size, static_cast<unsigned>(size));
    const std::vector<double> expected = log_probabilities(row);
    for (const std::size_t target : {std::size_t{0}, size / 2, size - 1}) {
      CHECK(negative_log_likelihood(row, static_cast<Token>(target)) == Approx(-expected[target]).margin(2e-6));
    }
  }
  CHECK(negative_log_likelihood(std::vector<float>(100, 1e6f), 7) == Approx(std::log(100.0)));
}

TEST_CASE("a banned token counts as impossible", "[evaluate]") {
  std::vector<float> row(70, 0.0f);
  row[3] = row[69] = -std::numeric_limits<float>::infinity();
  CHECK(negative_log_likelihood(row, 0) == Approx(std::log(68.0)));
  CHECK(std::isinf(negative_log_likelihood(row, 3)));
  CHECK(divergence(row, std::vector<float>(70, 0.0f)).kl == Approx(std::log(70.0 / 68.0)).margin(1e-6));
  CHECK(std::isinf(divergence(std::vector<float>(70, 0.0f), row).kl));
}

TEST_CASE("the divergence is the sum of p log(p / q)", "[evaluate]") {
  for (const std::size_t size : {2, 63, 64, 65, 288, 5000}) {
    const std::vector<float> reference = random_row(size, 1), logits = random_row(size, 2);
    const std::vector<double> p = log_probabilities(reference), q = log_probabilities(logits);
    double expected = 0;
    for (std::size_t i = 0; i < size; ++i) expected += std::exp(p[i]) * (p[i] - q[i]);
    CHECK(divergence(reference, logits).kl == Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE("the divergence of a row from itself is nothing, shifted or not", "[evaluate]") {
  const std::vector<float> row = random_row(1000, 5);
  CHECK(divergence(row, row).kl == 0);
  CHECK(divergence(row, row).same_top);
  std::vector<float> shifted = row;
  for (float& value : shifted) value += 16;
  CHECK(divergence(row, shifted).kl < 1e-6);
}

TEST_CASE("the most probable token is the first of the largest logits", "[evaluate]") {
  const std::vector<float> a{1, 3, 2, 3}, b{0, 9, 9, 0}, c{0, 0, 1, 9};
  CHECK(divergence(a, b).same_top);
  CHECK_FALSE(divergence(a, c).same_top);
}
