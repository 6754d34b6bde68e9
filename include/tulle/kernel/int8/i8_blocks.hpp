// SPDX-License-Identifier: Apache-2.0
/// \file The blocks of an int8 matrix, where its panels of them lie in memory, and the scales beside them (L2).
#pragma once

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

/// Whether the registers hold two panels of `Layout` while one row multiplies them (bench/kernels.cpp on Zen 5).
template <class Layout, class Isa>
inline constexpr bool two_panels_fit = true;

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

/// Where the scales of a group of a panel lie, and the f16 numbers of its block: 16 of each, one for a row.
struct ScalePlace {
  std::size_t group, block;
};

/// The groups of columns that are visited in order, without a division.
class GroupCursor {
 public:
  explicit GroupCursor(std::size_t group_size) noexcept : size_(group_size), end_(group_size) {}

  /// `column`: that of the last call, or the first of a later span, none of which crosses the end of a group.
  std::size_t index_of(std::size_t column) noexcept {
    if (column != end_) return index_;
    end_ += size_;
    return ++index_;
  }

 private:
  std::size_t size_, end_, index_ = 0;
};

/// What the codes of a matrix are multiplied by: a scale per row, or scales of groups of columns in panels [groups][16
/// rows], beside them the f16 numbers of blocks in panels [blocks][16 rows]. Minimums are stored in the same ways.
/// Padding rows and columns have scale 0.
class GroupScales {
 public:
  static constexpr std::size_t block_columns = 256;  ///< of formats with blocks

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
    blocks_ = columns / block_columns;
    factors_ = AlignedBuffer<std::int8_t>(count, Pages::shared);
    halves_ = AlignedBuffer<Half>(padded_rows * blocks_, Pages::shared);
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

  /// `column`: any of the group.
  ScalePlace place(std::size_t panel, std::size_t group_index, std::size_t column) const noexcept {
    return {(panel * groups_ + group_index) * panel_rows, (panel * blocks_ + column / block_columns) * panel_rows};
  }

  /// `scales`: the numbers of a row, as `WeightSource::codes` gives them.
  void set_row(std::size_t row, std::span<const float> scales) noexcept {
    if (group_ == 0) {
      floats_[row] = scales[0];
      return;
    }
    const ScalePlace first = place(row / panel_rows, 0, 0);
    for (std::size_t index = 0; index < scales.size(); ++index) {
      const std::size_t at = first.group + index * panel_rows + row % panel_rows;
      if (type_ == ScaleType::f32) {
        floats_[at] = scales[index];
      } else if (type_ == ScaleType::f16) {
        halves_[at] = to_half(scales[index]);
      } else if (index < groups_) {
        factors_[at] = static_cast<std::int8_t>(scales[index]);
      } else {
        halves_[first.block + (index - groups_) * panel_rows + row % panel_rows] = to_half(scales[index]);
      }
    }
  }
  /// The same for the 16 rows of a panel. scales [16, per_row].
  void set_panel(std::size_t panel, std::span<const float> scales, std::size_t per_row) noexcept {
    if (is_web || type_ != ScaleType::f16) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        set_row(panel * panel_rows + row, scales.subspan(row * per_row, per_row));
      }
      return;
    }
    Half* out = halves_.data() + place(panel, 0, 0).group;
    for (std::size_t group = 0; group < groups_; ++group) {
      for (std::size_t row = 0; row < panel_rows; ++row) {
        *out++ = group < per_row ? to_half(scales[row * per_row + group]) : Half{};
      }
    }
  }
  float at(std::size_t row, std::size_t column) const noexcept {
    if (group_ == 0) return floats_[row];
    const ScalePlace first = place(row / panel_rows, column / group_, column);
    const std::size_t lane = row % panel_rows;
    if (type_ == ScaleType::f32) return floats_[first.group + lane];
    if (type_ == ScaleType::f16) return to_float(halves_[first.group + lane]);
    return static_cast<float>(factors_[first.group + lane]) * to_float(halves_[first.block + lane]);
  }

  template <class Self, class Fields>
  static void each_field(Self& self, Fields& fields) {
    fields(self.group_, self.groups_, self.blocks_, self.type_, self.floats_, self.halves_, self.factors_);
  }
  /// Whether they are those of so many rows and padded columns, as the constructor makes them.
  bool are_sound(std::size_t rows, std::size_t columns) const noexcept {
    const std::size_t padded_rows = round_up(rows, panel_rows);
    if (group_ == 0) return type_ == ScaleType::f32 && groups_ == 0 && floats_.size() == padded_rows;
    if (groups_ != (columns + group_ - 1) / group_) return false;
    const std::size_t count = padded_rows * groups_;
    switch (type_) {
      case ScaleType::f32: return floats_.size() == count;
      case ScaleType::f16: return halves_.size() == count;
      case ScaleType::factors:
        return columns % block_columns == 0 && blocks_ == columns / block_columns && factors_.size() == count &&
               halves_.size() == padded_rows * blocks_;
    }
    return false;
  }

 private:
  std::size_t group_ = 0, groups_ = 0, blocks_ = 0;
  ScaleType type_ = ScaleType::f32;
  AlignedBuffer<float> floats_;
  AlignedBuffer<Half> halves_;
  AlignedBuffer<std::int8_t> factors_;
};

namespace detail {

#if defined(TULLE_X86)

/// 16 scales of a group, or 8 of them from row `row` of the panel on.
TULLE_INLINE_AVX2 __m256 load8(const GroupScales& scales, ScalePlace at, std::size_t row) noexcept {
  if (scales.type() == ScaleType::f16) return load8(scales.halves() + at.group + row);
  if (scales.type() == ScaleType::f32) return load8(scales.floats() + at.group + row);
  return _mm256_mul_ps(load8(scales.factors() + at.group + row), load8(scales.halves() + at.block + row));
}
TULLE_INLINE_AVX512 __m512 load16(const GroupScales& scales, ScalePlace at) noexcept {
  if (scales.type() == ScaleType::f16) return load16(scales.halves() + at.group);
  if (scales.type() == ScaleType::f32) return load16(scales.floats() + at.group);
  return _mm512_mul_ps(load16(scales.factors() + at.group), load16(scales.halves() + at.block));
}

#endif

#if defined(TULLE_SIMD128)

/// 16 scales of a group to `to` [16]; ones where a row has one scale. Not inline: few copies make a small WebAssembly
/// module.
[[gnu::noinline]] TULLE_TARGET_SIMD128 inline void load_group_scales(const GroupScales& scales, ScalePlace at,
                                                                     float* to) noexcept {
  using namespace simd128;
  F32x4 values[4] = {splat(1.0f), splat(1.0f), splat(1.0f), splat(1.0f)};
  if (scales.type() == ScaleType::f32 && scales.group() != 0) {
    load4s(scales.floats() + at.group, values);
  } else if (scales.type() != ScaleType::f32) {
    load4s(scales.halves() + (scales.type() == ScaleType::f16 ? at.group : at.block), values);
  }
  TULLE_UNROLL
  for (std::size_t i = 0; i < 4; ++i) {
    if (scales.type() == ScaleType::factors) values[i] *= load4(scales.factors() + at.group + 4 * i);
    store(to + 4 * i, values[i]);
  }
}

#endif

}  // namespace detail

}  // namespace tulle
