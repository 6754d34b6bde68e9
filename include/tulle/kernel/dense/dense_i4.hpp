// SPDX-License-Identifier: Apache-2.0
/// \file Dense 4-bit weights with an f16 scale (and, where the file has one, minimum) per group of columns (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/dense/dense_i4_loop.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>

namespace tulle {

/// W in panels [columns / 8][16 rows][4 bytes] of nibble pairs (see DenseI4Loop); padding rows have scale 0.
class DenseI4Weights {
 public:
  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept { return codes_.size_bytes() + scales_.size_bytes() + minima_.size_bytes(); }
  std::size_t group() const noexcept { return group_; }
  bool scale_per_input() const noexcept { return false; }

  /// Rows that fit (`fits_i4`) keep codes, scales and minima. Other rows are quantized in groups of `group` columns
  /// (32, 64 or 128) the way Q4_0 is (`quantize_to_4_bits`).
  static DenseI4Weights pack(const WeightSource& source, std::size_t group = 32, ThreadPool* pool = nullptr);
  void unpack_row(std::size_t row, float* out) const noexcept;

  template <class Isa>
  void multiply(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) { multiply_on<Tag>(input, y, range); });
  }
  /// The loop of one instruction set. Not inline, see `I8Weights`.
  template <class Tag>
  void multiply_on(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept;

 private:
  DenseI4Weights(std::size_t rows, std::size_t columns, std::size_t group, bool with_minima)
      : rows_(rows), columns_(columns), padded_(round_up(columns, group_columns)), group_(group) {
    const std::size_t padded_rows = round_up(rows, panel_rows);
    codes_ = AlignedBuffer<std::uint8_t>(checked_multiply(padded_rows, padded_ / 2, "a weight matrix"), Pages::shared);
    scales_ = AlignedBuffer<Half>(padded_rows * groups(), Pages::shared);
    if (with_minima) minima_ = AlignedBuffer<Half>(padded_rows * groups(), Pages::shared);
  }

  std::size_t groups() const noexcept { return (padded_ + group_ - 1) / group_; }
  std::size_t scale_index(std::size_t row, std::size_t column) const noexcept {
    return (row / panel_rows * groups() + column / group_) * panel_rows + row % panel_rows;
  }
  std::size_t code_index(std::size_t row, std::size_t column) const noexcept {
    return ((row / panel_rows * (padded_ / 8) + column / 8) * panel_rows + row % panel_rows) * 4 + column % 4;
  }
  void put(std::size_t row, std::size_t column, unsigned code) noexcept {
    codes_[code_index(row, column)] |= static_cast<std::uint8_t>(column % 8 < 4 ? code : code << 4);
  }
  void copy_row(std::size_t row, const std::int8_t* codes, const float* scales, const float* minimums) noexcept;
  void quantize_row(std::size_t row, const float* values) noexcept;

  std::size_t rows_ = 0, columns_ = 0, padded_ = 0, group_ = 32;
  AlignedBuffer<std::uint8_t> codes_;
  AlignedBuffer<Half> scales_, minima_;
};

/// 4-bit weights and int8 activations.
template <class Isa>
struct BasicDenseI4 : ActivationsI8Kernel<Isa> {
  static constexpr std::string_view name = "dense_i4";
  using Weights = DenseI4Weights;

  static constexpr bool keeps_values(const CodeFormat& format, const PackOptions&) noexcept { return fits_i4(format); }
  static Weights pack(const WeightSource& source, const PackOptions& options = {}) {
    return Weights::pack(source, options.int4_group, options.pool);
  }
  static void unpack_row(const Weights& weights, std::size_t row, float* out) noexcept { weights.unpack_row(row, out); }
  static void multiply(const Weights& weights, const ActivationsI8& input, MatrixView<float> y,
                       RowRange range) noexcept {
    weights.multiply<Isa>(input, y, range);
  }
};

using DenseI4 = BasicDenseI4<isa::Active>;

