// SPDX-License-Identifier: Apache-2.0
/// \file Rows of which only the nonzeros are stored, beside a bit for every weight (L3). The form: format/README.md.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/format/encoding/coded_rows.hpp>

namespace tulle {

/// The nonzeros of a matrix and where they are: bit column % 8 of byte column / 8 of a row of the mask. A row of values
/// begins at a whole byte.
class MaskedValues {
 public:
  /// mask [rows, ceil(columns / 8)]; values: `bits` bits for each set bit. Errors: malformed for bits beyond the
  /// columns, and when the values are not as many as the bits; `tensor`: the mask.
  MaskedValues(std::unique_ptr<const MatrixBytes> mask, std::unique_ptr<const MatrixBytes> values, std::size_t rows,
               std::size_t columns, std::size_t bits, const EncodedTensor& tensor)
      : mask_(std::move(mask)), values_(std::move(values)), mask_bytes_((columns + 7) / 8), bits_(bits), begins_(rows) {
    std::size_t end = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      begins_[row] = end;
      end += (count(row) * bits + 7) / 8;
      const std::byte last = mask_bytes_ == 0 ? std::byte{0} : mask_row(row)[mask_bytes_ - 1];
      if (columns % 8 != 0 && (static_cast<unsigned>(last) >> (columns % 8)) != 0) {
        detail::fail_tensor(tensor, "has bits beyond its columns");
      }
    }
    if (end != values_->span().size()) detail::fail_tensor(tensor, "has not as many bits as there are values");
  }

  std::size_t size_bytes() const noexcept { return mask_->span().size() + values_->span().size(); }

  MaskedValues copied() const { return {mask_->copied(), values_->copied(), mask_bytes_, bits_, begins_}; }

  /// Calls put(column, address of the row's values, which of them it is) for every nonzero of a row.
  template <class Put>
  void for_each(std::size_t row, Put put) const noexcept {
    std::size_t index = 0;
    for (std::size_t at = 0; at < mask_bytes_; ++at) {
      for (auto bits = static_cast<unsigned>(mask_row(row)[at]); bits != 0; bits &= bits - 1) {
        put(at * 8 + static_cast<std::size_t>(std::countr_zero(bits)), values(row), index++);
      }
    }
  }

  std::size_t count(std::size_t row) const noexcept {
    std::size_t sum = 0;
    for (std::size_t at = 0; at < mask_bytes_; ++at) {
      sum += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(mask_row(row)[at])));
    }
    return sum;
  }

  const std::byte* values(std::size_t row) const noexcept { return values_->span().data() + begins_[row]; }

  /// Moves the last `count(row)` bytes of a row of `columns` bytes to where the bits are, and puts zeros between them.
  /// A byte is never written before it is read: as many columns are left as values, or more.
  void spread(std::size_t row, std::size_t columns, std::byte* codes) const noexcept {
    std::size_t next = columns - count(row);  // of the value that is moved next
    for (std::size_t at = 0, column = 0; at < mask_bytes_; ++at) {
      const auto bits = static_cast<unsigned>(mask_row(row)[at]);
      if (columns - next >= 8) {
        for (unsigned i = 0; i < 8; ++i, ++column) {  // no branch: bits are as good as random
          const unsigned bit = (bits >> i) & 1;
          codes[column] = codes[next] & static_cast<std::byte>(0 - bit);
          next += bit;
        }
      } else {
        for (unsigned i = 0; i < 8 && column < columns; ++i, ++column) {
          codes[column] = ((bits >> i) & 1) != 0 ? codes[next++] : std::byte{0};
        }
      }
    }
  }

 private:
  MaskedValues(std::unique_ptr<const MatrixBytes> mask, std::unique_ptr<const MatrixBytes> values,
               std::size_t mask_bytes, std::size_t bits, std::vector<std::size_t> begins)
      : mask_(std::move(mask)),
        values_(std::move(values)),
        mask_bytes_(mask_bytes),
        bits_(bits),
        begins_(std::move(begins)) {}

  const std::byte* mask_row(std::size_t row) const noexcept { return mask_->span().data() + row * mask_bytes_; }

  std::unique_ptr<const MatrixBytes> mask_, values_;
  std::size_t mask_bytes_, bits_;
  std::vector<std::size_t> begins_;  // byte of every row's first value
};

