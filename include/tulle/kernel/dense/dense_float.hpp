// SPDX-License-Identifier: Apache-2.0
/// \file Dense weights in f32, f16 or bf16 (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/half.hpp>
#include <tulle/kernel/activations/activations_f32.hpp>
#include <tulle/kernel/dense/dense_float_loop.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>
#include <tulle/kernel/schedule/tile_schedule.hpp>

namespace tulle {

/// W in panels [rows / 16][columns][16 rows] of one element type; padding rows are zero.
template <class Element>
class DenseFloatPanels {
 public:
  DenseFloatPanels() = default;

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept { return panels_.size_bytes(); }
  const Element* data() const noexcept { return panels_.data(); }

  /// Every element becomes round(value).
  template <class Round>
  static DenseFloatPanels pack(const WeightSource& source, ThreadPool* pool, Round round) {
    DenseFloatPanels packed(source.rows(), source.columns());
    // No power of 2, so that 16 rows do not share the sets of the L1 cache.
    const std::size_t columns = source.columns(), stride = columns + 16;
    std::vector<std::vector<float>> values(detail::panel_parts(pool), std::vector<float>(panel_rows * stride));
    const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
    detail::for_each_panel(pool, 0, panels, [&](std::size_t part, std::size_t panel) {
      const PanelRows rows(panel * panel_rows, source.rows());
      const MatrixView<float> decoded(values[part].data(), rows.size(), columns, stride);
      source.decode(rows, decoded);
      Element* out = packed.panels_.data() + packed.index(panel * panel_rows, 0);
      if (rows.size() < panel_rows) std::fill_n(out, columns * panel_rows, Element{});
      for (std::size_t column = 0; column < columns; ++column, out += panel_rows) {
        for (std::size_t row = 0; row < rows.size(); ++row) out[row] = round(decoded[row][column]);
      }
    });
    return packed;
  }

  Element at(std::size_t row, std::size_t column) const noexcept { return panels_[index(row, column)]; }

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.rows_, self.columns_, self.panels_);
  }
  bool is_sound() const noexcept { return panels_.size() == round_up(rows_, panel_rows) * columns_; }

  template <class Isa>
  void multiply(const ActivationsF32& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) { multiply_on<isa::WithoutDots<Tag>>(input, y, range); });
  }
  /// The loop of one instruction set. Not inline, see `I8Weights`.
  template <class Tag>
  void multiply_on(const ActivationsF32& input, MatrixView<float> y, RowRange range) const noexcept;

 private:
  DenseFloatPanels(std::size_t rows, std::size_t columns)
      : rows_(rows),
        columns_(columns),
        panels_(checked_multiply(round_up(rows, panel_rows), columns, "a weight matrix"), Uninitialized{},
                Pages::shared) {}

  std::size_t index(std::size_t row, std::size_t column) const noexcept {
    return (row / panel_rows * columns_ + column) * panel_rows + row % panel_rows;
  }

  std::size_t rows_ = 0, columns_ = 0;
  AlignedBuffer<Element> panels_;
};

template <class Element>
template <class Tag>
void DenseFloatPanels<Element>::multiply_on(const ActivationsF32& input, MatrixView<float> y,
                                            RowRange range) const noexcept {
  const detail::DenseFloatLoop<Element, Tag> loop{panels_.data(), columns_, input, y, range};
  for_each_tile(loop, input.inputs(), range);
}

/// What the two float kernels share; `Derived` brings name, Weights and pack.
template <class Isa>
struct DenseFloatKernel {
  using Input = ActivationsF32;

  template <class Weights>
  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
    input.start(inputs, weights.columns());
  }
  template <class Weights>
  static void prepare(const Weights&, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    input.interleave(x, range);
  }
  template <class Weights>
  static bool shares_input(const Weights& a, const Weights& b) noexcept {
    return a.columns() == b.columns();
  }
  template <class Weights>
  static void multiply(const Weights& weights, const Input& input, MatrixView<float> y, RowRange range) noexcept {
    weights.template multiply<Isa>(input, y, range);
  }
};

/// f32 weights: every value of an F32 file; the reference for perplexity.
template <class Isa>
struct BasicDenseF32 : DenseFloatKernel<Isa> {
  static constexpr std::string_view name = "dense_f32";
  using Weights = DenseFloatPanels<float>;

  static constexpr bool keeps_values(const CodeFormat&, const PackOptions&) noexcept { return true; }

  static Weights pack(const WeightSource& source, const PackOptions& options = {}) {
    return Weights::pack(source, options.pool, [](float value) { return value; });
  }

  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept {
    for (std::size_t column = 0; column < weights.columns(); ++column) out[column] = weights.at(row, column);
  }
};

/// 16-bit weights: bf16 for a BF16 source, else f16. Every value of an F16 or BF16 source; others are rounded to f16.
template <class Isa>
struct BasicDenseF16 : DenseFloatKernel<Isa> {
  static constexpr std::string_view name = "dense_f16";

  static constexpr bool keeps_values(const CodeFormat& format, const PackOptions&) noexcept {
    return format.bits == 0 && (format.floats == DType::f16 || format.floats == DType::bf16);
  }

  class Weights {
   public:
    Weights() = default;
    std::size_t rows() const noexcept { return is_bf16_ ? bf16_.rows() : f16_.rows(); }
    std::size_t columns() const noexcept { return is_bf16_ ? bf16_.columns() : f16_.columns(); }
    std::size_t size_bytes() const noexcept { return is_bf16_ ? bf16_.size_bytes() : f16_.size_bytes(); }
    bool is_bf16() const noexcept { return is_bf16_; }

    template <class Tag>
    void multiply(const ActivationsF32& input, MatrixView<float> y, RowRange range) const noexcept {
      is_bf16_ ? bf16_.template multiply<Tag>(input, y, range) : f16_.template multiply<Tag>(input, y, range);
    }

    template <class Self, class Fields>
    static void each_field(Self& self, Fields& fields) {
      fields(self.is_bf16_, self.f16_, self.bf16_);
    }
    bool is_sound() const noexcept { return f16_.is_sound() && bf16_.is_sound(); }

   private:
    friend BasicDenseF16;
    bool is_bf16_ = false;
    DenseFloatPanels<Half> f16_;
    DenseFloatPanels<BFloat16> bf16_;
  };

  static Weights pack(const WeightSource& source, const PackOptions& options = {}) {
    Weights weights;
    const CodeFormat format = source.code_format();
    weights.is_bf16_ = format.bits == 0 && format.floats == DType::bf16;
    if (weights.is_bf16_) {
      weights.bf16_ =
          DenseFloatPanels<BFloat16>::pack(source, options.pool, [](float value) { return to_bfloat16(value); });
    } else {
      weights.f16_ = DenseFloatPanels<Half>::pack(source, options.pool, [](float value) { return to_half(value); });
    }
    return weights;
  }

  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept {
    for (std::size_t column = 0; column < weights.columns(); ++column) {
      out[column] = weights.is_bf16_ ? to_float(weights.bf16_.at(row, column)) : to_float(weights.f16_.at(row, column));
    }
  }
};

using DenseF32 = BasicDenseF32<isa::Active>;
using DenseF16 = BasicDenseF16<isa::Active>;

static_assert(LinearKernel<DenseF32>);
static_assert(LinearKernel<DenseF16>);

}  // namespace tulle
