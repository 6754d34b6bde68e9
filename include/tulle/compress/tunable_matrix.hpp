// SPDX-License-Identifier: Apache-2.0
/// \file A compressed matrix whose values may move: floats, or codes and their scales (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/compress/adam.hpp>
#include <tulle/compress/compressed_matrix.hpp>
#include <tulle/compress/layer_plan.hpp>
#include <tulle/compress/quantizer.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Of codes every value has a float behind it, from which the code is rounded, and gradients pass the rounding as if it
/// were not there (Bengio et al. 2013, arXiv:1308.3432); scales move too (Esser et al. 2020, arXiv:1902.08153).
/// Threads: calls for different rows may run concurrently.
class TunableMatrix {
 public:
  /// `keeps_zeros`: values that are 0 stay so. `dense`: the matrix before compression, of the same shape. Behind a code
  /// stands first that float of those which round to it that is nearest to the dense value. Errors: memory.
  TunableMatrix(const WeightSource& source, const WeightSource& dense, bool keeps_zeros)
      : rows_(source.rows()),
        columns_(source.columns()),
        format_(source.code_format()),
        values_(rows_ * columns_),
        moves_(values_.size(), 1),
        adam_(values_.size()) {
    for (std::size_t row = 0; row < rows_; ++row) source.decode_row(row, values_.data() + row * columns_);
    double squares = 0;
    std::size_t nonzero = 0;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      if (values_[i] != 0) ++nonzero;
      if (values_[i] == 0 && keeps_zeros) moves_[i] = 0;
      squares += static_cast<double>(values_[i]) * static_cast<double>(values_[i]);
    }
    size_ = nonzero == 0 ? 0 : static_cast<float>(std::sqrt(squares / static_cast<double>(nonzero)));
    if (format_.bits == 0) return;
    const auto& codes = dynamic_cast<const MatrixOfCodes&>(source).values();
    start_scales_.assign(codes.scales.begin(), codes.scales.end());
    scale_change_.assign(start_scales_.size(), 0);
    scale_adam_ = Adam(start_scales_.size());
    for (std::size_t i = 0; i < start_scales_.size(); ++i) {
      zero_points_.push_back(codes.minimums.empty() ? 0 : std::nearbyint(-codes.minimums[i] / start_scales_[i]));
    }
    begin_near(dense);
  }

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }

  /// A row as it is multiplied: out [columns].
  void row(std::size_t row, float* out) const noexcept {
    const float* own = values_.data() + row * columns_;
    if (format_.bits == 0) {
      std::copy_n(own, columns_, out);
      return;
    }
    for (std::size_t j = 0; j < columns_; ++j) {
      const std::size_t group = group_of(row, j);
      out[j] = moves_[row * columns_ + j] == 0 ? 0 : scale(group) * static_cast<float>(code(own[j], group));
    }
  }

  /// One step along `gradient` [columns], that of `row`. `rate`: of a step in sizes of the matrix's values.
  void step(std::size_t row, std::span<float> gradient, const AdamStep& step) noexcept {
    const std::size_t begin = row * columns_;
    if (format_.bits != 0) step_scales(row, gradient, step);
    for (std::size_t j = 0; j < columns_; ++j) gradient[j] = moves_[begin + j] == 0 ? 0 : gradient[j];
    adam_.step(begin, gradient, step, size_ * step.rate, values_.data() + begin);
  }

  /// Keeps the present state as the best one, and goes back to it.
  void keep() {
    best_values_ = values_;
    best_change_ = scale_change_;
  }
  void restore() {
    values_ = best_values_;
    scale_change_ = best_change_;
  }

  /// As it is now, in the form in which it came.
  std::shared_ptr<const WeightSource> matrix() const {
    if (format_.bits == 0) return matrix_of_floats(rows_, columns_, format_.floats, values_);
    OwnedCodes made;
    for (std::size_t i = 0; i < start_scales_.size(); ++i) {
      made.scales.push_back(scale(i));
      if (format_.has_minimums) made.minimums.push_back(-scale(i) * zero_points_[i]);
    }
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::size_t group = group_of(i / columns_, i % columns_);
      const int own = moves_[i] == 0 ? 0 : code(values_[i], group);
      made.codes.push_back(static_cast<std::int8_t>(own + static_cast<int>(zero_points_[group])));
    }
    return matrix_of_codes(rows_, columns_, {.bits = format_.bits, .group = format_.group}, std::move(made));
  }

 private:
  static constexpr double min_size = 8;  ///< of a value, in steps between codes

  void begin_near(const WeightSource& dense) {
    constexpr float reach = 0.49f;  // of a step between codes
    double steps = 0;
    for (const float scale : start_scales_) steps += static_cast<double>(std::abs(scale));
    size_ = std::max(size_, static_cast<float>(min_size * steps / static_cast<double>(start_scales_.size())));
    std::vector<float> wanted(columns_);
    for (std::size_t row = 0; row < rows_; ++row) {
      dense.decode_row(row, wanted.data());
      for (std::size_t j = 0; j < columns_; ++j) {
        float& value = values_[row * columns_ + j];
        if (moves_[row * columns_ + j] == 0) continue;
        const float far = reach * std::abs(start_scales_[group_of(row, j)]);
        value = std::clamp(wanted[j], value - far, value + far);
      }
    }
  }

  std::size_t width() const noexcept { return format_.group == 0 ? columns_ : format_.group; }
  std::size_t group_of(std::size_t row, std::size_t column) const noexcept {
    return row * format_.groups(columns_) + column / width();
  }
  float scale(std::size_t group) const noexcept {
    return stored_scale(format_, start_scales_[group] * (1 + scale_change_[group]));
  }
  /// The lowest and the highest code, without the zero point.
  float lowest(std::size_t group) const noexcept {
    return format_.has_minimums ? -zero_points_[group] : -static_cast<float>(1 << (format_.bits - 1));
  }
  float highest(std::size_t group) const noexcept {
    return lowest(group) + static_cast<float>((1 << format_.bits) - 1);
  }
  int code(float value, std::size_t group) const noexcept {
    return static_cast<int>(std::nearbyint(std::clamp(value / scale(group), lowest(group), highest(group))));
  }

  /// The step of the scales of a row. Values that are cut off pass no gradient, only their scales get it.
  void step_scales(std::size_t row, std::span<float> gradient, const AdamStep& step) noexcept {
    for (std::size_t first = 0; first < columns_; first += width()) {
      const std::size_t group = group_of(row, first), end = std::min(columns_, first + width());
      const float own = scale(group);
      float sum = 0;
      for (std::size_t j = first; j < end; ++j) {
        if (moves_[row * columns_ + j] == 0) continue;
        const float value = values_[row * columns_ + j], position = value / own;
        const bool inside = position >= lowest(group) && position <= highest(group);
        sum += gradient[j] * (static_cast<float>(code(value, group)) - (inside ? position : 0.0f));
        if (!inside) gradient[j] = 0;
      }
      float change = sum * start_scales_[group];
      scale_adam_.step(group, {&change, 1}, step, step.rate, &scale_change_[group]);
    }
  }

  std::size_t rows_, columns_;
  CodeFormat format_;
  std::vector<float> values_, best_values_;  // [rows, columns]
  std::vector<std::uint8_t> moves_;          // [rows, columns]
  float size_ = 0;                           // of a value: root of the mean square, without zeros
  Adam adam_;
  std::vector<float> start_scales_, zero_points_, scale_change_, best_change_;  // [rows, groups]; change: a share
  Adam scale_adam_{0};
};

}  // namespace tulle
