// SPDX-License-Identifier: Apache-2.0
/// \file Activations as they are: the input of the floating-point kernels (L2).
#pragma once

#include <cstddef>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>
#include <tulle/tensor/matrix_view.hpp>

namespace tulle {

/// Layout per tile of `width` inputs: [columns][width].
class ActivationsF32 {
 public:
  /// Room for `max_inputs` rows of at most `max_columns` columns. Errors: memory.
  ActivationsF32(std::size_t max_inputs, std::size_t max_columns)
      : values_(round_up(max_inputs, tile_inputs) * max_columns) {}

  void start(std::size_t inputs, std::size_t columns) noexcept {
    inputs_ = inputs;
    columns_ = columns;
  }

  std::size_t inputs() const noexcept { return inputs_; }
  std::size_t size_bytes() const noexcept { return values_.size_bytes(); }

  const float* values(const InputTile& tile) const noexcept { return values_.data() + tile.first * columns_; }

  /// Interleaves the inputs of `range` (begins at a multiple of 8). x [inputs, columns].
  void interleave(MatrixView<const float> x, RowRange range) noexcept {
    for (std::size_t first = range.begin; first < range.end; first += tile_inputs) {
      const InputTile tile = input_tile(first, inputs_);
      float* out = values_.data() + first * columns_;
      for (std::size_t lane = 0; lane < tile.width; ++lane) {
        if (lane < tile.inputs) {
          const float* row = x[first + lane];
          for (std::size_t column = 0; column < columns_; ++column) out[column * tile.width + lane] = row[column];
        } else {
          for (std::size_t column = 0; column < columns_; ++column) out[column * tile.width + lane] = 0;
        }
      }
    }
  }

 private:
  AlignedBuffer<float> values_;
  std::size_t inputs_ = 0, columns_ = 0;
};

}  // namespace tulle
