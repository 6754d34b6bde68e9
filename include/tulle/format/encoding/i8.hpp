// SPDX-License-Identifier: Apache-2.0
/// \file Rows of int8 codes: "P.weight" I8 beside "P.weight_scale" and perhaps "P.weight_zero_point" (L3).
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include <tulle/format/encoding/coded_rows.hpp>

namespace tulle {

class I8Rows final : public CodedRows {
 public:
  /// codes [rows, columns].
  I8Rows(std::unique_ptr<const MatrixBytes> codes, std::size_t rows, std::size_t columns, CodeScales scales)
      : CodedRows(rows, columns, 8, std::move(scales)), bytes_(std::move(codes)) {}

  std::size_t size_bytes() const noexcept override { return bytes_->span().size() + scale_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const I8Rows>(bytes_->copied(), rows(), columns(), code_scales());
  }

 private:
  void unpack(std::size_t row, std::byte* codes) const noexcept override {
    std::memcpy(codes, bytes_->span().data() + row * columns(), columns());
  }

  std::unique_ptr<const MatrixBytes> bytes_;
};

/// Errors: those of `read_code_scales`.
inline std::shared_ptr<const WeightSource> open_i8_rows(const TensorSource& source, const EncodedTensor& tensor) {
  CodeScales scales = read_code_scales(source, tensor, tensor.name, tensor.shape[0], tensor.shape[1], 8);
  return std::make_shared<const I8Rows>(std::make_unique<const MatrixBytes>(source, tensor), tensor.shape[0],
                                        tensor.shape[1], std::move(scales));
}

}  // namespace tulle
