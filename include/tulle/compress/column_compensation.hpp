// SPDX-License-Identifier: Apache-2.0
/// \file SparseGPT and GPTQ: column by column, with the error of a column made good by those that follow (L5).
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
#include <tulle/compress/quantizer.hpp>
#include <tulle/compress/sparsity_mask.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/tensor/matrix.hpp>

namespace tulle {

/// Integer codes of a matrix and their scales.
template <class T>
struct CodedMatrix {
  std::vector<std::int8_t> codes;    ///< [rows, columns]
  std::vector<CodeScale<T>> scales;  ///< [rows, groups]
};

/// Groups of columns that share a scale.
inline std::size_t scale_groups(const QuantizationPlan& plan, std::size_t columns) noexcept {
  return plan.group == 0 ? 1 : (columns + plan.group - 1) / plan.group;
}

/// U, the upper Cholesky factor of H^-1 = U^T U. Errors: malformed where H is not positive definite.
template <class T>
BasicMatrix<T> inverse_factor(const BasicMatrix<T>& hessian) {
  BasicMatrix<T> lower = hessian;
  bool factored = factor_cholesky(lower.view());
  if (factored) {
    invert_factored(lower.view());
    factored = factor_cholesky(lower.view());
  }
  if (!factored) fail(ErrorCode::malformed, "the inverse of a layer's Hessian cannot be factored; give more damping");
  BasicMatrix<T> upper(hessian.rows, hessian.columns);
  for (std::size_t i = 0; i < upper.rows; ++i) {
    for (std::size_t j = i; j < upper.columns; ++j) upper[i][j] = lower[j][i];
  }
  return upper;
}

/// The loop of SparseGPT (arXiv:2301.00774, algorithm 1) and of GPTQ (arXiv:2210.17323, algorithm 1), which is the same
/// without a mask that is sought.
template <class T>
class ColumnCompensation {
 public:
  /// `upper` as `inverse_factor` gives it; all must outlive the object. Without `pruning` the mask given to `run` stays.
  ColumnCompensation(const BasicMatrix<T>& upper, const PruningPlan* pruning, const QuantizationPlan* quantization,
                     ThreadPool& pool)
      : upper_(upper), pruning_(pruning), quantization_(quantization), pool_(pool) {
    if (pruning != nullptr && pruning->block_size != 0) block_ = pruning->block_size;
    const auto fits = [&](std::size_t group) { return group == 0 || block_ % group == 0; };
    if (!fits(quantization == nullptr ? 0 : quantization->group) || !fits(balanced() ? pruning->structure.of : 0)) {
      fail(ErrorCode::invalid_argument, "a block of ", block_, " columns has no whole number of groups");
    }
    if (quantization == nullptr || quantization->method != QuantizationMethod::descent) return;
    for (std::size_t j = 0; j < upper.rows; ++j) importance_.push_back(1 / (upper[j][j] * upper[j][j]));
  }

  /// Prunes and quantizes `weights` [rows, columns] in place. `mask` [rows, columns] is filled where a mask is sought,
  /// else read: weights off it are 0. `fixed_scales`: of the dense weights, else those of a group are found when the
  /// loop arrives there. Rows of several matrices share a threshold per block only inside of a matrix: `parts`.
  /// Returns the sum of squared errors over the squared diagonal of U, halved. Errors: memory.
  double run(BasicMatrix<T>& weights, std::span<const std::size_t> parts, std::vector<std::uint8_t>& mask,
             CodedMatrix<T>* coded, bool fixed_scales) {
    const std::size_t rows = weights.rows, n = weights.columns;
    std::vector<double> losses((rows + block_of_rows - 1) / block_of_rows);
    const std::vector<std::uint8_t> existing = existing_weights(weights);
    if (coded != nullptr) {
      coded->codes.assign(rows * n, 0);
      if (!fixed_scales) coded->scales.assign(rows * scale_groups(*quantization_, n), {});
      if (!fixed_scales && quantization_->group == 0) {
        for (std::size_t row = 0; row < rows; ++row) {
          coded->scales[row] = find_scale<T>({weights[row], n}, pruning_ == nullptr ? &mask[row * n] : nullptr,
                                             *quantization_, importance(0));
        }
      }
    }
    for (std::size_t begin = 0; begin < n; begin += block_) {
      const std::size_t end = std::min(n, begin + block_);
      if (pruning_ != nullptr && !balanced()) choose_in_block(weights, parts, existing, begin, end, mask);
      for_row_blocks(pool_, rows, block_of_rows, [&](RowRange range) {
        losses[range.begin / block_of_rows] +=
            run_block(weights, range, begin, end, existing, mask, coded, fixed_scales);
      });
    }
    double loss = 0;
    for (const double part : losses) loss += part;
    return loss;
  }

 private:
  bool balanced() const noexcept {
    return pruning_ != nullptr && pruning_->structure.kind == SparsityStructure::Kind::balanced;
  }

  /// 1 where a weight may stay; empty: all.
  std::vector<std::uint8_t> existing_weights(const BasicMatrix<T>& weights) const {
    std::vector<std::uint8_t> existing;
    if (pruning_ == nullptr || !pruning_->keep_existing_zeros) return existing;
    for (const T value : weights.values) existing.push_back(value == 0 ? 0 : 1);
    return existing;
  }

