// SPDX-License-Identifier: Apache-2.0
/// \file From a layer's weights and statistics to its compressed weights, as its plan says (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/compress/alps.hpp>
#include <tulle/compress/code_descent.hpp>
#include <tulle/compress/column_compensation.hpp>
#include <tulle/compress/fit_problem.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/quantizer.hpp>
#include <tulle/compress/sparsity_mask.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/matrix.hpp>
#include <tulle/tensor/sparsity.hpp>

namespace tulle {

/// Compressed weights [rows, columns].
template <class T>
struct CompressedLayer {
  BasicMatrix<T> weights;  ///< as they will be multiplied
  std::optional<CodedMatrix<T>> coded;
  double relative_error = 0;  ///< tr((W - W') H (W - W')^T) / tr(W H W^T), H damped: of the output on the same inputs
  double extra_damping = 0;
};

/// `rounded`: the type in which weights without codes are stored.
template <class T>
class LayerSolver {
 public:
  /// `parts`: rows of the matrices that are stacked in `weights`. Errors: those of `make_fit_problem`.
  LayerSolver(BasicMatrix<T> weights, std::vector<std::size_t> parts, const LayerStatistics& statistics,
              const LayerPlan& plan, ThreadPool& pool)
      : plan_(plan),
        pool_(pool),
        parts_(std::move(parts)),
        dense_(weights),
        problem_(make_fit_problem<T>(std::move(weights), statistics, plan.target, pool, unused(plan))) {
    if (plan.pruning) check_structure(plan.pruning->structure, dense_.columns);
  }

  /// Errors: invalid_argument for a plan that does not fit the matrix; malformed; memory.
  CompressedLayer<T> solve() {
    CompressedLayer<T> result;
    result.extra_damping = problem_.extra_damping;
    mask_.assign(dense_.values.size(), 1);
    result.weights = pruned(result);
    if (plan_.quantization && !result.coded) quantize(result);
    result.relative_error = relative_error(result.weights);
    return result;
  }

 private:
  static Unused unused(const LayerPlan& plan) {
    const bool goes_by_text = plan.pruning ? plan.pruning->method != PruningMethod::magnitude
                                           : plan.quantization && plan.quantization->method == QuantizationMethod::gptq;
    return goes_by_text ? Unused::zero : Unused::kept;
  }

  BasicMatrix<T> pruned(CompressedLayer<T>& result) {
    if (!plan_.pruning) return with_existing_zeros(problem_.solution);
    const PruningPlan& plan = *plan_.pruning;
    BasicMatrix<T> weights = problem_.solution;
    switch (plan.method) {
      case PruningMethod::alps: return prune_alps<T>(problem_, parts_, plan, pool_, mask_);
      case PruningMethod::sparsegpt: {
        const bool jointly = plan_.quantization && plan_.quantization->jointly;
        if (jointly) {
          result.coded.emplace();
          find_scales(dense_, *result.coded, nullptr);
        }
        ColumnCompensation<T> loop(upper(), &plan, jointly ? &*plan_.quantization : nullptr, pool_);
        (void)loop.run(weights, parts_, mask_, jointly ? &*result.coded : nullptr, jointly);
        return weights;
      }
      case PruningMethod::wanda:
      case PruningMethod::magnitude: break;
    }
    weights = problem_.weights;
    BasicMatrix<T> scores = weights;
    if (plan.method == PruningMethod::wanda) {
      for (std::size_t row = 0; row < scores.rows; ++row) {
        for (std::size_t j = 0; j < scores.columns; ++j) scores[row][j] *= problem_.input_norms[j];
      }
    }
    select_largest<T>(std::as_const(scores).view(), parts_, plan.structure, plan.sparsity, pool_,
                      {mask_.data(), scores.rows, scores.columns});
    for (std::size_t i = 0; i < mask_.size(); ++i) weights.values[i] = mask_[i] != 0 ? weights.values[i] : T{0};
    return weights;
  }

