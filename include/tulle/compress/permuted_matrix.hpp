// SPDX-License-Identifier: Apache-2.0
/// \file A weight matrix with its rows and columns in another order (L5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/compress/solved_matrix.hpp>
#include <tulle/core/half.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Floats over another source, which is read as they are asked for. Values of codes are rounded to F16, as those that
/// compression stores. Threads: immutable.
class PermutedMatrix final : public WeightSource {
 public:
  using Order = std::vector<std::uint32_t>;  ///< old index of each new one

  /// Without an order of the rows or of the columns these stay where they are.
  PermutedMatrix(std::shared_ptr<const WeightSource> source, Order rows, Order columns)
      : source_(std::move(source)), row_order_(std::move(rows)), column_order_(std::move(columns)) {}

  std::size_t rows() const noexcept override { return source_->rows(); }
  std::size_t columns() const noexcept override { return source_->columns(); }
  CodeFormat code_format() const noexcept override { return {.floats = stored_type(*source_)}; }
  std::size_t size_bytes() const noexcept override { return source_->size_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const PermutedMatrix>(source_->copied(), row_order_, column_order_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    const bool rounds = source_->code_format().bits != 0;
    std::vector<float> values(columns());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      source_->decode_row(row_order_.empty() ? rows[i] : row_order_[rows[i]], values.data());
      for (std::size_t j = 0; j < values.size(); ++j) {
        const float value = values[column_order_.empty() ? j : column_order_[j]];
        out[i][j] = rounds ? to_float(to_half(value)) : value;
      }
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  std::shared_ptr<const WeightSource> source_;
  Order row_order_, column_order_;
};

}  // namespace tulle
