// SPDX-License-Identifier: Apache-2.0
/// \file ALPS: a mask by ADMM, then the best weights on it by conjugate gradients (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <tulle/compress/fit_problem.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/compress/sparsity_mask.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// H and B with columns scaled so that the diagonal of H is 1: Jacobi preconditioning.
template <class T>
struct ScaledProblem {
  std::vector<T> scale;  ///< e = diag(H)^-1/2; weights are those of the scaled problem times e
  BasicMatrix<T> hessian, target;

  explicit ScaledProblem(const FitProblem<T>& problem) : hessian(problem.hessian), target(problem.target) {
    for (std::size_t i = 0; i < hessian.rows; ++i) scale.push_back(1 / std::sqrt(problem.hessian[i][i]));
    for (std::size_t i = 0; i < hessian.rows; ++i) {
      for (std::size_t j = 0; j < hessian.columns; ++j) hessian[i][j] *= scale[i] * scale[j];
    }
    for (std::size_t i = 0; i < target.rows; ++i) {
      for (std::size_t j = 0; j < target.columns; ++j) target[i][j] *= scale[j];
    }
  }
};

/// What the mask search ended with, in the scaled problem.
template <class T>
struct AlpsMask {
  BasicMatrix<T> weights;          ///< D, 0 off the mask
  std::vector<std::uint8_t> mask;  ///< [rows, columns]
  std::size_t steps = 0;
  double rho = 0;
};

/// (H + rho)^-1. The diagonal of H is 1, so only rounding could keep it from being positive definite.
template <class T>
BasicMatrix<T> inverse_of_damped(const BasicMatrix<T>& hessian, double rho) {
  BasicMatrix<T> damped = hessian;
  detail::add_damping<T>(damped, std::vector<T>(hessian.rows, static_cast<T>(rho)));
  if (!factor_cholesky(damped.view())) {
    fail(ErrorCode::malformed, "the calibration inputs of a layer cannot be factored; give more damping");
  }
  invert_factored(damped.view());
  return damped;
}

/// Steps of ADMM on min tr(P H P^T) - 2 tr(P B^T) with P = D and D on a mask of `structure`. The penalty rho grows with
/// how much the mask still changes.
/// Source: Meng et al., ALPS (arXiv:2406.07831), algorithm 1, with a Cholesky factor in place of the eigenvectors.
template <class T>
AlpsMask<T> search_alps_mask(const FitProblem<T>& problem, const ScaledProblem<T>& scaled,
                             std::span<const std::size_t> parts, const PruningPlan& plan, ThreadPool& pool) {
  const std::size_t m = problem.weights.rows, n = problem.weights.columns;
  BasicMatrix<T> first = problem.solution;  // A = W* / e
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t j = 0; j < n; ++j) first[row][j] /= scaled.scale[j];
  }
  AlpsMask<T> result{BasicMatrix<T>(m, n), std::vector<std::uint8_t>(m * n), 0, 0.1};
  std::vector<std::uint8_t>& mask = result.mask;
  const auto select = [&](const BasicMatrix<T>& values) {
    select_largest<T>(values.view(), parts, plan.structure, plan.sparsity, pool, {mask.data(), m, n});
    if (!plan.keep_existing_zeros) return;
    for (std::size_t i = 0; i < mask.size(); ++i) mask[i] = problem.weights.values[i] == 0 ? 0 : mask[i];
  };
  select(first);
  for (std::size_t i = 0; i < mask.size(); ++i) first.values[i] = mask[i] != 0 ? first.values[i] : 0;
  const std::vector<std::uint8_t> first_mask = mask;
  std::vector<std::uint8_t> before = mask;

  // The state of ADMM is D, which is 0 off the mask, and V, which is 0 on it: both lie in one matrix.
  BasicMatrix<T> state = first, z(m, n), step(m, n), inverse;
  bool grown = false;
  for (result.steps = 1; result.steps < 300; ++result.steps) {
    if (inverse.values.empty()) inverse = inverse_of_damped(scaled.hessian, result.rho);
    const T rho = static_cast<T>(result.rho);
    // P = (B - V + rho D) (H + rho)^-1, then Z = P + V / rho
    for_row_blocks(pool, m, block_of_rows, [&](RowRange range) {
      for (std::size_t i = range.begin * n; i < range.end * n; ++i) {
        step.values[i] = scaled.target.values[i] + (mask[i] != 0 ? rho * state.values[i] : -state.values[i]);
      }
      multiply_matrices<T>(rows_of(std::as_const(step).view(), range), Transposed::no, std::as_const(inverse).view(),
                           Transposed::no, T{1}, T{0}, rows_of(z.view(), range));
      for (std::size_t i = range.begin * n; i < range.end * n; ++i) {
        if (mask[i] == 0) z.values[i] += state.values[i] / rho;
      }
    });
    select(z);
    // D = Z on the mask; V += rho (P - D) = rho Z off it
    for_row_blocks(pool, m, block_of_rows, [&](RowRange range) {
      for (std::size_t i = range.begin * n; i < range.end * n; ++i) {
        state.values[i] = mask[i] != 0 ? z.values[i] : rho * z.values[i];
      }
    });
    if (result.steps % 3 != 0) continue;
    std::size_t changed = 0, kept = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      changed += mask[i] != before[i] ? 1 : 0;
      kept += mask[i];
    }
    before = mask;
    const double share = kept == 0 ? 0 : static_cast<double>(changed) / static_cast<double>(kept);
    if ((result.steps > 30 && share < 3e-4) || (changed == 0 && grown)) break;
    const double rho_before = result.rho;
    if (share > 0.005) {
      result.rho *= share > 0.1 ? 1.3 : 1.2;
      grown = true;
    } else if (grown) {
      result.rho *= 1.1;
    } else {  // rho was too large from the start
      result.rho /= 5;
      if (changed != 0) {
        state = first;
        mask = before = first_mask;
      }
    }
    result.rho = std::min(result.rho, 1e6);
    if (result.rho != rho_before) inverse.values.clear();
  }
  for (std::size_t i = 0; i < mask.size(); ++i) result.weights.values[i] = mask[i] != 0 ? state.values[i] : 0;
  return result;
}

