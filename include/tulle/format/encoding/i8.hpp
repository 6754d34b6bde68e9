// SPDX-License-Identifier: Apache-2.0
/// \file Rows of int8 codes: "P.weight" I8, or U8 with an offset of -128, beside "P.weight_scale" and perhaps
/// "P.weight_zero_point" I8 (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/format/encoding/coded_rows.hpp>
#include <tulle/format/encoding/file_rows.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// `EncodedTensor::offset` of U8 codes: each is an int8 code plus 128.
inline constexpr float shifted_codes = -128;

namespace detail {

inline void unpack_i8(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept {
  std::memcpy(codes, storage.bytes->span().data() + row * columns, columns);
}

/// Of codes with 128 added.
inline void unpack_u8(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept {
  const std::byte* bytes = storage.bytes->span().data() + row * columns;
  for (std::size_t i = 0; i < columns; ++i) codes[i] = bytes[i] ^ std::byte{0x80};
}

/// The bytes of a matrix [columns, rows] as [rows, columns]. Errors: memory; those of reading.
inline std::unique_ptr<const MatrixBytes> transposed_bytes(const TensorSource& source, const EncodedTensor& tensor) {
  constexpr std::size_t tile = 64;  // rows and columns whose cache lines are used again
  const TensorBytes read(source, tensor);
  const std::size_t rows = tensor.shape[0], columns = tensor.shape[1];
  AlignedBuffer<std::byte> turned(read.span().size(), Uninitialized{});
  for (std::size_t first_row = 0; first_row < rows; first_row += tile) {
    for (std::size_t first = 0; first < columns; first += tile) {
      for (std::size_t row = first_row; row < std::min(first_row + tile, rows); ++row) {
        for (std::size_t column = first; column < std::min(first + tile, columns); ++column) {
          turned[row * columns + column] = read.span()[column * rows + row];
        }
      }
    }
  }
  return std::make_unique<const MatrixBytes>(std::move(turned));
}

}  // namespace detail

/// codes [rows, columns].
inline std::shared_ptr<const WeightSource> i8_rows(std::unique_ptr<const MatrixBytes> codes, std::size_t rows,
                                                   std::size_t columns, CodeScales scales) {
  return std::make_shared<const CodedRows>(CodeStorage{std::move(codes), nullptr, {}, detail::unpack_i8}, rows, columns,
                                           std::size_t{8}, std::move(scales));
}

/// Errors: those of `read_code_scales` and of reading.
inline std::shared_ptr<const WeightSource> open_i8_rows(const TensorSource& source, const EncodedTensor& tensor) {
  CodeScales scales = read_code_scales(source, tensor, tensor.name, tensor.shape[0], tensor.shape[1], 8);
  auto bytes = tensor.transposed ? detail::transposed_bytes(source, tensor)
                                 : std::make_unique<const MatrixBytes>(source, tensor);
  const auto unpack = tensor.dtype == DType::u8 ? detail::unpack_u8 : detail::unpack_i8;
  return std::make_shared<const CodedRows>(CodeStorage{std::move(bytes), nullptr, {}, unpack}, tensor.shape[0],
                                           tensor.shape[1], std::size_t{8}, std::move(scales));
}

}  // namespace tulle