template <class Tag>
void DenseI4Weights::multiply_on(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept {
  const auto sweep = [&]<bool Minima>() {
    const detail::DenseI4Loop<Minima, Tag> loop{
        codes_.data(), scales_.data(), minima_.data(), group_, groups(), input, y, range};
    for_each_tile(loop, input.inputs(), range);
  };
  if (minima_.size() != 0) {
    sweep.template operator()<true>();
  } else {
    sweep.template operator()<false>();
  }
}

inline void DenseI4Weights::quantize_row(std::size_t row, const float* values) noexcept {
  for (std::size_t begin = 0; begin < columns_; begin += group_) {
    const std::size_t end = std::min(begin + group_, columns_);
    std::int8_t codes[128];
    scales_[scale_index(row, begin)] = quantize_to_4_bits({values + begin, end - begin}, codes);
    for (std::size_t column = begin; column < end; ++column)
      put(row, column, static_cast<unsigned>(codes[column - begin] + 8));
  }
}

/// codes [columns], scales and minimums [groups of 32 columns].
inline void DenseI4Weights::copy_row(std::size_t row, const std::int8_t* codes, const float* scales,
                                     const float* minimums) noexcept {
  for (std::size_t begin = 0; begin < columns_; begin += 32) {
    const std::size_t at = scale_index(row, begin);
    scales_[at] = to_half(scales[begin / 32]);
    if (minima_.size() != 0) minima_[at] = to_half(minimums[begin / 32]);
  }
  const unsigned zero = minima_.size() != 0 ? 0 : 8;  // of codes without a sign
  const auto nibble = [&](std::size_t column) {
    return column < columns_ ? (static_cast<unsigned>(codes[column]) + zero) & 15u : 0u;
  };
  for (std::size_t begin = 0; begin < columns_; begin += 8) {
    std::uint8_t* out = &codes_[code_index(row, begin)];
    for (std::size_t i = 0; i < 4; ++i) {
      out[i] = static_cast<std::uint8_t>(nibble(begin + i) | nibble(begin + i + 4) << 4);
    }
  }
}

inline DenseI4Weights DenseI4Weights::pack(const WeightSource& source, std::size_t group, ThreadPool* pool) {
  const CodeFormat format = source.code_format();
  const bool keeps_codes = fits_i4(format);
  if (keeps_codes) group = 32;
  if (group != 32 && group != 64 && group != 128)
    fail(ErrorCode::invalid_argument, "int4 groups are 32, 64 or 128 columns, not ", group);
  DenseI4Weights weights(source.rows(), source.columns(), group, keeps_codes && format.has_minimums);
  struct Part {  // of a thread: 16 rows
    std::vector<std::int8_t> codes;
    std::vector<float> values, scales, minimums;
  };
  const std::size_t columns = source.columns(), groups = format.groups(columns);
  Part empty;
  if (keeps_codes) {
    empty.codes.resize(panel_rows * columns);
    empty.scales.resize(panel_rows * groups);
    if (format.has_minimums) empty.minimums.resize(panel_rows * groups);
  } else {
    empty.values.resize(panel_rows * columns);
  }
  std::vector<Part> parts(detail::panel_parts(pool), empty);
  const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
  detail::for_each_panel(pool, 0, panels, [&](std::size_t of, std::size_t panel) {
    Part& part = parts[of];
    const std::size_t first = panel * panel_rows;
    const PanelRows rows(first, source.rows());
    if (keeps_codes) {
      source.codes(rows, {part.codes.data(), rows.size(), columns}, part.scales.data(), part.minimums.data());
    } else {
      source.decode(rows, {part.values.data(), rows.size(), columns});
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (keeps_codes) {
        weights.copy_row(first + i, part.codes.data() + i * columns, part.scales.data() + i * groups,
                         part.minimums.data() + (format.has_minimums ? i * groups : 0));
      } else {
        weights.quantize_row(first + i, part.values.data() + i * columns);
      }
    }
  });
  return weights;
}

inline void DenseI4Weights::unpack_row(std::size_t row, float* out) const noexcept {
  for (std::size_t column = 0; column < columns_; ++column) {
    const unsigned pair = codes_[code_index(row, column)];
    const auto code = static_cast<int>(column % 8 < 4 ? pair & 15u : pair >> 4);
    const std::size_t at = scale_index(row, column);
    out[column] = minima_.size() != 0 ? to_float(scales_[at]) * static_cast<float>(code) + to_float(minima_[at])
                                      : to_float(scales_[at]) * static_cast<float>(code - 8);
  }
}

static_assert(LinearKernel<DenseI4>);

}  // namespace tulle
