// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/layer_solver.hpp>

#include <algorithm>
#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstdint>
#include <string>

#include "unit/compress/problems.hpp"
#include "unit/generate/golden_model.hpp"

using namespace tulle;
using Catch::Matchers::WithinAbs;

namespace {

/// 24 x 128 weights and their statistics: columns 5 and 77 are outliers, 9 and 100 always 0. The same numbers as in
/// tests/golden/make_compression.py, where llm-compressor compresses them.
class OutlierLayer {
 public:
  static constexpr std::size_t rows = 24, columns = 128, tokens = 200;

  OutlierLayer() {
    for (double& weight : weights.values) weight = next() / 8;
    std::vector<double> x(tokens * columns);
    for (std::size_t token = 0; token < tokens; ++token) {
      const double common = next();
      for (std::size_t j = 0; j < columns; ++j) {
        const double value = next() + common * static_cast<double>(j % 4);
        x[token * columns + j] = value * (j == 5 ? 40 : j == 77 ? 15 : j == 9 || j == 100 ? 0 : 1);
      }
    }
    statistics.columns = columns;
    statistics.hessian = AlignedBuffer<double>(columns * columns);
    const MatrixView<const double> inputs(x.data(), tokens, columns);
    multiply_matrices<double>(inputs, Transposed::yes, inputs, Transposed::no, 2, 0,
                              {statistics.hessian.data(), columns, columns});
  }

  BasicMatrix<double> solve(const LayerPlan& plan, const std::vector<std::size_t>& parts = {rows}) {
    return LayerSolver<double>(weights, parts, statistics, plan, pool).solve().weights;
  }

  BasicMatrix<double> weights{rows, columns};
  LayerStatistics statistics;
  ThreadPool pool{2};

 private:
  double next() {
    std::uint32_t sum = 0;
    for (int i = 0; i < 4; ++i) {
      state_ = state_ * 1664525u + 1013904223u;
      sum += state_ >> 20;
    }
    return static_cast<double>(sum) / 4096 - 2;
  }

  std::uint32_t state_ = 2026;
};

constexpr TargetPlan classic{.alpha = 0, .gamma = 0, .row_weights = false, .sequential = false, .damping = {0, 0, .01}};

void require_golden(const BasicMatrix<double>& weights, const std::string& name) {
  INFO(name);
  const std::vector<float> expected = testing::golden_floats("compression/" + name + ".npy");
  REQUIRE(expected.size() == weights.values.size());
  double largest = 0;
  std::size_t other_zeros = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::abs(weights.values[i] - double{expected[i]}));
    other_zeros += (weights.values[i] == 0) != (expected[i] == 0);
  }
  CHECK_THAT(largest, WithinAbs(0, 1e-6));
  CHECK(other_zeros == 0);
}

}  // namespace

TEST_CASE("Pruned as by llm-compressor, with outliers and dead columns") {
  OutlierLayer layer;
  using Kind = SparsityStructure::Kind;
  const auto pruned = [&](PruningMethod method, SparsityStructure structure) {
    return layer.solve(
        {.pruning = PruningPlan{.method = method, .structure = structure, .block_size = 64}, .target = classic});
  };
  require_golden(pruned(PruningMethod::sparsegpt, {}), "sparsegpt");
  require_golden(pruned(PruningMethod::sparsegpt, {Kind::balanced, 2, 4}), "sparsegpt_2_4");
  require_golden(pruned(PruningMethod::wanda, {.kind = Kind::row}), "wanda");
  require_golden(pruned(PruningMethod::wanda, {Kind::balanced, 2, 4}), "wanda_2_4");
}

TEST_CASE("Quantized as by llm-compressor's GPTQ, with outliers and dead columns") {
  OutlierLayer layer;
  const QuantizationPlan int8{.method = QuantizationMethod::gptq, .searches_scale = false};
  require_golden(layer.solve({.quantization = int8, .target = classic}), "gptq_i8");

  // llm-compressor takes the scales of the weights as they were.
  const QuantizationPlan int4{.method = QuantizationMethod::gptq, .bits = 4, .group = 32, .searches_scale = false};
  FitProblem<double> problem = make_fit_problem<double>(layer.weights, layer.statistics, classic, layer.pool);
  CodedMatrix<double> coded;
  for (std::size_t i = 0; i < problem.weights.values.size(); i += 32) {
    coded.scales.push_back(find_scale<double>({problem.weights.values.data() + i, 32}, nullptr, int4));
  }
  const BasicMatrix<double> upper = inverse_factor(problem.hessian);
  std::vector<std::uint8_t> mask(problem.weights.values.size(), 1);
  const std::array<std::size_t, 1> parts{OutlierLayer::rows};
  (void)ColumnCompensation<double>(upper, nullptr, &int4, layer.pool).run(problem.weights, parts, mask, &coded, true);
  require_golden(problem.weights, "gptq_i4");
}

TEST_CASE("What needs no data keeps the weights of inputs that were always 0") {
  OutlierLayer layer;
  const auto distance = [&](const LayerPlan& plan) {
    const BasicMatrix<double> found = layer.solve(plan);
    double largest = 0;
    for (std::size_t row = 0; row < layer.rows; ++row) {
      largest = std::max(largest, std::abs(found[row][9] - layer.weights[row][9]));
    }
    return largest;
  };
  LayerPlan plan;
  plan.quantization.emplace();
  for (const QuantizationMethod method : {QuantizationMethod::nearest, QuantizationMethod::descent}) {
    plan.quantization->method = method;
    CHECK(distance(plan) < 0.002);  // half a step of 8 bits
  }
  plan.quantization.reset();
  plan.pruning.emplace();
  plan.pruning->method = PruningMethod::magnitude;
  plan.pruning->sparsity = 0;
  CHECK(distance(plan) == 0);
}

TEST_CASE("A matrix that came pruned keeps its zeros beside one that did not") {
  OutlierLayer layer;
  constexpr std::size_t pruned = 4;  // rows: the zeros are a twelfth of all weights
  for (std::size_t i = 0; i < pruned * layer.columns; i += 2) layer.weights.values[i] = 0;
  LayerPlan plan;
  plan.quantization.emplace();
  const BasicMatrix<double> found = layer.solve(plan, {pruned, layer.rows - pruned});
  for (std::size_t i = 0; i < pruned * layer.columns; i += 2) CHECK(found.values[i] == 0);
}

TEST_CASE("Zeros that rounding to 4 bits makes are no mask") {
  OutlierLayer layer;
  for (std::size_t i = 0; i < layer.weights.values.size(); i += 8) layer.weights.values[i] = 0;
  LayerPlan plan;
  plan.quantization.emplace();
  plan.quantization->bits = 4;
  plan.quantization->group = 32;
  const BasicMatrix<double> found = layer.solve(plan);
  CHECK(std::any_of(found.values.begin(), found.values.end(),
                    [&](const double& value) { return value != 0 && (&value - found.values.data()) % 8 == 0; }));
}
