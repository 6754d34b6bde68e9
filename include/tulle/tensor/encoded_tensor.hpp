// SPDX-License-Identifier: Apache-2.0
/// \file A tensor as its file holds it, and where tensors are found by name (L1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/tensor/float_elements.hpp>
#include <tulle/tensor/row_order.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// A view of encoded elements, row-major with the last dimension fastest ([rows, columns] for a linear layer).
/// `bytes` was checked against shape and dtype; it need not be aligned. Lifetime: that of the source it came from.
/// It is empty where the source reads its file piece by piece: see `TensorSource::read`.
struct EncodedTensor {
  std::string name;
  DType dtype = DType::f32;
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
  std::uint64_t file_offset = 0;  ///< where the bytes begin in their file
  bool transposed = false;        ///< the bytes hold [columns, rows], `shape` says [rows, columns]
  RowOrder order{};               ///< in which Hugging Face's rows (or elements of a bias) lie in the bytes
  float offset = 0;               ///< added to the elements: -1 where a norm's bytes hold 1 + weight, -128 of U8 codes

  std::size_t elements() const noexcept {
    std::size_t product = 1;
    for (const std::size_t extent : shape) product *= extent;
    return product;
  }

  /// Those that `order` takes of a vector.
  std::size_t taken_elements() const noexcept { return order.as_it_lies() ? elements() : order.rows(); }

  /// Of the bytes, wherever they are.
  std::size_t size_bytes() const { return dtype_bytes(dtype, elements(), name); }
};

/// The tensors of one checkpoint under their Hugging Face names.
/// Threads: const members may run concurrently.
class TensorSource {
 public:
  virtual ~TensorSource() = default;

  /// The tensor of that name, or nullptr. The pointer stays valid as long as the source.
  virtual const EncodedTensor* find(std::string_view name) const = 0;

  virtual std::vector<std::string> names() const = 0;

  /// The weight matrix of a layer `name` ("model.layers.0.mlp.up_proj"), whatever tensors hold it; nullptr where there
  /// is none. What was read for it is released with it. Lifetime: that of this source.
  /// Errors: malformed, unsupported and not_found for a matrix that cannot be read; those of reading.
  virtual std::shared_ptr<const WeightSource> matrix(const std::string& name) const = 0;

  /// The bytes of a tensor that this source has found, read now where it reads piece by piece.
  /// Lifetime: until they are released. Errors: those of reading.
  virtual std::span<const std::byte> read(const EncodedTensor& tensor) const { return tensor.bytes; }

  /// Called after these bytes were packed. What was read is freed; pages of a file in memory may leave it until they
  /// are read again.
  virtual void release(std::span<const std::byte>) const noexcept {}
};

/// The bytes of a tensor, released at the end of this object's life. Lifetime: that of the source.
class TensorBytes {
 public:
  /// Errors: those of reading.
  TensorBytes(const TensorSource& source, const EncodedTensor& tensor) : source_(source), bytes_(source.read(tensor)) {}
  TensorBytes(const TensorBytes&) = delete;
  TensorBytes& operator=(const TensorBytes&) = delete;
  ~TensorBytes() { source_.release(bytes_); }

  std::span<const std::byte> span() const noexcept { return bytes_; }

 private:
  const TensorSource& source_;
  std::span<const std::byte> bytes_;
};

/// The elements of a small tensor (a norm, a bias, scales) as floats, in Hugging Face's order, with its offset.
/// Errors: unsupported for blocks and truth values; those of reading.
inline std::vector<float> read_floats(const TensorSource& source, const EncodedTensor& tensor) {
  if (!is_number_dtype(tensor.dtype)) {
    fail(ErrorCode::unsupported, "tensor \"", tensor.name, "\" is ", dtype_name(tensor.dtype),
         "; needed is F32 or another plain number");
  }
  std::vector<float> values(tensor.elements());
  decode_floats(tensor.dtype, TensorBytes(source, tensor).span().data(), values.size(), values.data());
  for (float& value : values) value += tensor.offset;
  if (tensor.transposed) {
    const std::vector<float> as_they_lie = values;
    const std::size_t rows = tensor.shape[0], columns = tensor.shape[1];
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = as_they_lie[i % columns * rows + i / columns];
  }
  if (tensor.order.as_it_lies()) return values;
  std::vector<float> ordered(tensor.taken_elements());
  for (std::size_t i = 0; i < ordered.size(); ++i) ordered[i] = values[tensor.order[i]];
  return ordered;
}

}  // namespace tulle
