// SPDX-License-Identifier: Apache-2.0
/// \file Matrices whose rows lie in a file one after the other, each encoded alone (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/error.hpp>
#include <tulle/format/encoding/block_layout.hpp>
#include <tulle/tensor/encoded_tensor.hpp>
#include <tulle/tensor/float_elements.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// How one row of `columns` elements is stored: as blocks of codes, a whole number of them, or as plain numbers.
struct RowEncoding {
  DType dtype;
  CodeFormat format;
  BlockLayout blocks{};

  /// out [columns].
  void decode(const std::byte* row, std::size_t columns, float* out) const noexcept {
    if (format.bits == 0) return decode_floats(dtype, row, columns, out);
    detail::decode_blocks(blocks, dtype, format, row, columns, out);
  }

  /// Of blocks: codes [columns], scales and minimums as `WeightSource::codes` gives those of a row.
  void codes(const std::byte* row, std::size_t columns, std::int8_t* codes, float* scales,
             float* minimums) const noexcept {
    detail::unpack_blocks_of(blocks, dtype, format, row, columns, codes, scales, minimums);
  }
};

/// The bytes of a matrix: a tensor's, or a copy of them.
class MatrixBytes {
 public:
  /// Lifetime: that of `source`. Errors: those of reading.
  MatrixBytes(const TensorSource& source, const EncodedTensor& tensor) : read_(std::in_place, source, tensor) {}

  /// Bytes that the caller keeps.
  explicit MatrixBytes(std::span<const std::byte> bytes) noexcept : kept_(bytes) {}

  /// Bytes of its own.
  explicit MatrixBytes(AlignedBuffer<std::byte> bytes) noexcept : own_(std::move(bytes)), kept_(own_.span()) {}

  std::span<const std::byte> span() const noexcept { return read_ ? read_->span() : kept_; }

  /// Errors: memory.
  std::unique_ptr<const MatrixBytes> copied() const {
    AlignedBuffer<std::byte> copy(span().size(), Uninitialized{});
    std::copy(span().begin(), span().end(), copy.data());
    return std::make_unique<const MatrixBytes>(std::move(copy));
  }

 private:
  std::optional<TensorBytes> read_;
  AlignedBuffer<std::byte> own_;
  std::span<const std::byte> kept_;
};

/// A matrix of such rows.
class FileRows final : public WeightSource {
 public:
  /// `bytes` hold `rows` rows of `columns` elements. Lifetime: that of the encoding, which is a constant.
  /// Errors: malformed when a row is no whole number of blocks.
  FileRows(const RowEncoding& encoding, std::unique_ptr<const MatrixBytes> bytes, std::size_t rows, std::size_t columns)
      : encoding_(encoding),
        bytes_(std::move(bytes)),
        data_(bytes_->span().data()),
        rows_(rows),
        columns_(columns),
        row_bytes_(dtype_bytes(encoding.dtype, columns, "a row of weights")) {}

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return encoding_.format; }
  std::size_t size_bytes() const noexcept override { return rows_ * row_bytes_; }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const FileRows>(encoding_, bytes_->copied(), rows_, columns_);
  }
  std::span<const std::byte> bytes() const noexcept override { return {data_, size_bytes()}; }
  std::shared_ptr<const WeightSource> over(std::span<const std::byte> bytes) const override {
    if (bytes.empty() || bytes.size() != size_bytes()) return nullptr;
    return std::make_shared<const FileRows>(encoding_, std::make_unique<const MatrixBytes>(bytes), rows_, columns_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) encoding_.decode(data_ + rows[i] * row_bytes_, columns_, out[i]);
  }
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override {
    const std::size_t per_row = encoding_.format.scales_per_row(columns_);
    for (std::size_t i = 0; i < rows.size(); ++i, scales += per_row) {
      encoding_.codes(data_ + rows[i] * row_bytes_, columns_, out[i], scales, minimums);
      if (encoding_.format.has_minimums) minimums += per_row;
    }
  }

 private:
  const RowEncoding& encoding_;
  std::unique_ptr<const MatrixBytes> bytes_;
  const std::byte* data_;
  std::size_t rows_, columns_, row_bytes_;
};

/// Opens the matrix that a tensor [rows, columns] holds. Lifetime: that of the encoding, which is a constant.
inline std::shared_ptr<const WeightSource> open_rows(const RowEncoding& encoding, const TensorSource& source,
                                                     const EncodedTensor& tensor) {
  return std::make_shared<const FileRows>(encoding, std::make_unique<const MatrixBytes>(source, tensor),
                                          tensor.shape[0], tensor.shape[1]);
}

}  // namespace tulle
