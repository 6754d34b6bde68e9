// SPDX-License-Identifier: Apache-2.0
/// \file Dense 4-bit weights with a scale (and, where the file has one, minimum) per group of columns (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/dense/dense_i4_loop.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/row_quantizer.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/kernel/schedule/parallel_pack.hpp>

namespace tulle {

/// W in panels [columns / 8][16 rows][4 bytes] of nibble pairs (see DenseI4Loop); padding rows have scale 0.
class DenseI4Weights {
 public:
  DenseI4Weights() = default;

  std::size_t rows() const noexcept { return rows_; }
  std::size_t columns() const noexcept { return columns_; }
  std::size_t size_bytes() const noexcept { return codes_.size_bytes() + scales_.size_bytes() + minima_.size_bytes(); }
  std::size_t group() const noexcept { return scales_.group(); }
  bool scale_per_input() const noexcept { return false; }

  /// Rows that fit (`fits_i4`) keep codes, scales and minima. Other rows are quantized in groups of `group` columns
  /// (32, 64 or 128) the way Q4_0 is (`quantize_to_4_bits`).
  static DenseI4Weights pack(const WeightSource& source, std::size_t group = 32, ThreadPool* pool = nullptr);
  void unpack_row(std::size_t row, float* out) const noexcept;

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.rows_, self.columns_, self.padded_, self.scales_, self.minima_, self.codes_);
  }
  bool is_sound() const noexcept {
    const std::size_t group = scales_.group();
    return padded_ == round_up(columns_, group_columns) && (group == 16 || (group != 0 && group % 32 == 0)) &&
           scales_.are_sound(rows_, padded_) && codes_.size() == round_up(rows_, panel_rows) * (padded_ / 2) &&
           (!has_minima() || (minima_.group() == group && minima_.are_sound(rows_, padded_)));
  }

  template <class Isa>
  void multiply(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept {
    with_instruction_set<Isa>([&]<class Tag>(Tag) { multiply_on<Tag>(input, y, range); });
  }
  /// The loop of one instruction set. Not inline, see `I8Weights`.
  template <class Tag>
  void multiply_on(const ActivationsI8& input, MatrixView<float> y, RowRange range) const noexcept;

 private:
  DenseI4Weights(std::size_t rows, std::size_t columns, const CodeFormat& format)
      : rows_(rows), columns_(columns), padded_(round_up(columns, group_columns)), scales_(rows, padded_, format) {
    const std::size_t padded_rows = round_up(rows, panel_rows);
    codes_ = AlignedBuffer<std::uint8_t>(checked_multiply(padded_rows, padded_ / 2, "a weight matrix"), Uninitialized{},
                                         Pages::shared);
    if (format.has_minimums) minima_ = GroupScales(rows, padded_, format);
  }

  bool has_minima() const noexcept { return minima_.groups() != 0; }
  std::size_t code_index(std::size_t row, std::size_t column) const noexcept {
    return ((row / panel_rows * (padded_ / 8) + column / 8) * panel_rows + row % panel_rows) * 4 + column % 4;
  }
  void put_codes(std::size_t row, const std::int8_t* codes) noexcept;

  std::size_t rows_ = 0, columns_ = 0, padded_ = 0;
  GroupScales scales_, minima_;
  AlignedBuffer<std::uint8_t> codes_;
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
    const detail::DenseI4Loop<Minima, Tag> loop{codes_.data(), scales_, minima_, input, y, range};
    for_each_tile(loop, input.inputs(), range);
  };
  if (has_minima()) {
    sweep.template operator()<true>();
  } else {
    sweep.template operator()<false>();
  }
}

/// codes [columns]. Padding columns are left as they are.
inline void DenseI4Weights::put_codes(std::size_t row, const std::int8_t* codes) noexcept {
  constexpr std::uint64_t low_nibbles = 0x0F0F0F0F0F0F0F0F, eights = 0x0808080808080808;
  const std::uint64_t zero = has_minima() ? 0 : eights;  // code + 8 in 4 bits, of codes without a sign
  for (std::size_t begin = 0; begin < columns_; begin += 8) {
    std::uint64_t eight = 0;
    const std::size_t count = std::min<std::size_t>(columns_ - begin, 8);
    std::memcpy(&eight, codes + begin, count);
    eight = (eight ^ zero) & low_nibbles & ~std::uint64_t{0} >> (64 - 8 * count);
    const auto pairs = static_cast<std::uint32_t>(eight | eight >> 28);
    std::memcpy(&codes_[code_index(row, begin)], &pairs, sizeof pairs);
  }
}

