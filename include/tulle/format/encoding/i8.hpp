// SPDX-License-Identifier: Apache-2.0
/// \file Rows of int8 codes: "P.weight" I8 beside "P.weight_scale" and perhaps "P.weight_zero_point" (L3).
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>

#include <tulle/format/encoding/coded_rows.hpp>

namespace tulle {

namespace detail {

inline void unpack_i8(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept {
  std::memcpy(codes, storage.bytes->span().data() + row * columns, columns);
}

}  // namespace detail

/// codes [rows, columns].
inline std::shared_ptr<const WeightSource> i8_rows(std::unique_ptr<const MatrixBytes> codes, std::size_t rows,
                                                   std::size_t columns, CodeScales scales) {
  return std::make_shared<const CodedRows>(CodeStorage{std::move(codes), nullptr, {}, detail::unpack_i8}, rows, columns,
                                           std::size_t{8}, std::move(scales));
}

/// Errors: those of `read_code_scales`.
inline std::shared_ptr<const WeightSource> open_i8_rows(const TensorSource& source, const EncodedTensor& tensor) {
  CodeScales scales = read_code_scales(source, tensor, tensor.name, tensor.shape[0], tensor.shape[1], 8);
  return i8_rows(std::make_unique<const MatrixBytes>(source, tensor), tensor.shape[0], tensor.shape[1],
                 std::move(scales));
}

}  // namespace tulle
