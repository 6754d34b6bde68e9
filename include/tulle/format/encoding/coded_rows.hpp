// SPDX-License-Identifier: Apache-2.0
/// \file Rows of integer codes whose scales, and perhaps zero points, lie in tensors of their own (L3).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <tulle/core/half.hpp>
#include <tulle/format/encoding/code_scales.hpp>
#include <tulle/format/encoding/file_rows.hpp>

namespace tulle {

/// The bytes of a matrix of codes, and how a row of them is read.
struct CodeStorage {
  std::unique_ptr<const MatrixBytes> bytes, mask;  ///< mask: only where nonzeros alone are stored
  std::vector<std::size_t> begins;                 ///< with a mask: byte of every row's first value

  /// A row as the file has it: int8 codes without scales and zero points. codes [columns].
  void (*unpack)(const CodeStorage& storage, std::size_t row, std::size_t columns, std::byte* codes) noexcept = nullptr;

  /// Errors: memory.
  CodeStorage copied() const { return {bytes->copied(), mask ? mask->copied() : nullptr, begins, unpack}; }
  std::size_t size_bytes() const noexcept { return bytes->span().size() + (mask ? mask->span().size() : 0); }
};

/// Symmetric codes are kept. Codes of 4 bits with zero points keep their bits where a minimum, -scale * zero point, is
/// exact and kernels of 4 bits take the groups; otherwise they become codes of 5 bits without: the difference. Codes of 8
/// bits with zero points would need 9, and kernels know no groups of columns in any order: both are read as floats alone.
/// What kernels of 8 bits take has groups of at most 32 columns, so larger ones are divided.
class CodedRows final : public WeightSource {
 public:
  /// `bits`: 4 or 8. scales: [rows, groups], one per row or one for all.
  CodedRows(CodeStorage storage, std::size_t rows, std::size_t columns, std::size_t bits, CodeScales scales);

  std::size_t rows() const noexcept override { return rows_; }
  std::size_t columns() const noexcept override { return columns_; }
  CodeFormat code_format() const noexcept override { return format_; }
  std::size_t size_bytes() const noexcept override {
    return storage_.size_bytes() + scales_.scales.size() * sizeof(float) + scales_.zeros.size();
  }
  std::shared_ptr<const WeightSource> copied() const override {
    return std::make_shared<const CodedRows>(storage_.copied(), rows_, columns_, bits_, scales_);
  }

  void decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept override;
  void codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
             float* minimums) const noexcept override;

 private:
  bool has_exact_minimums() const noexcept;
  float minimum(std::size_t at) const noexcept {  // the value of the lowest code
    return static_cast<float>(-(1 << (bits_ - 1)) - scales_.zeros[at]) * scales_.scales[at];
  }
  void divide_groups(std::size_t group);

  CodeStorage storage_;
  std::size_t rows_, columns_, bits_, groups_, group_;
  CodeScales scales_;
  CodeFormat format_;
};

/// Scales of F16 and BF16, widened, leave room for the bits of a zero point.
inline bool CodedRows::has_exact_minimums() const noexcept {
  return (scales_.group == 16 || (scales_.group != 0 && scales_.group % 32 == 0)) &&
         std::all_of(scales_.scales.begin(), scales_.scales.end(),
                     [](float scale) { return std::bit_cast<std::uint32_t>(scale) % 32 == 0; });
}

/// `group`: divides the columns of a group.
inline void CodedRows::divide_groups(std::size_t group) {
  const std::size_t times = group_ / group, groups = (columns_ + group - 1) / group;
  const auto divided = [&](const auto& numbers) {
    auto result = numbers;
    result.resize(numbers.empty() ? 0 : rows_ * groups);
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = numbers[i / groups * groups_ + i % groups / times];
    return result;
  };
  scales_.scales = divided(scales_.scales);
  scales_.zeros = divided(scales_.zeros);
  scales_.group = group_ = group;
  groups_ = groups;
}

