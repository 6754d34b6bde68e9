// SPDX-License-Identifier: Apache-2.0
/// \file Observer of a decoder: it is called with the activations that every linear layer reads (L3).
#pragma once

#include <cstddef>
#include <span>

#include <tulle/core/types.hpp>
#include <tulle/tensor/matrix_view.hpp>

namespace tulle {

/// The linear layers of a layer, and the head.
enum class LinearRole { query_key_value, output, up, down, head };

class DecoderObserver {
 public:
  virtual ~DecoderObserver() = default;

  /// Called on the caller's thread before a linear layer reads x [rows, columns], one row per element of `rows`. For
  /// the head, `layer` is the number of layers and x has only the rows that need logits, in order. Lifetime of x: this
  /// call.
  virtual void observe(std::size_t layer, LinearRole role, std::span<const Row> rows,
                       MatrixView<const float> x) noexcept = 0;
};

}  // namespace tulle
