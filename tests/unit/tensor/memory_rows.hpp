// SPDX-License-Identifier: Apache-2.0
/// \file Weight matrices in memory, for tests of the tensor layer.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/tensor/weight_source.hpp>

namespace tulle::testing {

/// Rows of floats, or of codes with a scale per row that is 1 for the first row, 2 for the second, ... and a minimum of
/// minus that.
class MemoryRows final : public WeightSource {
 public:
  MemoryRows(std::size_t columns, std::vector<float> values, CodeFormat format = {})
      : columns_(columns), values_(std::move(values)), format_(format) {}

  std::size_t rows() const noexcept override { return values_.size() / columns_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return format_; }
  std::size_t size_bytes() const noexcept override { return values_.size() * sizeof(float); }
  std::shared_ptr<const WeightSource> copied() const override { return std::make_shared<const MemoryRows>(*this); }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t k = 0; k < columns_; ++k) out[i][k] = values_[rows[i] * columns_ + k];
    }
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      scales[i] = static_cast<float>(rows[i] + 1);
      if (minimums != nullptr) minimums[i] = -scales[i];
      for (std::size_t k = 0; k < columns_; ++k) out[i][k] = static_cast<std::int8_t>(values_[rows[i] * columns_ + k]);
    }
  }

 private:
  std::size_t columns_;
  std::vector<float> values_;
  CodeFormat format_;
};

}  // namespace tulle::testing