inline DenseI4Weights DenseI4Weights::pack(const WeightSource& source, std::size_t group, ThreadPool* pool) {
  CodeFormat format = source.code_format();
  const bool keeps_codes = fits_i4(format);
  if (!keeps_codes) {
    if (group != 32 && group != 64 && group != 128)
      fail(ErrorCode::invalid_argument, "int4 groups are 32, 64 or 128 columns, not ", group);
    format = {.bits = 4, .group = group, .half_scales = true};
  }
  DenseI4Weights weights(source.rows(), source.columns(), format);
  struct Part {  // of a thread: 16 rows
    std::vector<std::int8_t> codes;
    std::vector<float> values, scales, minimums;
  };
  const std::size_t columns = source.columns(), per_row = format.scales_per_row(columns);
  const Part empty{std::vector<std::int8_t>(panel_rows * columns),
                   std::vector<float>(keeps_codes ? 0 : panel_rows * columns), std::vector<float>(panel_rows * per_row),
                   std::vector<float>(format.has_minimums ? panel_rows * per_row : 0)};
  std::vector<Part> parts(detail::panel_parts(pool), empty);
  const std::size_t panels = round_up(source.rows(), panel_rows) / panel_rows;
  detail::for_each_panel(pool, 0, panels, [&](std::size_t of, std::size_t panel) {
    Part& part = parts[of];
    const PanelRows rows(panel * panel_rows, source.rows());
    const MatrixView<std::int8_t> codes(part.codes.data(), rows.size(), columns);
    if (rows.size() < panel_rows || columns != weights.padded_) {
      std::memset(&weights.codes_[weights.code_index(panel * panel_rows, 0)], 0, panel_rows * weights.padded_ / 2);
    }
    if (keeps_codes) {
      source.codes(rows, codes, part.scales.data(), part.minimums.data());
    } else {
      source.decode(rows, {part.values.data(), rows.size(), columns});
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::size_t row = panel * panel_rows + i;
      const auto scales = std::span(part.scales).subspan(i * per_row, per_row);
      for (std::size_t begin = 0; begin < columns && !keeps_codes; begin += group) {
        const auto values = std::span(part.values).subspan(i * columns + begin, std::min(group, columns - begin));
        scales[begin / group] = to_float(quantize_to_4_bits(values, codes[i] + begin));
      }
      weights.put_codes(row, codes[i]);
    }
    std::fill(part.scales.begin() + static_cast<std::ptrdiff_t>(rows.size() * per_row), part.scales.end(), 0.0f);
    weights.scales_.set_panel(panel, part.scales, per_row);
    if (!format.has_minimums) return;
    std::fill(part.minimums.begin() + static_cast<std::ptrdiff_t>(rows.size() * per_row), part.minimums.end(), 0.0f);
    weights.minima_.set_panel(panel, part.minimums, per_row);
  });
  return weights;
}

inline void DenseI4Weights::unpack_row(std::size_t row, float* out) const noexcept {
  for (std::size_t begin = 0; begin < columns_; begin += 16) {  // a group has as many columns, or more
    const float scale = scales_.at(row, begin), minimum = has_minima() ? minima_.at(row, begin) : 0;
    for (std::size_t column = begin; column < std::min(begin + 16, columns_); ++column) {
      const unsigned pair = codes_[code_index(row, column)];
      const auto code = static_cast<int>(column % 8 < 4 ? pair & 15u : pair >> 4);
      out[column] = has_minima() ? scale * static_cast<float>(code) + minimum : scale * static_cast<float>(code - 8);
    }
  }
}

static_assert(LinearKernel<DenseI4>);

}  // namespace tulle
