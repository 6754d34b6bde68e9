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

namespace detail {

/// Bit column % 8 of byte column / 8 of a row of the mask [rows, ceil(columns / 8)] is set for a nonzero. A row of
/// values begins at a whole byte.
inline const std::byte* mask_row(const CodeStorage& storage, std::size_t row, std::size_t columns) noexcept {
  return storage.mask->span().data() + row * ((columns + 7) / 8);
}

inline std::size_t count_nonzeros(const std::byte* mask, std::size_t columns) noexcept {
  std::size_t sum = 0;
  for (std::size_t at = 0; at < (columns + 7) / 8; ++at) {
    sum += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(mask[at])));
  }
  return sum;
}

/// Where every row of values begins: `bits` bits for each set bit of the mask. Errors: malformed for bits beyond the
/// columns, and when the values are not as many as the bits; `mask`: the tensor.
inline std::vector<std::size_t> find_begins(const CodeStorage& storage, std::size_t rows, std::size_t columns,
                                            std::size_t bits, const EncodedTensor& mask) {
  std::vector<std::size_t> begins(rows);
  std::size_t end = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::byte* bytes = mask_row(storage, row, columns);
    begins[row] = end;
    end += (count_nonzeros(bytes, columns) * bits + 7) / 8;
    if (columns % 8 != 0 && (static_cast<unsigned>(bytes[columns / 8]) >> (columns % 8)) != 0) {
      fail_tensor(mask, "has bits beyond its columns");
    }
  }
  if (end != storage.bytes->span().size()) fail_tensor(mask, "has not as many bits as there are values");
  return begins;
}

/// Moves the last `count` bytes of a row of `columns` bytes to where the bits of the mask are, and puts zeros between
/// them. A byte is never written before it is read: as many columns are left as values, or more.
inline void spread(const std::byte* mask, std::size_t count, std::size_t columns, std::byte* codes) noexcept {
  std::size_t next = columns - count;  // of the value that is moved next
  for (std::size_t at = 0, column = 0; column < columns; ++at) {
    const auto bits = static_cast<unsigned>(mask[at]);
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

inline void unpack_masked_8(const CodeStorage& storage, std::size_t row, std::size_t columns,
                            std::byte* codes) noexcept {
  const std::byte* mask = mask_row(storage, row, columns);
  const std::size_t count = count_nonzeros(mask, columns);
  std::copy_n(storage.bytes->span().data() + storage.begins[row], count, codes + (columns - count));
  spread(mask, count, columns, codes);
}

/// Codes of 4 bits: two's complement, the low half of a byte first.
inline void unpack_masked_4(const CodeStorage& storage, std::size_t row, std::size_t columns,
                            std::byte* codes) noexcept {
  const std::byte* mask = mask_row(storage, row, columns);
  const std::byte* values = storage.bytes->span().data() + storage.begins[row];
  const std::size_t count = count_nonzeros(mask, columns);
  std::byte* unpacked = codes + (columns - count);
  const auto code = [](int nibble) { return static_cast<std::byte>((nibble ^ 8) - 8); };
  for (std::size_t i = 0; i < count / 2; ++i) {
    unpacked[2 * i] = code(static_cast<int>(values[i]) & 15);
    unpacked[2 * i + 1] = code(static_cast<int>(values[i]) >> 4);
  }
  if (count % 2 != 0) unpacked[count - 1] = code(static_cast<int>(values[count / 2]) & 15);
  spread(mask, count, columns, codes);
}

}  // namespace detail

/// Plain numbers where the bits of a mask are, zeros elsewhere.
class BitmaskFloats final : public WeightSource {
 public:
  /// `storage` has a mask and begins.
  BitmaskFloats(CodeStorage storage, std::size_t rows, std::size_t columns, DType dtype)
      : storage_(std::move(storage)), rows_(rows), columns_(columns), dtype_(dtype) {}

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override {
    return {.floats = is_float_dtype(dtype_) ? dtype_ : is_f8_dtype(dtype_) ? DType::f16 : DType::f32};
  }
  std::size_t size_bytes() const noexcept override { return storage_.size_bytes(); }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const BitmaskFloats>(storage_.copied(), rows_, columns_, dtype_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::byte* mask = detail::mask_row(storage_, rows[i], columns_);
      const std::byte* value = storage_.bytes->span().data() + storage_.begins[rows[i]];
      for (std::size_t column = 0; column < columns_; ++column) {
        out[i][column] = 0;
        if (((static_cast<unsigned>(mask[column / 8]) >> (column % 8)) & 1) == 0) continue;
        decode_floats(dtype_, value, 1, out[i] + column);
        value += dtype_info(dtype_).block_bytes;
      }
    }
  }
  void codes(std::span<const std::uint32_t>, MatrixView<std::int8_t>, float*, float*) const noexcept override {}

 private:
  CodeStorage storage_;
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
  CodeStorage storage{std::make_unique<const MatrixBytes>(source, values),
                      std::make_unique<const MatrixBytes>(source, mask),
                      {},
                      bits == 4 ? detail::unpack_masked_4 : detail::unpack_masked_8};
  storage.begins = detail::find_begins(storage, rows, columns, bits, mask);
  if (is_float) return std::make_shared<const BitmaskFloats>(std::move(storage), rows, columns, values.dtype);
  CodeScales scales = read_code_scales(source, mask, weight, rows, columns, bits, shape[2]);
  return std::make_shared<const CodedRows>(std::move(storage), rows, columns, bits, std::move(scales));
}

}  // namespace tulle