  /// w^2 / U_ii^2 of all rows and of the columns of a block: those up to the threshold are pruned, of which there are
  /// at least rows * columns * sparsity.
  void choose_in_block(const BasicMatrix<T>& weights, std::span<const std::size_t> parts,
                       std::span<const std::uint8_t> existing, std::size_t begin, std::size_t end,
                       std::vector<std::uint8_t>& mask) {
    const std::size_t n = weights.columns, width = end - begin;
    std::size_t first = 0;
    const auto sets = pruning_->structure.kind == SparsityStructure::Kind::row
                          ? std::vector<std::size_t>(weights.rows, 1)
                          : std::vector<std::size_t>(parts.begin(), parts.end());
    for (const std::size_t rows : sets) {
      std::vector<T> scores;
      scores.reserve(rows * width);
      for (std::size_t row = first; row < first + rows; ++row) {
        for (std::size_t j = begin; j < end; ++j) {
          const T score = weights[row][j] / upper_[j][j];
          scores.push_back(!existing.empty() && existing[row * n + j] == 0 ? T{0} : score * score);
        }
      }
      std::vector<T> sorted = scores;
      const auto index = static_cast<std::size_t>(static_cast<double>(sorted.size()) * pruning_->sparsity);
      const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(index, sorted.size() - 1));
      std::nth_element(sorted.begin(), at, sorted.end());
      for (std::size_t i = 0; i < scores.size(); ++i) {
        mask[(first + i / width) * n + begin + i % width] = scores[i] <= *at ? 0 : 1;
      }
      first += rows;
    }
  }

  void choose_in_group(const T* weights, std::size_t column, const std::uint8_t* existing,
                       std::uint8_t* mask) const noexcept {
    const SparsityStructure& structure = pruning_->structure;
    std::array<T, 64> scores;
    for (std::size_t i = 0; i < structure.of; ++i) {
      const bool may_stay = existing == nullptr || existing[i] != 0;
      scores[i] = may_stay ? weights[i] / upper_[column + i][column + i] : T{0};
    }
    const std::span<const T> group(scores.data(), structure.of);
    if (structure.max_gap == 0) {
      detail::keep_balanced(group, structure.keep, structure.of, mask);
    } else {
      detail::keep_with_gaps(group, structure.keep, structure.of, structure.max_gap, mask);
    }
    for (std::size_t i = 0; existing != nullptr && i < structure.of; ++i) mask[i] &= existing[i];
  }

  /// Columns [begin, end) of some rows, and what they leave to the columns that follow. Returns the loss.
  double run_block(BasicMatrix<T>& weights, RowRange range, std::size_t begin, std::size_t end,
                   std::span<const std::uint8_t> existing, std::vector<std::uint8_t>& mask, CodedMatrix<T>* coded,
                   bool fixed_scales) const {
    const std::size_t n = weights.columns, width = end - begin;
    const std::size_t groups = coded == nullptr ? 1 : scale_groups(*quantization_, n);
    BasicMatrix<T> errors(range.count(), width);
    double loss = 0;
    for (std::size_t row = range.begin; row < range.end; ++row) {
      T* w = weights[row];
      std::uint8_t* on = mask.data() + row * n;
      for (std::size_t j = begin; j < end; ++j) {
        if (balanced() && (j - begin) % pruning_->structure.of == 0) {
          choose_in_group(w + j, j, existing.empty() ? nullptr : &existing[row * n + j], on + j);
        }
        T kept = on[j] != 0 ? w[j] : T{0};
        if (coded != nullptr) {
          const std::size_t group = quantization_->group == 0 ? 0 : j / quantization_->group;
          CodeScale<T>& scale = coded->scales[row * groups + group];
          if (!fixed_scales && quantization_->group != 0 && j % quantization_->group == 0) {
            scale =
                find_scale<T>({w + j, std::min(quantization_->group, n - j)}, on + j, *quantization_, importance(j));
          }
          const int code = on[j] != 0 ? scale.code(kept) : scale.zero_point;
          coded->codes[row * n + j] = static_cast<std::int8_t>(code);
          kept = scale.value(code);
        }
        const T* u = upper_[j];
        const T error = (w[j] - kept) / u[j];
        loss += 0.5 * static_cast<double>(error) * static_cast<double>(error);
        for (std::size_t k = j + 1; k < end; ++k) w[k] -= error * u[k];
        w[j] = kept;
        errors[row - range.begin][j - begin] = error;
      }
    }
    if (end < n) {
      const MatrixView<T> rest(weights[range.begin] + end, range.count(), n - end, n);
      const MatrixView<const T> rows(upper_[begin] + end, width, n - end, n);
      multiply_matrices<T>(std::as_const(errors).view(), Transposed::no, rows, Transposed::no, T{-1}, T{1}, rest);
    }
    return loss;
  }

  /// What an error of 1 costs in each column from `column` on; null: the same in all.
  const T* importance(std::size_t column) const noexcept {
    return importance_.empty() ? nullptr : importance_.data() + column;
  }

  const BasicMatrix<T>& upper_;
  const PruningPlan* pruning_;
  const QuantizationPlan* quantization_;
  ThreadPool& pool_;
  std::vector<T> importance_;  // [columns], or empty
  std::size_t block_ = 128;    ///< columns whose mask is found, and whose errors are passed on, at once
};

}  // namespace tulle