/// `steps` of conjugate gradients from `weights`, of which a row has its own length of step: the best weights on the
/// mask. All in the scaled problem.
template <class T>
void refit_on_mask(const ScaledProblem<T>& scaled, std::span<const std::uint8_t> mask, std::size_t steps,
                   ThreadPool& pool, BasicMatrix<T>& weights) {
  const std::size_t n = weights.columns;
  BasicMatrix<T> residual(weights.rows, n), direction(weights.rows, n), product(weights.rows, n);
  const auto dot = [n](const T* a, const T* b) {
    T sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += a[j] * b[j];
    return sum;
  };
  for_row_blocks(pool, weights.rows, block_of_rows, [&](RowRange range) {
    const MatrixView<const T> hessian = scaled.hessian.view();
    const MatrixView<T> r = rows_of(residual.view(), range), q = rows_of(direction.view(), range),
                        z = rows_of(product.view(), range), d = rows_of(weights.view(), range);
    multiply_matrices<T>(d, Transposed::no, hessian, Transposed::no, T{1}, T{0}, z);
    for (std::size_t row = 0; row < d.rows; ++row) {
      const std::uint8_t* on = mask.data() + (range.begin + row) * n;
      const T* b = scaled.target[range.begin + row];
      for (std::size_t j = 0; j < n; ++j) r[row][j] = q[row][j] = on[j] != 0 ? b[j] - z[row][j] : T{0};
    }
    for (std::size_t step = 0; step < steps; ++step) {
      multiply_matrices<T>(q, Transposed::no, hessian, Transposed::no, T{1}, T{0}, z);
      for (std::size_t row = 0; row < d.rows; ++row) {
        const std::uint8_t* on = mask.data() + (range.begin + row) * n;
        const T length = dot(r[row], r[row]), curvature = dot(q[row], z[row]);
        if (!(length > 0) || !(curvature > 0)) continue;
        const T a = length / curvature;
        for (std::size_t j = 0; j < n; ++j) {
          d[row][j] += a * q[row][j];
          r[row][j] = on[j] != 0 ? r[row][j] - a * z[row][j] : T{0};
        }
        const T beta = dot(r[row], r[row]) / length;
        for (std::size_t j = 0; j < n; ++j) q[row][j] = r[row][j] + beta * q[row][j];
      }
    }
  });
}

/// The weights of `problem` pruned as `plan` says, 0 off `mask`. Errors: those of `select_largest`; memory.
template <class T>
BasicMatrix<T> prune_alps(const FitProblem<T>& problem, std::span<const std::size_t> parts, const PruningPlan& plan,
                          ThreadPool& pool, std::vector<std::uint8_t>& mask) {
  const ScaledProblem<T> scaled(problem);
  AlpsMask<T> found = search_alps_mask(problem, scaled, parts, plan, pool);
  refit_on_mask<T>(scaled, found.mask, 10, pool, found.weights);
  for (std::size_t row = 0; row < found.weights.rows; ++row) {
    for (std::size_t j = 0; j < found.weights.columns; ++j) found.weights[row][j] *= scaled.scale[j];
  }
  mask = std::move(found.mask);
  return std::move(found.weights);
}

}  // namespace tulle