  /// A matrix that came pruned (`min_pruned_share`) stays so: its zeros are the mask.
  BasicMatrix<T> with_existing_zeros(BasicMatrix<T> weights) {
    std::size_t end = 0;
    for (const std::size_t rows : parts_) {
      const std::size_t begin = std::exchange(end, end + rows * dense_.columns);
      const std::span<const T> part(dense_.values.data() + begin, end - begin);
      const auto zeros = std::count(part.begin(), part.end(), T{0});
      if (static_cast<double>(zeros) < min_pruned_share * static_cast<double>(part.size())) continue;
      for (std::size_t i = begin; i < end; ++i) {
        mask_[i] = dense_.values[i] != 0 ? 1 : 0;
        if (mask_[i] == 0) weights.values[i] = 0;
      }
    }
    return weights;
  }

  void quantize(CompressedLayer<T>& result) {
    const QuantizationPlan& plan = *plan_.quantization;
    CodedMatrix<T>& coded = result.coded.emplace();
    if (plan.method != QuantizationMethod::nearest) {
      ColumnCompensation<T> loop(upper(), nullptr, &plan, pool_);
      (void)loop.run(result.weights, parts_, mask_, &coded, false);
      if (plan.method == QuantizationMethod::descent) {
        CodeDescent<T>(problem_, plan, pool_).run(result.weights, mask_, coded);
      }
      return;
    }
    find_scales(result.weights, coded, mask_.data());
    const std::size_t n = dense_.columns, groups = scale_groups(plan, n), width = plan.group == 0 ? n : plan.group;
    coded.codes.resize(dense_.values.size());
    for (std::size_t row = 0; row < dense_.rows; ++row) {
      for (std::size_t j = 0; j < n; ++j) {
        const CodeScale<T>& scale = coded.scales[row * groups + j / width];
        T& weight = result.weights[row][j];
        const int code = mask_[row * n + j] != 0 ? scale.code(weight) : scale.zero_point;
        coded.codes[row * n + j] = static_cast<std::int8_t>(code);
        weight = scale.value(code);
      }
    }
  }

  void find_scales(const BasicMatrix<T>& weights, CodedMatrix<T>& coded, const std::uint8_t* mask) {
    const QuantizationPlan& plan = *plan_.quantization;
    const std::size_t n = weights.columns, groups = scale_groups(plan, n), width = plan.group == 0 ? n : plan.group;
    coded.scales.resize(weights.rows * groups);
    for_row_blocks(pool_, weights.rows, block_of_rows, [&](RowRange range) {
      for (std::size_t row = range.begin; row < range.end; ++row) {
        for (std::size_t group = 0; group < groups; ++group) {
          const std::size_t begin = group * width, count = std::min(width, n - begin);
          coded.scales[row * groups + group] =
              find_scale<T>({weights[row] + begin, count}, mask == nullptr ? nullptr : mask + row * n + begin, plan);
        }
      }
    });
  }

  const BasicMatrix<T>& upper() {
    if (upper_.values.empty()) upper_ = inverse_factor(problem_.hessian);
    return upper_;
  }

  double relative_error(const BasicMatrix<T>& weights) {
    const std::size_t m = dense_.rows, n = dense_.columns;
    BasicMatrix<T> difference = weights, product(m, n);
    for (std::size_t i = 0; i < difference.values.size(); ++i) difference.values[i] -= dense_.values[i];
    const auto energy = [&](const BasicMatrix<T>& rows) {
      multiply_rows<T>(pool_, rows.view(), std::as_const(problem_.hessian).view(), Transposed::no, product.view());
      double sum = 0;
      for (std::size_t i = 0; i < product.values.size(); ++i) {
        sum += static_cast<double>(product.values[i]) * static_cast<double>(rows.values[i]);
      }
      return sum;
    };
    const double whole = energy(dense_);
    return whole > 0 ? energy(difference) / whole : 0;
  }

  const LayerPlan& plan_;
  ThreadPool& pool_;
  std::vector<std::size_t> parts_;
  BasicMatrix<T> dense_;
  FitProblem<T> problem_;
  BasicMatrix<T> upper_;
  std::vector<std::uint8_t> mask_;
};

}  // namespace tulle
