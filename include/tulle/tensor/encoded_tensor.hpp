// SPDX-License-Identifier: Apache-2.0
/// \file A tensor as its file holds it, and where tensors are found by name (L1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/tensor/dtype.hpp>

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

  std::size_t elements() const noexcept {
    std::size_t product = 1;
    for (const std::size_t extent : shape) product *= extent;
    return product;
  }

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

  /// The bytes of a tensor that this source has found, read now where it reads piece by piece.
  /// Lifetime: until they are released. Errors: those of reading.
  virtual std::span<const std::byte> read(const EncodedTensor& tensor) const { return tensor.bytes; }

  /// Says that these bytes were packed. What was read is freed; pages of a file in memory may leave it until they are
  /// read again.
  virtual void release(std::span<const std::byte>) const noexcept {}
};

}  // namespace tulle
