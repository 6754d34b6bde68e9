// SPDX-License-Identifier: Apache-2.0
/// \file How a block of GGUF stores codes and scales, as data, and the one reader of all of them (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <tulle/core/types.hpp>
#include <tulle/tensor/float_elements.hpp>
#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// Some bits of every code of a block. A byte has those of several codes, `lanes` columns apart, the first in its
/// lowest bits: with 4 bits and 16 lanes, columns 0 to 15 are the low halves of 16 bytes and columns 16 to 31 the high
/// ones.
struct BitPlane {
  std::size_t offset = 0;  ///< of its first byte in the block
  std::size_t bits = 0;    ///< 1, 2, 4 or 8; 0: there is no such plane
  std::size_t lanes = 0;   ///< 1, or a multiple of 16
};

/// A block of `DTypeInfo::block_elements` columns (layouts: ggml-common.h; arithmetic: ggml-quants.c).
/// code = low | high << low.bits, then table[code] or code - zero.
struct BlockLayout {
  BitPlane low{}, high{};
  int zero = 0;
  const std::int8_t* table = nullptr;

  /// In place of planes. codes [block elements].
  void (*unpack)(const std::byte* block, std::int8_t* codes) noexcept = nullptr;

  std::size_t scale_at = 0, minimum_at = 0;  ///< of the block's numbers; minimums where the format has them
  float (*load_scale)(const std::byte* number) noexcept = load_half;

  /// By which the block's numbers are multiplied, for each of its groups; minimums are then taken off.
  /// nullptr: every group has the block's numbers.
  void (*factors)(const std::byte* block, float* of_scales, float* of_minimums) noexcept = nullptr;
};

namespace detail {

/// codes [columns] |= the bits of the plane << shift.
inline void add_plane(const BitPlane& plane, const std::byte* block, std::size_t columns, std::size_t shift,
                      std::int8_t* codes) noexcept {
  if (plane.bits == 8) {
    std::memcpy(codes, block + plane.offset, columns);
    return;
  }
  const std::size_t per_byte = 8 / plane.bits;
  const unsigned mask = (1u << plane.bits) - 1;
  const auto add = [&](std::int8_t& code, std::byte byte, std::size_t at) {
    code = static_cast<std::int8_t>(code | ((static_cast<unsigned>(byte) >> at & mask) << shift));
  };
  for (std::size_t begin = 0, run = 0; begin < columns; begin += plane.lanes, ++run) {
    const std::byte* bytes = block + plane.offset + run / per_byte * plane.lanes;
    const std::size_t at = run % per_byte * plane.bits;
    if (plane.lanes == 1) add(codes[begin], *bytes, at);
    for (std::size_t lane = 0; lane + 16 <= plane.lanes; lane += 16) {
      for (std::size_t i = 0; i < 16; ++i) add(codes[begin + lane + i], bytes[lane + i], at);
    }
  }
}

inline void unpack_block(const BlockLayout& layout, const std::byte* block, std::size_t columns,
                         std::int8_t* codes) noexcept {
  if (layout.unpack != nullptr) return layout.unpack(block, codes);
  const BitPlane& low = layout.low;
  const bool is_plain = !is_web && columns == 32 && layout.high.bits == 0 && layout.table == nullptr;
  if (is_plain && low.bits == 8 && layout.zero == 0) {  // Q8_0: a move of known length
    std::memcpy(codes, block + low.offset, 32);
    return;
  }
  if (is_plain && low.bits == 4 && low.lanes == 16) {
    for (std::size_t i = 0; i < 16; ++i) {  // Q4_0 and Q4_1: two vectors
      const auto pair = static_cast<unsigned>(block[low.offset + i]);
      codes[i] = static_cast<std::int8_t>(static_cast<int>(pair & 15u) - layout.zero);
      codes[16 + i] = static_cast<std::int8_t>(static_cast<int>(pair >> 4) - layout.zero);
    }
    return;
  }
  std::memset(codes, 0, columns);
  add_plane(layout.low, block, columns, 0, codes);
  if (layout.high.bits != 0) add_plane(layout.high, block, columns, layout.low.bits, codes);
  for (std::size_t i = 0; i < columns; ++i) {
    codes[i] = layout.table != nullptr ? layout.table[codes[i]] : static_cast<std::int8_t>(codes[i] - layout.zero);
  }
}

/// A row of blocks as `WeightSource::codes` gives it.
inline void unpack_blocks_of(const BlockLayout& layout, DType dtype, const CodeFormat& format, const std::byte* block,
                             std::size_t columns, std::int8_t* codes, float* scales, float* minimums) noexcept {
  const DTypeInfo& info = dtype_info(dtype);
  const std::size_t in_block = info.block_elements / format.group, groups = format.groups(columns);
  for (std::size_t index = 0; index < columns / info.block_elements; ++index, block += info.block_bytes) {
    unpack_block(layout, block, info.block_elements, codes + index * info.block_elements);
    const float scale = layout.load_scale(block + layout.scale_at);
    const float minimum = format.has_minimums ? load_half(block + layout.minimum_at) : 0;
    const std::size_t first = index * in_block;
    if (layout.factors != nullptr) {
      layout.factors(block, scales + first, minimums + (format.has_minimums ? first : 0));
      scales[groups + index] = scale;
      if (format.has_minimums) minimums[groups + index] = -minimum;
      continue;
    }
    for (std::size_t group = first; group < first + in_block; ++group) {
      scales[group] = scale;
      if (format.has_minimums) minimums[group] = minimum;
    }
  }
}

/// The same as floats. out [columns].
inline void decode_blocks(const BlockLayout& layout, DType dtype, const CodeFormat& format, const std::byte* block,
                          std::size_t columns, float* out) noexcept {
  constexpr std::size_t part_columns = 256, most_scales = part_columns / 16 + 1;
  std::int8_t codes[part_columns];
  float scales[most_scales], minimums[most_scales] = {};
  for (std::size_t begin = 0; begin < columns; begin += part_columns) {
    const std::size_t count = columns - begin < part_columns ? columns - begin : part_columns;
    const DTypeInfo& info = dtype_info(dtype);
    unpack_blocks_of(layout, dtype, format, block + begin / info.block_elements * info.block_bytes, count, codes,
                     scales, minimums);
    format.multiply_out(scales, count);
    if (format.has_minimums) format.multiply_out(minimums, count);
    for (std::size_t at = 0; at < count; at += 16) {
      const float scale = scales[at / format.group], minimum = minimums[at / format.group];
      float* values = out + begin + at;
      for (std::size_t i = 0; i < 16; ++i) values[i] = scale * static_cast<float>(codes[at + i]);
      for (std::size_t i = 0; i < 16 && format.has_minimums; ++i) values[i] += minimum;
    }
  }
}

}  // namespace detail

}  // namespace tulle
