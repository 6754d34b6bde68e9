// SPDX-License-Identifier: Apache-2.0
/// \file The encodings that weights are read from (L3).
#pragma once

#include <memory>
#include <span>
#include <string>

#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

struct RowEncoding;

struct Encoding {
  DType dtype;              ///< of the tensor "NAME.weight"
  const RowEncoding* rows;  ///< nullptr: codes of 8 bits, whose scales lie beside them

  /// The matrix of a tensor with two extents. Errors: those of the encoding and of reading.
  std::shared_ptr<const WeightSource> open(const TensorSource& source, const EncodedTensor& tensor) const;
};

/// All that weights are read from, in the order of messages.
std::span<const Encoding> encodings();

/// nullptr where weights of that type are not read.
const Encoding* find_encoding(DType dtype) noexcept;

/// For messages: "F32, F16, ...".
std::string encoding_names();

/// `TensorSource::matrix` of a source whose layers store their weights in "NAME.weight", "NAME.weight_packed",
/// "NAME.weight_mask", "NAME.bitmask", "NAME.qweight" or "NAME_blocks", and in tensors beside these.
std::shared_ptr<const WeightSource> open_matrix(const TensorSource& source, const std::string& name);

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/format/encoding/encodings_inline.hpp>
#endif