inline CodedRows::CodedRows(CodeStorage storage, std::size_t rows, std::size_t columns, std::size_t bits,
                            CodeScales scales)
    : storage_(std::move(storage)),
      rows_(rows),
      columns_(columns),
      bits_(bits),
      group_(std::max<std::size_t>(1, scales.group == 0 ? columns : scales.group)),
      scales_(std::move(scales)) {
  groups_ = scales_.group_of.empty() ? (columns + group_ - 1) / group_
                                     : scales_.scales.size() / std::max<std::size_t>(1, rows);
  if (scales_.scales.size() == 1) scales_.scales.resize(rows * groups_, scales_.scales[0]);
  const auto is_zero = [](std::int8_t zero) { return zero == 0; };
  if (std::all_of(scales_.zeros.begin(), scales_.zeros.end(), is_zero)) scales_.zeros.clear();
  const bool is_symmetric = scales_.zeros.empty();
  if (!scales_.group_of.empty() || (bits == 8 && !is_symmetric)) return;  // floats
  format_.has_minimums = !is_symmetric && has_exact_minimums();
  format_.bits = is_symmetric || format_.has_minimums ? bits : bits + 1;
  if (format_.bits > 4 && scales_.group > 32 && scales_.group % 32 == 0) divide_groups(32);
  format_.group = scales_.group;
  format_.half_scales = format_.group != 0;
  for (std::size_t i = 0; i < scales_.scales.size() && format_.half_scales; ++i) {
    const auto is_half = [](float value) { return to_float(to_half(value)) == value; };
    format_.half_scales = is_half(scales_.scales[i]) && (!format_.has_minimums || is_half(minimum(i)));
  }
}

inline void CodedRows::decode(std::span<const std::uint32_t> rows, MatrixView<float> out) const noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // The codes lie in the last quarter of the floats' memory: a float never covers a code that is still to be read.
    const std::byte* code = reinterpret_cast<std::byte*>(out[i]) + 3 * columns_;
    storage_.unpack(storage_, rows[i], columns_, reinterpret_cast<std::byte*>(out[i]) + 3 * columns_);
    const auto decode_columns = [&](std::size_t begin, std::size_t end, std::size_t at) {
      const int zero = scales_.zeros.empty() ? 0 : scales_.zeros[at];
      for (std::size_t column = begin; column < end; ++column, ++code) {
        out[i][column] = static_cast<float>(static_cast<std::int8_t>(*code) - zero) * scales_.scales[at];
      }
    };
    const std::size_t step = scales_.group_of.empty() ? group_ : 1;
    for (std::size_t begin = 0; begin < columns_; begin += step) {
      decode_columns(begin, std::min(begin + step, columns_), rows[i] * groups_ + scales_.group_at(begin));
    }
  }
}

inline void CodedRows::codes(std::span<const std::uint32_t> rows, MatrixView<std::int8_t> out, float* scales,
                             float* minimums) const noexcept {
  const int lowest = format_.has_minimums ? -(1 << (bits_ - 1)) : 0;
  for (std::size_t i = 0; i < rows.size(); ++i, scales += groups_) {
    storage_.unpack(storage_, rows[i], columns_, reinterpret_cast<std::byte*>(out[i]));
    const std::size_t first = rows[i] * groups_;
    std::copy_n(scales_.scales.begin() + static_cast<std::ptrdiff_t>(first), groups_, scales);
    for (std::size_t column = 0; column < columns_ && !scales_.zeros.empty(); ++column) {
      const int zero = format_.has_minimums ? lowest : scales_.zeros[first + column / group_];
      out[i][column] = static_cast<std::int8_t>(out[i][column] - zero);
    }
    if (minimums == nullptr || !format_.has_minimums) continue;
    for (std::size_t at = 0; at < groups_; ++at) *minimums++ = minimum(first + at);
  }
}

}  // namespace tulle
