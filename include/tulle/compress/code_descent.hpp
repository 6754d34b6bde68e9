// SPDX-License-Identifier: Apache-2.0
/// \file Codes and scales moved, one after the other, to where the error of a layer's output is least (L5).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <tulle/compress/column_compensation.hpp>
#include <tulle/compress/fit_problem.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/linear_algebra.hpp>
#include <tulle/compress/quantizer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// Coordinate descent on tr((W' - S) H (W' - S)^T), S the problem's solution, from the codes that another method found.
/// Source: CDQuant (arXiv:2406.17542), which moves codes; here the scales of groups move too. No step raises the error,
/// but for the rounding of sums. Rows do not depend on each other, so the result does not depend on the threads.
template <class T>
class CodeDescent {
 public:
  /// All must outlive the object.
  CodeDescent(const FitProblem<T>& problem, const QuantizationPlan& plan, ThreadPool& pool)
      : problem_(problem), plan_(plan), pool_(pool) {}

  /// `weights` [rows, columns]: the values of `coded`. Those off `mask` stay 0.
  void run(BasicMatrix<T>& weights, std::span<const std::uint8_t> mask, CodedMatrix<T>& coded) const {
    const std::size_t n = weights.columns, groups = scale_groups(plan_, n);
    const std::size_t width = plan_.group == 0 ? whole_row_block : plan_.group;
    for_row_blocks(pool_, weights.rows, block_of_rows, [&](RowRange range) {
      BasicMatrix<T> gradient(range.count(), n);  // half of it: (W' - S) H
      {
        BasicMatrix<T> apart(range.count(), n);
        for (std::size_t i = 0; i < apart.values.size(); ++i) {
          const std::size_t at = range.begin * n + i;
          apart.values[i] = weights.values[at] - problem_.solution.values[at];
        }
        multiply_matrices<T>(std::as_const(apart).view(), Transposed::no, problem_.hessian.view(), Transposed::no, T{1},
                             T{0}, gradient.view());
      }
      BasicMatrix<T> moved(range.count(), width);
      for (std::size_t pass = 0; pass < passes; ++pass) {
        for (std::size_t begin = 0; begin < n; begin += width) {
          const std::size_t count = std::min(width, n - begin);
          for (std::size_t i = 0; i < range.count(); ++i) {
            const std::size_t row = range.begin + i, at = row * n + begin;
            const Group group{begin, count, &weights.values[at], gradient[i] + begin, &mask[at], &coded.codes[at]};
            CodeScale<T>& scale = coded.scales[row * groups + (plan_.group == 0 ? 0 : begin / width)];
            std::copy_n(group.values, count, moved[i]);
            if (plan_.group != 0) move_scale(group, scale);
            move_codes(group, scale);
            for (std::size_t j = 0; j < count; ++j) moved[i][j] = group.values[j] - moved[i][j];
          }
          pass_on({moved.values.data(), range.count(), count, width}, begin, gradient);
        }
      }
    });
  }

 private:
  static constexpr std::size_t passes = 4;
  static constexpr std::size_t whole_row_block = 128;  ///< columns that are moved at once where a row has one scale

  /// Neighbouring columns of a row. `gradient` is kept up to date inside of the group.
  struct Group {
    std::size_t begin, count;
    T *values, *gradient;
    const std::uint8_t* mask;
    std::int8_t* codes;
  };

  /// A change of one value.
  void change(const Group& group, std::size_t j, T value) const noexcept {
    const T by = value - group.values[j];
    if (by == 0) return;
    group.values[j] = value;
    const T* own = problem_.hessian[group.begin + j] + group.begin;
    for (std::size_t k = 0; k < group.count; ++k) group.gradient[k] += by * own[k];
  }

  /// The best scale for the codes as they are.
  void move_scale(const Group& group, CodeScale<T>& scale) const noexcept {
    T slope = 0, curvature = 0;
    // Products beside each other: the additions of one wait for each other, those of several do not.
    constexpr std::size_t most = 16;
    const auto add = [&](std::size_t begin, auto count) {
      std::array<T, most> products{};
      for (std::size_t k = 0; k < group.count; ++k) {
        const T* row = problem_.hessian[group.begin + k] + group.begin + begin;  // of a symmetric matrix: as a column
        for (std::size_t j = 0; j < count; ++j) products[j] += row[j] * group.values[k];
      }
      for (std::size_t j = 0; j < count; ++j) {
        slope += group.gradient[begin + j] * group.values[begin + j];
        curvature += group.values[begin + j] * products[j];
      }
    };
    const std::size_t whole = group.count / most * most;
    for (std::size_t begin = 0; begin < whole; begin += most) add(begin, std::integral_constant<std::size_t, most>());
    if (whole < group.count) add(whole, group.count - whole);
    if (!(curvature > 0)) return;
    const T best = stored_scale(code_format(plan_), scale.scale * (1 - slope / curvature));
    if (!(best * scale.scale > 0) || !std::isfinite(best)) return;
    scale.scale = best;
    for (std::size_t j = 0; j < group.count; ++j) {
      const int code = plan_.symmetric ? group.codes[j] : static_cast<std::uint8_t>(group.codes[j]);
      if (group.mask[j] != 0) change(group, j, scale.value(code));
    }
  }

  /// The best code for each value, all others as they are.
  void move_codes(const Group& group, const CodeScale<T>& scale) const noexcept {
    for (std::size_t j = 0; j < group.count; ++j) {
      if (group.mask[j] == 0) continue;
      const T curvature = problem_.hessian[group.begin + j][group.begin + j];
      const int code = scale.code(group.values[j] - group.gradient[j] / curvature);
      group.codes[j] = static_cast<std::int8_t>(code);
      change(group, j, scale.value(code));
    }
  }

  /// What a group's changes `moved` [rows, columns of the group] do to the gradients of all columns outside of it.
  void pass_on(MatrixView<const T> moved, std::size_t begin, BasicMatrix<T>& gradient) const {
    const std::size_t n = gradient.columns, end = begin + moved.columns;
    for (const auto& [first, last] : {std::pair{std::size_t{0}, begin}, std::pair{end, n}}) {
      if (first == last) continue;
      const MatrixView<const T> rows(problem_.hessian[begin] + first, moved.columns, last - first, n);
      multiply_matrices<T>(moved, Transposed::no, rows, Transposed::no, T{1}, T{1},
                           {gradient.values.data() + first, gradient.rows, last - first, n});
    }
  }

  const FitProblem<T>& problem_;
  const QuantizationPlan& plan_;
  ThreadPool& pool_;
};

}  // namespace tulle
