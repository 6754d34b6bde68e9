// SPDX-License-Identifier: Apache-2.0
/// \file A tensor that is computed while it is written (L3).
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tulle/tensor/dtype.hpp>

namespace tulle {

/// Takes the next bytes of a tensor.
using TensorSink = std::function<void(std::span<const std::byte>)>;

struct OutputTensor {
  std::string name;
  DType dtype;
  std::vector<std::size_t> shape;

  /// Gives all bytes to the sink, in order. Called once; what it reads it releases. Errors: those of reading.
  std::function<void(const TensorSink&)> write;

  /// Errors: malformed when that is too large.
  std::size_t size_bytes() const {
    std::size_t elements = 1;
    for (const std::size_t extent : shape) elements = checked_multiply(elements, extent, name);
    return dtype_bytes(dtype, elements, name);
  }
};

}  // namespace tulle
