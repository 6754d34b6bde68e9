// SPDX-License-Identifier: Apache-2.0
/// \file A compressed weight matrix in memory: floats, or integer codes with scales (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// The values of a `MatrixOfCodes` or a `MatrixOfFloats` are shared by its copies. Threads: immutable.
class MatrixOfFloats final : public WeightSource {
 public:
  /// `values` [rows, columns], each exact in `type` (F32, F16 or BF16).
  MatrixOfFloats(std::size_t rows, std::size_t columns, std::vector<float> values, DType type)
      : rows_(rows),
        columns_(columns),
        values_(std::make_shared<const std::vector<float>>(std::move(values))),
        type_(type) {}

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return {.floats = type_}; }
  std::size_t size_bytes() const noexcept override { return rows_ * columns_ * (type_ == DType::f32 ? 4 : 2); }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const MatrixOfFloats>(*this); }
  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(values_->data() + rows[i] * columns_, columns_, out[i]);
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  std::size_t rows_, columns_;
  std::shared_ptr<const std::vector<float>> values_;
  DType type_;
};

class MatrixOfCodes final : public WeightSource {
 public:
  /// codes [rows, columns], scales and (unless empty) minimums [rows, groups] of `format`.
  struct Values {
    std::vector<std::int8_t> codes;
    std::vector<float> scales, minimums;
  };

  MatrixOfCodes(std::size_t rows, std::size_t columns, CodeFormat format, Values values)
      : rows_(rows), columns_(columns), format_(format), values_(std::make_shared<const Values>(std::move(values))) {
    const auto exact = [](float value) { return to_float(to_half(value)) == value; };
    format_.has_minimums = !values_->minimums.empty();
    format_.half_scales = std::all_of(values_->scales.begin(), values_->scales.end(), exact) &&
                          std::all_of(values_->minimums.begin(), values_->minimums.end(), exact);
  }

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return format_; }
  std::size_t size_bytes() const noexcept override {
    return rows_ * columns_ * format_.bits / 8 +
           (values_->scales.size() + values_->minimums.size()) * (format_.half_scales ? 2 : 4);
  }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const MatrixOfCodes>(*this); }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    const std::size_t groups = format_.groups(columns_), width = format_.group == 0 ? columns_ : format_.group;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int8_t* codes = values_->codes.data() + rows[i] * columns_;
      for (std::size_t column = 0; column < columns_; ++column) {
        const std::size_t at = rows[i] * groups + column / width;
        const float code = format_.has_minimums ? static_cast<float>(static_cast<std::uint8_t>(codes[column]))
                                                : static_cast<float>(codes[column]);
        out[i][column] = values_->scales[at] * code + (format_.has_minimums ? values_->minimums[at] : 0.0f);
      }
    }
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const std::size_t groups = format_.groups(columns_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::copy_n(values_->codes.data() + rows[i] * columns_, columns_, out[i]);
      std::copy_n(values_->scales.data() + rows[i] * groups, groups, scales + i * groups);
      if (format_.has_minimums) std::copy_n(values_->minimums.data() + rows[i] * groups, groups, minimums + i * groups);
    }
  }

 private:
  std::size_t rows_, columns_;
  CodeFormat format_;
  std::shared_ptr<const Values> values_;
};

}  // namespace tulle
