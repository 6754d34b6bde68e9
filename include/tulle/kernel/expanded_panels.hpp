// SPDX-License-Identifier: Apache-2.0
/// \file Products with weights that are expanded to dense ones, a panel or two at a time (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tulle/kernel/dense_panels.hpp>
#include <tulle/kernel/i8_blocks.hpp>
#include <tulle/kernel/i8_loop.hpp>
#include <tulle/kernel/packed_panels.hpp>
#include <tulle/kernel/quantized_input.hpp>
#include <tulle/kernel/signed_panels.hpp>

namespace tulle::detail {

/// Writes the next `count` blocks of a panel as dense ones, codes [count][256], and returns where the following begin.
using ExpandBlocks = const std::uint8_t* (*)(const std::uint8_t* blocks, std::size_t count, std::int8_t* codes) noexcept;

template <class Layout, class Tag>
const std::uint8_t* expand_blocks(const std::uint8_t* blocks, std::size_t count, std::int8_t* codes) noexcept {
  typename Layout::Cursor cursor{blocks};
  if constexpr (requires { Layout::expand(Tag{}, cursor, count, codes); }) {
    Layout::expand(Tag{}, cursor, count, codes);
  } else {
    for (std::size_t i = 0; i < count; ++i, cursor.next()) cursor.read(codes + i * block_codes);
  }
  return cursor.at;
}

/// What an instruction set multiplies fastest by many inputs.
#if defined(TULLE_X86)
template <class Tag>
using ExpandedPanels = std::conditional_t<std::is_same_v<Tag, isa::Avx2>, SignedPanels, DensePanels>;
#else
template <class Tag>
using ExpandedPanels = DensePanels;
#endif

/// `expand`, in the form of `ExpandedPanels`.
template <class Tag>
const std::uint8_t* expand_ready(ExpandBlocks expand, const std::uint8_t* blocks, std::size_t count,
                                 std::uint8_t* out) noexcept {
  if constexpr (std::is_same_v<ExpandedPanels<Tag>, DensePanels>) {
    return expand(blocks, count, reinterpret_cast<std::int8_t*>(out));
  } else {
    for (; count > 0; --count, out += ExpandedPanels<Tag>::block_bytes) {
      alignas(64) std::int8_t codes[block_codes];
      blocks = expand(blocks, 1, codes);
      ExpandedPanels<Tag>::write(codes, out);
    }
    return blocks;
  }
}

/// For many inputs, or any number of them where a set has no loop over a layout: a panel or two at a time are expanded,
/// part by part of their columns, and every input meets them.
template <class Scale, std::size_t Span, class Tag>
void multiply_expanded(const PackedPanels& panels, ExpandBlocks expand, const Scale* group_scales,
                       const float* row_scales, const QuantizedInput& input, MatrixView<float> y,
                       RowRange range) noexcept {
  constexpr std::size_t expanded_bytes = ExpandedPanels<Tag>::block_bytes;
  constexpr std::size_t at_once = expanded_bytes == block_codes ? 2 : 1;
  constexpr std::size_t part_columns = 512;  // then all of it fills half of a small first-level cache
  alignas(64) std::uint8_t expanded[at_once * part_columns / block_columns * expanded_bytes];
  for (std::size_t first = range.begin; first < range.end; first += at_once * panel_rows) {
    const RowRange rows{first, std::min(first + at_once * panel_rows, range.end)};
    const std::size_t count = (rows.end - first + panel_rows - 1) / panel_rows, first_panel = first / panel_rows;
    const std::uint8_t* next[at_once] = {};
    for (std::size_t p = 0; p < count; ++p) next[p] = panels.bytes() + panels.panel_begin(first_panel + p);
    for (std::size_t begin = 0; begin < panels.padded_columns(); begin += part_columns) {
      const RowRange columns{begin, std::min(begin + part_columns, panels.padded_columns())};
      const std::size_t part_blocks = (columns.end - begin) / block_columns, part_bytes = part_blocks * expanded_bytes;
      for (std::size_t p = 0; p < count; ++p) {
        next[p] = expand_ready<Tag>(expand, next[p], part_blocks, expanded + p * part_bytes);
      }
      const I8Loop<ExpandedPanels<Tag>, Scale, Span, Tag> dense{
          {expanded, nullptr, part_bytes, first_panel}, group_scales, row_scales, input, y, rows, columns};
      for_each_tile(dense, input.inputs(), rows);
    }
  }
}

}  // namespace tulle::detail