/// Codes of 4 bits (two's complement, the low half of a byte first) or 8.
class BitmaskCodes final : public CodedRows {
 public:
  BitmaskCodes(MaskedValues values, std::size_t rows, std::size_t columns, std::size_t bits, CodeScales scales)
      : CodedRows(rows, columns, bits, std::move(scales)), values_(std::move(values)), bits_(bits) {}

  std::size_t size_bytes() const noexcept override { return values_.size_bytes() + scale_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const BitmaskCodes>(values_.copied(), rows(), columns(), bits_, code_scales());
  }

 private:
  void unpack(std::size_t row, std::byte* codes) const noexcept override {
    const std::byte* values = values_.values(row);
    const std::size_t count = values_.count(row);
    std::byte* unpacked = codes + (columns() - count);
    if (bits_ == 8) {
      std::copy_n(values, count, unpacked);
    } else {
      const auto code = [](int nibble) { return static_cast<std::byte>((nibble ^ 8) - 8); };
      for (std::size_t i = 0; i < count / 2; ++i) {
        unpacked[2 * i] = code(static_cast<int>(values[i]) & 15);
        unpacked[2 * i + 1] = code(static_cast<int>(values[i]) >> 4);
      }
      if (count % 2 != 0) unpacked[count - 1] = code(static_cast<int>(values[count / 2]) & 15);
    }
    values_.spread(row, columns(), codes);
  }

  MaskedValues values_;
  std::size_t bits_;
};

/// F32, F16 or BF16.
class BitmaskFloats final : public WeightSource {
 public:
  BitmaskFloats(MaskedValues values, std::size_t rows, std::size_t columns, DType dtype)
      : values_(std::move(values)), rows_(rows), columns_(columns), dtype_(dtype) {}

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return {.floats = dtype_}; }
  std::size_t size_bytes() const noexcept override { return values_.size_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const BitmaskFloats>(values_.copied(), rows_, columns_, dtype_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    const std::size_t bytes = dtype_info(dtype_).block_bytes;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::fill_n(out[i], columns_, 0.0f);
      values_.for_each(rows[i], [&](std::size_t column, const std::byte* values, std::size_t index) {
        decode_floats(dtype_, values + index * bytes, 1, out[i] + column);
      });
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  MaskedValues values_;
  std::size_t rows_, columns_;
  DType dtype_;
};

/// `mask`: "P.weight_mask" U8 beside "P.weight_shape" I64 [3] (rows, columns, columns that share a scale or 0),
/// "P.weight_values" and, for codes, "P.weight_scale". Errors: not_found, malformed and unsupported, with the tensor's
/// name.
inline std::shared_ptr<const WeightSource> open_bitmask_rows(const TensorSource& source, const EncodedTensor& mask) {
  const std::string weight = mask.name.substr(0, mask.name.rfind('_'));
  const auto shape = detail::read_sizes(source, detail::find_beside(source, weight + "_shape", mask), 3);
  const std::size_t rows = shape[0], columns = shape[1];
  if (mask.dtype != DType::u8 || columns == 0 || !detail::has_shape(mask, rows, (columns + 7) / 8)) {
    detail::fail_tensor(mask, "must be U8 with a bit for each weight of its \"weight_shape\"");
  }
  const EncodedTensor& values = detail::find_beside(source, weight + "_values", mask);
  const bool is_float = is_float_dtype(values.dtype);
  if (!is_float && values.dtype != DType::i8 && values.dtype != DType::u8) {
    detail::fail_tensor(values, "is not U8, I8 or floats");
  }
  const std::size_t bits = values.dtype == DType::u8 ? 4 : 8 * dtype_info(values.dtype).block_bytes;
  MaskedValues nonzeros(std::make_unique<const MatrixBytes>(source, mask),
                        std::make_unique<const MatrixBytes>(source, values), rows, columns, bits, mask);
  if (is_float) return std::make_shared<const BitmaskFloats>(std::move(nonzeros), rows, columns, values.dtype);
  CodeScales scales = read_code_scales(source, mask, weight, rows, columns, bits, shape[2]);
  return std::make_shared<const BitmaskCodes>(std::move(nonzeros), rows, columns, bits, std::move(scales));
}

}  // namespace tulle
