// SPDX-License-Identifier: Apache-2.0
/// \file The blocks of an int8 matrix, where its panels of them lie in memory, and the scales beside them (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/half.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle {

namespace detail {

/// A block is what a layout stores together: 16 rows by 16 columns of codes, dense as [4 quads of columns][16 rows][4].
inline constexpr std::size_t block_columns = 16;
inline constexpr std::size_t block_codes = panel_rows * block_columns;

/// Gives the cursor of `Layout` at the first block of a panel.
template <class Layout>
struct PanelCursors {
  const std::uint8_t* bytes;
  const std::size_t* offsets;   ///< where each panel begins, for layouts whose blocks differ in size
  std::size_t panel_bytes;      ///< of every panel of the others
  std::size_t first_panel = 0;  ///< the one that `bytes` begins with

  typename Layout::Cursor operator[](std::size_t index) const noexcept {
    if constexpr (Layout::block_bytes == 0) {
      return {bytes + offsets[index]};
    } else {
      return {bytes + (index - first_panel) * panel_bytes};
    }
  }
};

}  // namespace detail

/// One f32 scale per row, or per panel [columns / group][16 rows] scales of groups of 32 (f16, as Q8_0 has them) or of
/// 16 columns (f32: a Q6_K scale is a product). Padding rows and columns have scale 0.
class GroupScales {
 public:
  GroupScales() = default;
  /// `columns`: with padding, a multiple of `group` when that is not 0.
  GroupScales(std::size_t rows, std::size_t columns, std::size_t group) : group_(group) {
    const std::size_t padded_rows = round_up(rows, panel_rows);
    if (group == 0) {
      floats_ = AlignedBuffer<float>(padded_rows, Pages::shared);
    } else {
      groups_ = columns / group;
      const std::size_t count = checked_multiply(padded_rows, groups_, "the scales of a matrix");
      if (group == 16) floats_ = AlignedBuffer<float>(count, Pages::shared);
      if (group == 32) halves_ = AlignedBuffer<Half>(count, Pages::shared);
    }
  }

  std::size_t group() const noexcept { return group_; }    ///< columns that share a scale; 0: the whole row
  std::size_t groups() const noexcept { return groups_; }  ///< of a row; 0 when it has one scale
  std::size_t size_bytes() const noexcept { return floats_.size_bytes() + halves_.size_bytes(); }
  const float* floats() const noexcept { return floats_.data(); }  ///< [rows padded], or of groups of 16
  const Half* halves() const noexcept { return halves_.data(); }   ///< of groups of 32

  void set(std::size_t row, std::size_t group_index, float scale) noexcept {
    if (group_ == 32) {
      halves_[index(row, group_index)] = to_half(scale);
    } else {
      floats_[group_ == 0 ? row : index(row, group_index)] = scale;
    }
  }
  float at(std::size_t row, std::size_t column) const noexcept {
    if (group_ == 0) return floats_[row];
    const std::size_t at = index(row, column / group_);
    return group_ == 32 ? to_float(halves_[at]) : floats_[at];
  }

 private:
  std::size_t index(std::size_t row, std::size_t group_index) const noexcept {
    return (row / panel_rows * groups_ + group_index) * panel_rows + row % panel_rows;
  }

  std::size_t group_ = 0, groups_ = 0;
  AlignedBuffer<float> floats_;
  AlignedBuffer<Half> halves_;
};

}  // namespace tulle
