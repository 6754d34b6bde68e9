// SPDX-License-Identifier: Apache-2.0
/// \file The least-squares problem that compressed weights are to solve (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/layer_statistics.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// What becomes of the weights whose input is 0 in all of the text. Methods that go by the text, pruning and GPTQ, set them
/// to 0. Where they are kept, another text that needs them finds them.
enum class Unused { zero, kept };

/// Find W' with few nonzero values that makes tr(W' H W'^T) - 2 tr(W' B^T) small. Without a share of the dense model
/// (alpha = gamma = 0) that is the error of the layer's output |X~ W^T - X~ W'^T|^2, and W itself solves it.
template <class T>
struct FitProblem {
  BasicMatrix<T> weights;      ///< W [rows, columns], dense; see `Unused` for columns whose input is always 0
  BasicMatrix<T> hessian;      ///< H [columns, columns], damped
  BasicMatrix<T> target;       ///< B [rows, columns]
  BasicMatrix<T> solution;     ///< B H^-1 [rows, columns]: the best dense weights
  std::vector<T> input_norms;  ///< of the columns, without damping: Wanda's |x_j|
  double extra_damping = 0;    ///< that was needed beyond the plan's, in means of the diagonal
};

namespace detail {

template <class T>
void add_damping(BasicMatrix<T>& hessian, std::span<const T> damping) {
  for (std::size_t i = 0; i < hessian.rows; ++i) hessian[i][i] += damping[i];
}

}  // namespace detail

/// The problem of `weights` (rows that share an input, stacked) and the statistics of that input. Damping is raised, by
/// steps of ten from a hundredth of the mean on, until H is positive definite.
/// Source: GPTAQ (arXiv:2504.02692) for the asymmetric target. Errors: malformed for statistics that are not finite.
template <class T>
FitProblem<T> make_fit_problem(BasicMatrix<T> weights, const LayerStatistics& statistics, const TargetPlan& plan,
                               ThreadPool& pool, Unused unused = Unused::zero) {
  FitProblem<T> problem;
  const std::size_t n = weights.columns, m = weights.rows;
  BasicMatrix<T> hessian(n, n);
  std::vector<T> diagonal(n);
  for (std::size_t i = 0; i < n * n; ++i) hessian.values[i] = static_cast<T>(statistics.hessian[i]);
  for (std::size_t i = 0; i < n; ++i) {
    T& own = hessian[i][i];
    if (!std::isfinite(own)) fail(ErrorCode::malformed, "the activations are not finite; is a weight NaN or infinite?");
    problem.input_norms.push_back(std::sqrt(own));
    if (own == 0) {
      own = 1;
      for (std::size_t row = 0; row < m && unused == Unused::zero; ++row) weights[row][i] = 0;
    }
    diagonal[i] = own;
  }
  double sum = 0;
  for (const T value : diagonal) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(n), middle = static_cast<double>(median<T>(diagonal));

  const bool asymmetric = plan.alpha != 0 && statistics.cross.size() != 0;
  BasicMatrix<T> damped, factor;
  std::vector<T> damping(n);
  for (double extra = 0;; extra = extra == 0 ? 0.01 : 10 * extra) {
    if (extra > 1e6) fail(ErrorCode::malformed, "the calibration inputs of a layer cannot be factored");
    for (std::size_t i = 0; i < n; ++i) {
      const double ridge = plan.damping.diagonal * static_cast<double>(diagonal[i]) + plan.damping.median * middle +
                           (plan.damping.mean + extra) * mean;
      damping[i] = static_cast<T>(ridge);
    }
    damped = hessian;
    detail::add_damping<T>(damped, damping);
    factor = damped;
    problem.extra_damping = extra;
    if (factor_cholesky(factor.view())) break;
  }
  if (!asymmetric) {
    problem.target = BasicMatrix<T>(m, n);
    multiply_rows<T>(pool, weights.view(), damped.view(), Transposed::no, problem.target.view());
    problem.solution = weights;
  } else {
    // B = W ((1 - alpha) H + alpha (G^T + Lambda)) + alpha gamma C
    const T alpha = static_cast<T>(plan.alpha);
    BasicMatrix<T> mixed(n, n);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        T cross = static_cast<T>(statistics.cross[j * n + i]) + (i == j ? damping[i] : T{0});
        if (i == j && problem.input_norms[i] == 0) cross += diagonal[i];
        mixed[i][j] = (1 - alpha) * damped[i][j] + alpha * cross;
      }
    }
    problem.target = BasicMatrix<T>(m, n);
    multiply_rows<T>(pool, weights.view(), mixed.view(), Transposed::no, problem.target.view());
    if (plan.gamma != 0 && statistics.correction.size() != 0) {
      const T share = alpha * static_cast<T>(plan.gamma);
      for (std::size_t row = 0; row < m; ++row) {
        for (std::size_t j = 0; j < n; ++j) {
          problem.target[row][j] += share * static_cast<T>(statistics.correction[j * m + row]);
        }
      }
    }
    problem.solution = problem.target;
    for_row_blocks(pool, m, block_of_rows,
                   [&](RowRange range) { solve_factored<T>(factor.view(), rows_of(problem.solution.view(), range)); });
  }
  problem.weights = std::move(weights);
  problem.hessian = std::move(damped);
  return problem;
}

}  // namespace tulle
