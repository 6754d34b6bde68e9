// SPDX-License-Identifier: Apache-2.0
/// \file The sparse forms of compressed-tensors up to 0.14: a bit for every weight and the nonzeros (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/encoding/bitmask.hpp>
#include <tulle/format/encoding/coded_rows.hpp>
#include <tulle/format/encoding/f8.hpp>

namespace tulle {

namespace detail {

/// sparse-24-bitmask: two bits in each group of 4 columns, also where a value that is kept is 0.
inline void check_two_of_four(const CodeStorage& storage, std::size_t columns, const EncodedTensor& mask) {
  bool is_right = columns % 4 == 0;
  const auto bytes = storage.mask->span();
  const std::size_t in_row = (columns + 7) / 8;
  for (std::size_t at = 0; at < bytes.size() && is_right; ++at) {
    const auto bits = static_cast<unsigned>(bytes[at]);
    const bool is_half = columns % 8 != 0 && at % in_row == in_row - 1;
    is_right = std::popcount(bits & 15) == 2 && (is_half || std::popcount(bits >> 4) == 2);
  }
  if (!is_right) fail_tensor(mask, "has not two bits in every group of 4");
}

/// What lies beside "Q.bitmask": "Q.shape" I64, "Q.compressed". Row offsets are computed anew.
struct SparseTensor {
  Sizes shape;  // rows, columns
  const EncodedTensor& values;
  CodeStorage storage;
};

/// `dimensions`: 1 or 2. Errors: not_found, malformed and unsupported, with the tensor's name.
inline SparseTensor read_sparse_tensor(const TensorSource& source, const EncodedTensor& mask, std::size_t dimensions) {
  const std::string stem = mask.name.substr(0, mask.name.rfind('.') + 1);
  Sizes shape = read_sizes(source, find_beside(source, stem + "shape", mask), dimensions);
  if (dimensions == 1) shape = {1, shape[0]};
  const std::size_t in_row = (shape[1] + 7) / 8;
  if (mask.dtype != DType::u8 || mask.shape.size() != dimensions || mask.shape.back() != in_row || shape[1] == 0 ||
      mask.elements() != shape[0] * in_row) {
    fail_tensor(mask, "must be U8 with a bit for each element of its \"shape\"");
  }
  const EncodedTensor& values = find_beside(source, stem + "compressed", mask);
  if (!is_number_dtype(values.dtype)) fail_tensor(values, "holds no numbers", ErrorCode::unsupported);
  CodeStorage storage{std::make_unique<const MatrixBytes>(source, values),
                      std::make_unique<const MatrixBytes>(source, mask),
                      {},
                      unpack_masked_8};
  storage.begins = find_begins(storage, shape[0], shape[1], 8 * dtype_info(values.dtype).block_bytes, mask);
  if (values.shape.size() == 2) check_two_of_four(storage, shape[1], mask);
  return {shape, values, std::move(storage)};
}

}  // namespace detail

/// `mask`: "P.bitmask" (compressed-tensors from 0.9 on) or "P.weight.bitmask" U8 of a matrix whose values are floats, or
/// codes I8 or floats of 8 bits with what `read_code_scales` reads for `weight`, "P.weight".
/// Errors: not_found, malformed and unsupported, with the tensor's name.
inline std::shared_ptr<const WeightSource> open_sparse_rows(const TensorSource& source, const EncodedTensor& mask,
                                                            const std::string& weight) {
  detail::SparseTensor tensor = detail::read_sparse_tensor(source, mask, 2);
  const auto [rows, columns, unused] = tensor.shape;
  const DType dtype = tensor.values.dtype;
  if (dtype == DType::i8) {
    CodeScales scales = read_code_scales(source, mask, weight, rows, columns, 8);
    return std::make_shared<const CodedRows>(std::move(tensor.storage), rows, columns, std::size_t{8},
                                             std::move(scales));
  }
  auto floats = std::make_shared<const BitmaskFloats>(std::move(tensor.storage), rows, columns, dtype);
  return scaled_rows(std::move(floats), source, mask, weight);
}

/// The elements of a vector that "Q.bitmask" stores so, with its zeros. Errors: as above.
inline std::vector<std::byte> expand_sparse_vector(const TensorSource& source, const EncodedTensor& mask) {
  const detail::SparseTensor tensor = detail::read_sparse_tensor(source, mask, 1);
  const std::size_t size = dtype_info(tensor.values.dtype).block_bytes;
  std::vector<std::byte> elements(tensor.shape[1] * size);
  const auto bits = tensor.storage.mask->span(), values = tensor.storage.bytes->span();
  for (std::size_t at = 0, next = 0; at < tensor.shape[1]; ++at) {
    if (((static_cast<unsigned>(bits[at / 8]) >> (at % 8)) & 1) == 0) continue;
    std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(next), size,
                elements.begin() + static_cast<std::ptrdiff_t>(at * size));
    next += size;
  }
  return elements;
}

}  // namespace tulle
