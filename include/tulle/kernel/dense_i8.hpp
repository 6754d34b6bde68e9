// SPDX-License-Identifier: Apache-2.0
/// \file Dense int8 weights, symmetric, with one scale per row or per group of columns (L2).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/dense_i8_loop.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/quantized_input.hpp>

namespace tulle {

/// What every kernel with a `QuantizedInput` shares: Weights has columns() and scale_per_input().
template <class Isa>
struct QuantizedInputKernel {
  using Input = QuantizedInput;

  template <class Weights>
  static void start(const Weights& weights, std::size_t inputs, Input& input) noexcept {
    input.start(inputs, weights.columns(), weights.scale_per_input());
  }
  template <class Weights>
  static void prepare(const Weights&, MatrixView<const float> x, Input& input, RowRange range) noexcept {
    input.quantize<Isa>(x, range);
  }
  template <class Weights>
  static bool shares_input(const Weights& a, const Weights& b) noexcept {
    return a.columns() == b.columns() && a.scale_per_input() == b.scale_per_input();
  }
};

/// W in panels [columns / 4][16 rows][4] of int8 codes; padding rows and columns are zero.
/// A value is scale * code, with the scale of its row or of its group of 16 or 32 columns (GGUF blocks keep theirs).
class DenseI8Weights {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept {
    return codes_.size_bytes() + row_scales_.size_bytes() + half_scales_.size_bytes() + float_scales_.size_bytes();
  }
  std::size_t group() const noexcept { return group_; }  ///< columns that share a scale; 0: the whole row
  bool scale_per_input() const noexcept { return scale_per_input_; }

  /// Asks for activations with one scale per input row ("per token"), as the checkpoint says.
  void scale_per_input(bool wanted) noexcept { scale_per_input_ = wanted; }

  static DenseI8Weights pack(const WeightRows& source);
  void unpack_row(std::size_t row, float* out) const noexcept;

  template <class Isa>
  void multiply(const QuantizedInput& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) {
      const auto sweep = [&]<class Scale, std::size_t Span>(const Scale* scales) {
        const detail::DenseI8Loop<Scale, Span, Tag> loop{codes_.data(), scales, row_scales_.data(), group_,
                                                         groups(),      input,  y,                  range};
        for_each_tile(loop, input.inputs(), range);
      };
      if (group_ == 0) {
        sweep.template operator()<void, group_columns>(nullptr);
      } else if (group_ == 16) {
        sweep.template operator()<float, 16>(float_scales_.data());
      } else {
        sweep.template operator()<Half, 32>(half_scales_.data());
      }
    });
  }

 private:
  DenseI8Weights(std::size_t rows, std::size_t columns, std::size_t group)
      : rows_(rows), columns_(columns), padded_(round_up(columns, group_columns)), group_(group) {
    const std::size_t padded_rows = round_up(rows, panel_rows);
    codes_ = AlignedBuffer<std::int8_t>(checked_multiply(padded_rows, padded_, "a weight matrix"));
    if (group == 0) row_scales_ = AlignedBuffer<float>(padded_rows);
    if (group == 16) float_scales_ = AlignedBuffer<float>(padded_rows * groups());
    if (group == 32) half_scales_ = AlignedBuffer<Half>(padded_rows * groups());
  }

  std::size_t groups() const noexcept { return group_ == 0 ? 0 : padded_ / group_; }
  std::int8_t& code(std::size_t row, std::size_t column) noexcept { return codes_[code_index(row, column)]; }
  std::size_t code_index(std::size_t row, std::size_t column) const noexcept {
    return ((row / panel_rows * (padded_ / 4) + column / 4) * panel_rows + row % panel_rows) * 4 + column % 4;
  }
  std::size_t scale_index(std::size_t row, std::size_t column) const noexcept {
    return (row / panel_rows * groups() + column / group_) * panel_rows + row % panel_rows;
  }
  void quantize_row(std::size_t row, const float* values) noexcept;

  std::size_t rows_ = 0, columns_ = 0, padded_ = 0, group_ = 0;
  bool scale_per_input_ = false;
  AlignedBuffer<std::int8_t> codes_;
  AlignedBuffer<float> row_scales_;
  AlignedBuffer<Half> half_scales_;
  AlignedBuffer<float> float_scales_;
};

/// int8 weights and int8 activations. Q8_0 and Q6_K rows keep their codes and group scales, I8 rows their codes and row
/// scale; other rows are quantized: scale = max|w| / 127, code = round half even(w / scale).
template <class Isa>
struct BasicDenseI8 : QuantizedInputKernel<Isa> {
  static constexpr std::string_view name = "dense_i8";
  using Weights = DenseI8Weights;

