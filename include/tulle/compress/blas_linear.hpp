// SPDX-License-Identifier: Apache-2.0
/// \file The linear kernel of compression: float matrices as they lie, multiplied by BLAS on the caller's thread (L5).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <tulle/compress/linear_algebra.hpp>
#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle {

/// A matrix W [rows, columns] of floats. Copies share the values.
class BlasWeights {
 public:
  BlasWeights() = default;
  /// All rows of `source`. Errors: memory.
  explicit BlasWeights(const WeightSource& source)
      : values_(std::make_shared<AlignedBuffer<float>>(source.rows() * source.columns(), Uninitialized{})),
        rows_(source.rows()),
        columns_(source.columns()) {
    for (std::size_t begin = 0; begin < rows_; begin += panel_rows) {
      const PanelRows panel(begin, rows_);
      source.decode(panel, {values_->data() + begin * columns_, panel.size(), columns_});
    }
  }

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept { return rows_ * columns_ * sizeof(float); }
  MatrixView<const float> view() const noexcept {
    return {values_ == nullptr ? nullptr : values_->data(), rows_, columns_};
  }
  /// A matrix of the same columns that has no rows: a product with it costs nothing.
  BlasWeights without_rows() const {
    BlasWeights none;
    none.columns_ = columns_;
    return none;
  }

 private:
  std::shared_ptr<AlignedBuffer<float>> values_;
  std::size_t rows_ = 0, columns_ = 0;
};

/// For a decoder whose pool has one thread. Which bits an output has depends on the rows of a call, as BLAS chooses its
/// loops by them: the same rows give the same bits.
struct BlasLinear {
  static constexpr std::string_view name = "blas_f32";
  using Weights = BlasWeights;

  /// A view of the activations. Lifetime: that of x.
  class Input {
   public:
    Input(std::size_t, std::size_t) noexcept {}
    std::size_t size_bytes() const noexcept { return 0; }
    MatrixView<const float> x;
  };

  static Weights pack(const WeightSource& source, const PackOptions&) { return Weights(source); }
  static bool keeps_values(const CodeFormat&, const PackOptions&) noexcept { return true; }
  static void start(const Weights&, std::size_t, Input&) noexcept {}
  static void prepare(const Weights&, MatrixView<const float> x, Input& input, RowRange) noexcept { input.x = x; }
  static bool shares_input(const Weights&, const Weights&) noexcept { return true; }
  static void multiply(const Weights& weights, const Input& input, MatrixView<float> y, RowRange range) noexcept {
    multiply_matrices<float>(input.x, Transposed::no, rows_of(weights.view(), range), Transposed::yes, 1.0f, 0.0f,
                             {y.data + range.begin, y.rows, range.count(), y.stride});
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept {
    std::copy_n(weights.view()[row], weights.columns(), out);
  }
};

static_assert(LinearKernel<BlasLinear>);

}  // namespace tulle
