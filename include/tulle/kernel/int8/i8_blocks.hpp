// SPDX-License-Identifier: Apache-2.0
/// \file The blocks of an int8 matrix, where its panels of them lie in memory, and the scales beside them (L2).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/half.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/tensor/simd128.hpp>
#include <tulle/tensor/weight_source.hpp>
#include <tulle/tensor/x86.hpp>

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

/// How scales are stored: f32, f16 where that is exact, or as int8 factors beside the f16 of their block of columns.
enum class ScaleType : std::uint8_t { f32, f16, factors };

constexpr ScaleType scale_type(const CodeFormat& format) noexcept {
  if (format.group == 0) return ScaleType::f32;
  return format.block != 0 ? ScaleType::factors : format.half_scales ? ScaleType::f16 : ScaleType::f32;
}

/// What the codes of a matrix are multiplied by: a scale per row, or scales of groups of columns in panels [groups][16
/// rows], beside them the f16 numbers of blocks in panels [blocks][16 rows]. Minimums are stored in the same ways.
/// Padding rows and columns have scale 0.
class GroupScales {
 public:
  GroupScales() = default;
  /// `columns`: with padding; a multiple of 256 where the format has blocks.
  GroupScales(std::size_t rows, std::size_t columns, const CodeFormat& format)
      : group_(format.group), type_(scale_type(format)) {
    if (group_ != 0) groups_ = format.groups(columns);
    const std::size_t padded_rows = round_up(rows, panel_rows);
    const std::size_t count = checked_multiply(padded_rows, format.groups(columns), "the scales of a matrix");
    if (type_ == ScaleType::f32) floats_ = AlignedBuffer<float>(count, Pages::shared);
    if (type_ == ScaleType::f16) halves_ = AlignedBuffer<Half>(count, Pages::shared);
    if (type_ != ScaleType::factors) return;
    factors_ = AlignedBuffer<std::int8_t>(count, Pages::shared);
    halves_ = AlignedBuffer<Half>(padded_rows * (columns / format.block), Pages::shared);
    block_shift_ = static_cast<std::size_t>(std::countr_zero(format.block / group_));
  }

  std::size_t group() const noexcept { return group_; }    ///< columns that share a scale; 0: the whole row
  std::size_t groups() const noexcept { return groups_; }  ///< of a row; 0 when it has one scale
  ScaleType type() const noexcept { return type_; }
  std::size_t size_bytes() const noexcept {
    return floats_.size_bytes() + halves_.size_bytes() + factors_.size_bytes();
  }
  const float* floats() const noexcept { return floats_.data(); }  ///< [rows padded], or of groups
  const Half* halves() const noexcept { return halves_.data(); }   ///< of groups, or of blocks
  const std::int8_t* factors() const noexcept { return factors_.data(); }

  /// Of a row's group in its panels.
  std::size_t index(std::size_t row, std::size_t group_index) const noexcept {
    return (row / panel_rows * groups_ + group_index) * panel_rows + row % panel_rows;
  }
  /// Of its block, from the index of a group.
  std::size_t block_index(std::size_t index) const noexcept {
    return (index / panel_rows >> block_shift_) * panel_rows + index % panel_rows;
  }

  /// `scales`: the numbers of a row, as `WeightSource::codes` gives them.
  void set_row(std::size_t row, std::span<const float> scales) noexcept {
    const std::size_t groups = group_ == 0 ? 1 : groups_;
    for (std::size_t at = 0; at < scales.size(); ++at) {
      if (at >= groups) {
        halves_[block_index(index(row, (at - groups) << block_shift_))] = to_half(scales[at]);
      } else if (type_ == ScaleType::factors) {
        factors_[index(row, at)] = static_cast<std::int8_t>(scales[at]);
      } else if (type_ == ScaleType::f16) {
        halves_[index(row, at)] = to_half(scales[at]);
      } else {
        floats_[group_ == 0 ? row : index(row, at)] = scales[at];
      }
    }
  }
  /// Of the group at an index, or of a row.
  float operator[](std::size_t index) const noexcept {
    if (type_ == ScaleType::f32) return floats_[index];
    if (type_ == ScaleType::f16) return to_float(halves_[index]);
    return static_cast<float>(factors_[index]) * to_float(halves_[block_index(index)]);
  }
  float at(std::size_t row, std::size_t column) const noexcept {
    return (*this)[group_ == 0 ? row : index(row, column / group_)];
  }

 private:
  std::size_t group_ = 0, groups_ = 0, block_shift_ = 0;  // a block has 2^block_shift groups
  ScaleType type_ = ScaleType::f32;
  AlignedBuffer<float> floats_;
  AlignedBuffer<Half> halves_;
  AlignedBuffer<std::int8_t> factors_;
};

#if defined(TULLE_X86)

namespace detail {

/// 8 or 16 scales of a group from index `at` on.
TULLE_INLINE_AVX2 __m256 load8(const GroupScales& scales, std::size_t at) noexcept {
  if (scales.type() == ScaleType::f16) return load8(scales.halves() + at);
  if (scales.type() == ScaleType::f32) return load8(scales.floats() + at);
  return _mm256_mul_ps(load8(scales.factors() + at), load8(scales.halves() + scales.block_index(at)));
}
TULLE_INLINE_AVX512 __m512 load16(const GroupScales& scales, std::size_t at) noexcept {
  if (scales.type() == ScaleType::f16) return load16(scales.halves() + at);
  if (scales.type() == ScaleType::f32) return load16(scales.floats() + at);
  return _mm512_mul_ps(load16(scales.factors() + at), load16(scales.halves() + scales.block_index(at)));
}

}  // namespace detail

#endif

#if defined(TULLE_SIMD128)

namespace detail {

/// 4 Count scales of a group from index `at` on.
template <std::size_t Count>
TULLE_INLINE_SIMD128 void load_group_scales(const GroupScales& scales, std::size_t at,
                                            simd128::F32x4 (&to)[Count]) noexcept {
  using namespace simd128;
  if (scales.type() == ScaleType::f32) return load4s(scales.floats() + at, to);
  if (scales.type() == ScaleType::f16) return load4s(scales.halves() + at, to);
  load4s(scales.halves() + scales.block_index(at), to);
  TULLE_UNROLL
  for (std::size_t i = 0; i < Count; ++i) to[i] *= load4(scales.factors() + at + 4 * i);
}

}  // namespace detail

#endif

}  // namespace tulle
