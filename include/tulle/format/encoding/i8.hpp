// SPDX-License-Identifier: Apache-2.0
/// \file Rows of int8 codes with one scale per row, or one for all: "P.weight" I8 beside "P.weight_scale" (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

/// The name of the scales of a weight tensor.
inline std::string scale_name(std::string_view weight_name) {
  return std::string(weight_name) + "_scale";
}

class I8Rows final : public WeightSource {
 public:
  /// codes [rows, columns]; scales: one per row, or one.
  I8Rows(std::unique_ptr<const MatrixBytes> codes, std::size_t rows, std::size_t columns, std::vector<float> scales)
      : bytes_(std::move(codes)), rows_(rows), columns_(columns), scales_(std::move(scales)) {
    if (scales_.size() == 1) scales_.resize(rows, scales_[0]);
  }

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return {.bits = 8}; }
  std::size_t size_bytes() const noexcept override { return rows_ * (columns_ + sizeof(float)); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const I8Rows>(bytes_->copied(), rows_, columns_, scales_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::byte* codes = row(rows[i]);
      for (std::size_t column = 0; column < columns_; ++column) {
        out[i][column] = static_cast<float>(static_cast<std::int8_t>(codes[column])) * scales_[rows[i]];
      }
    }
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float*) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::memcpy(out[i], row(rows[i]), columns_);
      scales[i] = scales_[rows[i]];
    }
  }

 private:
  const std::byte* row(std::size_t index) const noexcept { return bytes_->span().data() + index * columns_; }

  std::unique_ptr<const MatrixBytes> bytes_;
  std::size_t rows_, columns_;
  std::vector<float> scales_;
};

/// Errors: not_found without scales, malformed where they are neither one per row nor one.
inline std::shared_ptr<const WeightSource> open_i8_rows(const TensorSource& source, const EncodedTensor& tensor) {
  const EncodedTensor* scale = source.find(scale_name(tensor.name));
  if (scale == nullptr) {
    fail(ErrorCode::not_found, "I8 tensor \"", tensor.name, "\" has no \"", scale_name(tensor.name),
         "\"; is the checkpoint complete?");
  }
  const std::size_t count = scale->elements(), rows = tensor.shape[0];
  if (count != 1 && count != rows) {
    fail(ErrorCode::malformed, "tensor \"", scale->name, "\" has ", count, " elements where ", rows,
         " (one per row) or one are needed");
  }
  std::vector<float> scales = read_floats(source, *scale);
  return std::make_shared<const I8Rows>(std::make_unique<const MatrixBytes>(source, tensor), rows, tensor.shape[1],
                                        std::move(scales));
}

}  // namespace tulle
