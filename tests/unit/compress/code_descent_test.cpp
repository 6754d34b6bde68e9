// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/code_descent.hpp>

#include <array>
#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

using namespace tulle;

namespace {

constexpr std::size_t rows = 150, columns = 96;

/// Weights, and inputs of which neighbours resemble each other.
FitProblem<double> correlated_problem(ThreadPool& pool) {
  std::uint32_t state = 7;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) / (1 << 24) - 0.5;
  };
  BasicMatrix<double> weights(rows, columns), inputs(400, columns);
  for (double& weight : weights.values) weight = next() + next() + next();
  for (std::size_t token = 0; token < inputs.rows; ++token) {
    double common = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      common = 0.8 * common + next();
      inputs[token][j] = common * (j % 17 == 3 ? 6 : 1);
    }
  }
  LayerStatistics statistics;
  statistics.columns = columns;
  statistics.hessian = AlignedBuffer<double>(columns * columns);
  multiply_matrices<double>(std::as_const(inputs).view(), Transposed::yes, std::as_const(inputs).view(), Transposed::no,
                            1, 0, {statistics.hessian.data(), columns, columns});
  return make_fit_problem<double>(std::move(weights), statistics, {.alpha = 0, .gamma = 0}, pool);
}

double error(const FitProblem<double>& problem, const BasicMatrix<double>& weights) {
  double sum = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < columns; ++k) {
        sum += (weights[row][j] - problem.solution[row][j]) * problem.hessian[j][k] *
               (weights[row][k] - problem.solution[row][k]);
      }
    }
  }
  return sum;
}

struct Coded {
  BasicMatrix<double> weights;
  CodedMatrix<double> codes;
};

Coded gptq(const FitProblem<double>& problem, const QuantizationPlan& plan, std::vector<std::uint8_t>& mask,
           ThreadPool& pool) {
  Coded result{problem.solution, {}};
  for (std::size_t i = 0; i < mask.size(); ++i) result.weights.values[i] *= mask[i];
  const std::array<std::size_t, 1> parts{rows};
  const BasicMatrix<double> upper = inverse_factor(problem.hessian);
  (void)ColumnCompensation<double>(upper, nullptr, &plan, pool).run(result.weights, parts, mask, &result.codes, false);
  return result;
}

}  // namespace

TEST_CASE("Descent lowers the error, keeps zeros and gives the same codes on any number of threads") {
  ThreadPool one(1), three(3);
  const FitProblem<double> problem = correlated_problem(one);
  struct Case {
    QuantizationPlan plan;
    bool sparse;
    double most;  // of GPTQ's error
  };
  for (const Case& each : {Case{{.bits = 4, .group = 32}, false, 0.9}, Case{{.bits = 4, .group = 32}, true, 0.9},
                           Case{{.bits = 4, .group = 64}, false, 0.9}, Case{{.bits = 8}, false, 0.97},
                           Case{{.bits = 4, .group = 32, .symmetric = false}, false, 0.9},
                           Case{{.bits = 8, .group = 32, .symmetric = false}, false, 0.97}}) {
    CAPTURE(each.plan.bits, each.plan.group, each.plan.symmetric, each.sparse);
    std::vector<std::uint8_t> mask(rows * columns, 1);
    for (std::size_t i = 0; each.sparse && i < mask.size(); i += 2) mask[i] = 0;
    const Coded before = gptq(problem, each.plan, mask, one);
    Coded after = before, again = before;
    CodeDescent<double>(problem, each.plan, one).run(after.weights, mask, after.codes);
    CodeDescent<double>(problem, each.plan, three).run(again.weights, mask, again.codes);
    CHECK(after.codes.codes == again.codes.codes);
    CHECK(error(problem, after.weights) < each.most * error(problem, before.weights));
    const std::size_t groups = scale_groups(each.plan, columns);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const std::size_t group = each.plan.group == 0 ? 0 : i % columns / each.plan.group;
      const CodeScale<double>& scale = after.codes.scales[i / columns * groups + group];
      const int code = each.plan.symmetric ? after.codes.codes[i] : static_cast<std::uint8_t>(after.codes.codes[i]);
      const bool in_range = code >= scale.lowest && code <= scale.highest;
      const bool kept = mask[i] != 0 ? after.weights.values[i] == scale.value(code) : after.weights.values[i] == 0;
      wrong += !in_range || !kept;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("Behind descent no change of one code by one is worth its while") {
  ThreadPool pool(2);
  const FitProblem<double> problem = correlated_problem(pool);
  const QuantizationPlan plan{.bits = 4, .group = 32};
  std::vector<std::uint8_t> mask(rows * columns, 1);
  Coded coded = gptq(problem, plan, mask, pool);
  for (int i = 0; i < 8; ++i) CodeDescent<double>(problem, plan, pool).run(coded.weights, mask, coded.codes);
  const double least = error(problem, coded.weights);
  for (std::size_t i = 0; i < rows * columns; i += 97) {
    const CodeScale<double>& scale = coded.codes.scales[i / 32];
    for (const int by : {-1, 1}) {
      const int code = coded.codes.codes[i] + by;
      if (code < scale.lowest || code > scale.highest) continue;
      BasicMatrix<double> other = coded.weights;
      other.values[i] = scale.value(code);
      CHECK(error(problem, other) >= least * (1 - 1e-9));
    }
  }
}
