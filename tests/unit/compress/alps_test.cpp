// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/alps.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>

#include "unit/compress/problems.hpp"

using namespace tulle;
using Catch::Matchers::WithinAbs;

namespace {

struct Modular {
  ThreadPool pool{2};
  std::vector<float> x = ModularLayer::inputs(), dense_x = ModularLayer::dense_inputs();
  LayerStatistics statistics =
      sums_of(collect_statistics({.inputs = {x.data(), ModularLayer::tokens, ModularLayer::columns},
                                  .dense_inputs = {dense_x.data(), ModularLayer::tokens, ModularLayer::columns}},
                                 pool),
              ModularLayer::tokens);
  std::array<std::size_t, 1> parts{ModularLayer::rows};

  FitProblem<double> problem(double alpha) {
    return make_fit_problem<double>(ModularLayer::weights(), statistics,
                                    {.alpha = alpha, .gamma = 1, .row_weights = false, .damping = {0, 0, 0.01}}, pool);
  }
};

/// tr((w - dense) H (w - dense)^T) / tr(dense H dense^T).
double relative_error(const FitProblem<double>& problem, const BasicMatrix<double>& w) {
  double error = 0, whole = 0;
  for (std::size_t r = 0; r < w.rows; ++r) {
    for (std::size_t i = 0; i < w.columns; ++i) {
      for (std::size_t j = 0; j < w.columns; ++j) {
        const double h = problem.hessian[i][j];
        const double* d = problem.weights[r];
        error += (w[r][i] - d[i]) * h * (w[r][j] - d[j]);
        whole += d[i] * h * d[j];
      }
    }
  }
  return error / whole;
}

void require_rows(const BasicMatrix<double>& w, std::vector<double> first, std::vector<double> second) {
  std::vector<double> kept[2];
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t j = 0; j < w.columns; ++j) {
      if (w[r][j] != 0) kept[r].push_back(w[r][j]);
    }
  }
  REQUIRE(kept[0].size() == first.size());
  REQUIRE(kept[1].size() == second.size());
  for (std::size_t i = 0; i < first.size(); ++i) CHECK_THAT(kept[0][i], WithinAbs(first[i], 1e-6));
  for (std::size_t i = 0; i < second.size(); ++i) CHECK_THAT(kept[1][i], WithinAbs(second[i], 1e-6));
}

constexpr PruningPlan two_of_four{.structure = {SparsityStructure::Kind::balanced, 2, 4}};

}  // namespace

TEST_CASE("The statistics of a small layer") {
  Modular layer;
  const double diagonal[] = {410, 346, 217, 178, 249, 349, 347, 181};
  for (std::size_t i = 0; i < 8; ++i) CHECK_THAT(layer.statistics.hessian[i * 9], WithinAbs(diagonal[i], 1e-9));
  CHECK_THAT(layer.statistics.hessian[1], WithinAbs(-68, 1e-9));
  CHECK_THAT(layer.statistics.hessian[7], WithinAbs(68, 1e-9));
  CHECK_THAT(layer.statistics.hessian[7 * 8 + 6], WithinAbs(-84, 1e-9));
  CHECK_THAT(layer.statistics.cross[1], WithinAbs(-68.75, 1e-9));
  CHECK_THAT(layer.statistics.cross[63], WithinAbs(175, 1e-9));
}

TEST_CASE("ALPS with 2 of 4: the mask, its penalty and the refit, to the printed digits") {
  Modular layer;
  const FitProblem<double> problem = layer.problem(0);
  const ScaledProblem<double> scaled(problem);
  AlpsMask<double> found = search_alps_mask(problem, scaled, layer.parts, two_of_four, layer.pool);
  CHECK(found.steps == 27);
  CHECK_THAT(found.rho, WithinAbs(.81573072, 1e-8));
  CHECK(found.mask == std::vector<std::uint8_t>{0, 1, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1});
  BasicMatrix<double> unscaled = found.weights;
  for (std::size_t i = 0; i < 16; ++i) unscaled.values[i] *= scaled.scale[i % 8];
  CHECK_THAT(relative_error(problem, unscaled), WithinAbs(.0961808116, 1e-9));

  std::vector<std::uint8_t> mask;
  const auto w = prune_alps<double>(problem, layer.parts, two_of_four, layer.pool, mask);
  require_rows(w, {.76523283, -.62530602, 1.18797164, -.44008851}, {.67175501, -.72229440, -.90821853, .88812379});
  CHECK_THAT(relative_error(problem, w), WithinAbs(.0961131893, 1e-9));

  refit_on_mask<double>(scaled, found.mask, 1, layer.pool, found.weights);
  for (std::size_t i = 0; i < 16; ++i) found.weights.values[i] *= scaled.scale[i % 8];
  CHECK_THAT(found.weights.values[1], WithinAbs(.76520836, 1e-7));
  CHECK_THAT(found.weights.values[5], WithinAbs(-.44354514, 1e-7));
}

TEST_CASE("ALPS with half of a matrix: the mask and the refit") {
  Modular layer;
  const FitProblem<double> problem = layer.problem(0);
  const PruningPlan half{.sparsity = 0.5};
  const AlpsMask<double> found =
      search_alps_mask(problem, ScaledProblem<double>(problem), layer.parts, half, layer.pool);
  CHECK(found.steps == 45);
  CHECK_THAT(found.rho, WithinAbs(.60575021, 1e-8));
  CHECK(found.mask == std::vector<std::uint8_t>{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1});
  std::vector<std::uint8_t> mask;
  const auto w = prune_alps<double>(problem, layer.parts, half, layer.pool, mask);
  require_rows(w, {.78498632, -.92296625, -.68705188, 1.09303628}, {.67175501, -.72229440, -.90821853, .88812379});
  CHECK_THAT(relative_error(problem, w), WithinAbs(.0985285177, 1e-9));
}

TEST_CASE("The asymmetric target: the best dense weights, and the refit on a mask") {
  Modular layer;
  const FitProblem<double> problem = layer.problem(1);
  const double first[] = {-.48282760, .73559443, -.95082994, -.95393412, .78272018, -.49507423, .01973734, -.19420476};
  const double second[] = {.73327349, .22984464, -.85304728, -.27147740, -.27532538, -.83964285, .25222185, .69141613};
  for (std::size_t j = 0; j < 8; ++j) {
    CHECK_THAT(problem.solution[0][j], WithinAbs(first[j], 1e-6));
    CHECK_THAT(problem.solution[1][j], WithinAbs(second[j], 1e-6));
  }
  const std::vector<std::uint8_t> mask{0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1};
  const ScaledProblem<double> scaled(problem);
  BasicMatrix<double> w(2, 8);
  refit_on_mask<double>(scaled, mask, 10, layer.pool, w);
  for (std::size_t i = 0; i < 16; ++i) w.values[i] *= scaled.scale[i % 8];
  require_rows(w, {.73973366, -.87114561, -.62863725, 1.12515182}, {.66542592, -.68100899, -.86982813, .81758486});
}

TEST_CASE("ALPS gives the same bits with any number of threads") {
  Modular layer;
  const FitProblem<double> problem = layer.problem(0.5);
  std::vector<std::uint8_t> mask, other;
  ThreadPool one(1);
  const auto a = prune_alps<double>(problem, layer.parts, two_of_four, layer.pool, mask);
  const auto b = prune_alps<double>(problem, layer.parts, two_of_four, one, other);
  CHECK(a.values == b.values);
  CHECK(mask == other);
}
