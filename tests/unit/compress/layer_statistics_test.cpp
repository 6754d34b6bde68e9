// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/layer_statistics.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <vector>

using namespace tulle;

namespace {

constexpr std::size_t tokens = 700, columns = 150, outputs = 9;

float value(std::size_t i, std::size_t seed) {
  return std::sin(static_cast<float>(i * seed + seed));
}

}  // namespace

TEST_CASE("Statistics are those of a plain sum, with weights, and the same for any number of threads") {
  std::vector<float> x(tokens * columns), dense(x.size()), residual(tokens * outputs), dense_residual(residual.size()),
      weights(tokens);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = value(i, 3), dense[i] = value(i, 5);
  for (std::size_t i = 0; i < residual.size(); ++i) residual[i] = value(i, 7), dense_residual[i] = value(i, 11);
  for (std::size_t i = 0; i < tokens; ++i) weights[i] = 0.5f + 0.5f * std::abs(value(i, 13));
  const LayerSamples samples{.inputs = {x.data(), tokens, columns},
                             .dense_inputs = {dense.data(), tokens, columns},
                             .residual = {residual.data(), tokens, outputs},
                             .dense_residual = {dense_residual.data(), tokens, outputs},
                             .weights = weights};
  ThreadPool one(1), three(3);
  const LayerStatistics a = collect_statistics(samples, one), b = collect_statistics(samples, three);
  for (const auto& [i, j] : {std::pair{0, 0}, {3, 140}, {140, 3}, {149, 149}, {77, 128}}) {
    double hessian = 0, cross = 0, correction = 0;
    for (std::size_t t = 0; t < tokens; ++t) {
      const double xi = double{x[t * columns + static_cast<std::size_t>(i)]} * double{weights[t]};
      hessian += xi * double{x[t * columns + static_cast<std::size_t>(j)]};
      cross += xi * double{dense[t * columns + static_cast<std::size_t>(j)]};
      correction += xi * (double{dense_residual[t * outputs + 4]} - double{residual[t * outputs + 4]});
    }
    const std::size_t at = static_cast<std::size_t>(i) * columns + static_cast<std::size_t>(j);
    CHECK(a.hessian[at] == Catch::Approx(hessian / tokens).margin(1e-6));
    CHECK(a.cross[at] == Catch::Approx(cross / tokens).margin(1e-6));
    CHECK(a.correction[static_cast<std::size_t>(i) * outputs + 4] == Catch::Approx(correction / tokens).margin(1e-6));
  }
  CHECK(std::equal(a.hessian.span().begin(), a.hessian.span().end(), b.hessian.span().begin()));
  CHECK(std::equal(a.cross.span().begin(), a.cross.span().end(), b.cross.span().begin()));
}

TEST_CASE("A token of large norm counts less, none counts more") {
  const std::vector<float> stream{1, 1, 2, 0, 100, 0};
  const std::vector<float> weights = row_weights({stream.data(), 3, 2});
  CHECK(weights == std::vector<float>{1, 1, 4.0f / 10000});
}