  static constexpr bool keeps_values(DType dtype, const PackOptions&) noexcept {
    return dtype == DType::i8 || dtype == DType::q8_0 || dtype == DType::q6_k;
  }
  static Weights pack(const WeightRows& source, const PackOptions& options = {}) {
    Weights weights = Weights::pack(source);
    weights.scale_per_input(options.scale_per_input);
    return weights;
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept { weights.unpack_row(row, out); }
  static void multiply(const Weights& weights, const QuantizedInput& input, MatrixView<float> y, RowRange range) noexcept {
    weights.multiply<Isa>(input, y, range);
  }
};

using DenseI8 = BasicDenseI8<isa::Active>;

inline void DenseI8Weights::quantize_row(std::size_t row, const float* values) noexcept {
  const std::size_t step = group_ == 0 ? columns_ : group_;
  for (std::size_t begin = 0; begin < columns_; begin += step) {
    const std::size_t end = std::min(begin + step, columns_);
    float maximum = 0;
    for (std::size_t column = begin; column < end && !std::isnan(maximum); ++column) {
      if (!(std::fabs(values[column]) <= maximum)) maximum = std::fabs(values[column]);  // also takes a NaN
    }
    float scale = maximum / 127.0f;
    if (group_ == 0) {
      row_scales_[row] = scale;
    } else {
      half_scales_[scale_index(row, begin)] = to_half(scale);
      scale = to_float(to_half(scale));
    }
    if (!(scale > 0) || !std::isfinite(scale)) continue;  // zeros; what is not finite keeps its scale and poisons y
    for (std::size_t column = begin; column < end; ++column) {
      code(row, column) = static_cast<std::int8_t>(std::clamp(std::nearbyint(values[column] / scale), -127.0f, 127.0f));
    }
  }
}

inline DenseI8Weights DenseI8Weights::pack(const WeightRows& source) {
  DType dtype{};
  const bool uniform = source.uniform(dtype);
  const std::size_t columns = source.columns();
  if (uniform && dtype == DType::q8_0) {
    DenseI8Weights weights(source.rows(), columns, 32);
    for (std::size_t row = 0; row < source.rows(); ++row) {
      const std::byte* block = source[row].data;
      for (std::size_t begin = 0; begin < columns; begin += 32, block += 34) {
        weights.half_scales_[weights.scale_index(row, begin)] = detail::load_unaligned<Half>(block);
        for (std::size_t i = 0; i < 32; ++i) weights.code(row, begin + i) = static_cast<std::int8_t>(block[2 + i]);
      }
    }
    return weights;
  }
  if (uniform && dtype == DType::q6_k) {
    DenseI8Weights weights(source.rows(), columns, 16);
    for (std::size_t row = 0; row < source.rows(); ++row) {
      const std::byte* block = source[row].data;
      for (std::size_t begin = 0; begin < columns; begin += 256, block += 210) {
        for (std::size_t part = 0; part < 16; ++part) {
          const float scale = detail::load_half(block + 208) * static_cast<float>(static_cast<std::int8_t>(block[192 + part]));
          weights.float_scales_[weights.scale_index(row, begin + 16 * part)] = scale;
        }
        detail::for_each_q6_k(block, [&](std::size_t index, std::size_t, int value) {
          weights.code(row, begin + index) = static_cast<std::int8_t>(value);
        });
      }
    }
    return weights;
  }
  const bool has_groups = uniform && (dtype == DType::q4_0 || dtype == DType::q4_1);
  DenseI8Weights weights(source.rows(), columns, has_groups ? 32 : 0);
  std::vector<float> values(columns);
  for (std::size_t row = 0; row < source.rows(); ++row) {
    if (source[row].dtype == DType::i8) {
      weights.row_scales_[row] = source[row].scale;
      for (std::size_t column = 0; column < columns; ++column) {
        weights.code(row, column) = static_cast<std::int8_t>(source[row].data[column]);
      }
    } else {
      source.decode(row, values.data());
      weights.quantize_row(row, values.data());
    }
  }
  return weights;
}

inline void DenseI8Weights::unpack_row(std::size_t row, float* out) const noexcept {
  for (std::size_t column = 0; column < columns_; ++column) {
    float scale = 0;
    if (group_ == 0) scale = row_scales_[row];
    if (group_ == 16) scale = float_scales_[scale_index(row, column)];
    if (group_ == 32) scale = to_float(half_scales_[scale_index(row, column)]);
    out[column] = scale * static_cast<float>(codes_[code_index(row, column)]);
  }
}

static_assert(LinearKernel<DenseI8>);

}  // namespace tulle
