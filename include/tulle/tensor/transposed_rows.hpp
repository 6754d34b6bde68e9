// SPDX-License-Identifier: Apache-2.0
/// \file A weight matrix whose file holds its transpose (L1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// The columns of another matrix as rows, turned once when this is made, as floats.
class TransposedRows final : public WeightSource {
 public:
  /// Errors: memory.
  explicit TransposedRows(const WeightSource& source)
      : rows_(source.columns()), columns_(source.rows()), values_(rows_ * columns_) {
    const CodeFormat format = source.code_format();
    if (format.bits == 0) floats_ = format.floats;
    std::vector<float> row(rows_);
    for (std::size_t column = 0; column < columns_; ++column) {
      source.decode_row(column, row.data());
      for (std::size_t i = 0; i < rows_; ++i) values_[i * columns_ + column] = row[i];
    }
  }

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return {.floats = floats_}; }
  std::size_t size_bytes() const noexcept override { return values_.size() * sizeof(float); }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const TransposedRows>(*this); }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) std::copy_n(&values_[rows[i] * columns_], columns_, out[i]);
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  std::size_t rows_, columns_;
  DType floats_ = DType::f32;
  std::vector<float> values_;  // [rows, columns]
};

}  // namespace tulle
