// SPDX-License-Identifier: Apache-2.0
/// \file Products with weights that are unpacked for many inputs, a panel or two at a time (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/dense_panels.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/i8_loop.hpp>
#include <tulle/kernel/int8/loop/ready_panels.hpp>
#include <tulle/kernel/int8/loop/signed_panels.hpp>
#include <tulle/kernel/int8/loop/summed_panels.hpp>
#include <tulle/kernel/int8/packed_panels.hpp>

namespace tulle::detail {

/// The layout that many inputs meet in place of `Layout`: what an instruction set multiplies fastest once it is made.
template <class Layout, class Tag>
constexpr auto expanded_layout() noexcept {
  if constexpr (std::is_same_v<Tag, isa::Simd128> && Layout::expands_on_simd128) {
    return std::type_identity<DensePanels>{};
#if defined(TULLE_X86)
  } else if constexpr (std::is_base_of_v<isa::Avx2, Tag> && requires { typename Layout::Step256; }) {
    return std::type_identity<ReadyPanels256<Layout>>{};
  } else if constexpr (std::is_same_v<Tag, isa::Avx512> && requires { typename Layout::Step256; }) {
    return std::type_identity<ReadyPanels512<Layout>>{};
  } else if constexpr (std::is_same_v<Tag, isa::Avx2>) {
    return std::type_identity<SignedPanels>{};
  } else if constexpr (std::is_same_v<Tag, isa::Avx512>) {
    return std::type_identity<SummedPanels>{};
#endif
  } else {
    return std::type_identity<std::conditional_t<Layout::expands_for_many, DensePanels, Layout>>{};
  }
}
template <class Layout, class Tag>
using ExpandedLayout = typename decltype(expanded_layout<Layout, Tag>())::type;

/// Writes the next `count` blocks of a panel in another layout, to a multiple of 64, and returns where the following begin.
/// The first is a whole number of chunks (`chunk_columns`) from the panel's begin.
using ExpandBlocks = const std::uint8_t* (*)(const std::uint8_t* blocks, std::size_t count, std::uint8_t* out) noexcept;

template <class Layout, class Tag>
const std::uint8_t* expand_blocks(const std::uint8_t* blocks, std::size_t count, std::uint8_t* out) noexcept {
  using To = ExpandedLayout<Layout, Tag>;
  typename Layout::Cursor cursor{blocks};
  const auto to_dense = [&](std::size_t blocks_of, std::int8_t* codes) {
    if constexpr (requires { Layout::expand(Tag{}, cursor, blocks_of, codes); }) {
      Layout::expand(Tag{}, cursor, blocks_of, codes);
    } else {
      for (std::size_t i = 0; i < blocks_of; ++i, cursor.next()) cursor.read(codes + i * block_codes);
    }
  };
  if constexpr (std::is_same_v<To, DensePanels>) {
    to_dense(count, reinterpret_cast<std::int8_t*>(out));
  } else {
    for (std::size_t i = 0; i < count; ++i, out += To::block_bytes) {
      if constexpr (requires { To::write(cursor, i, out); }) {
        To::write(cursor, i, out);
        cursor.next();
      } else if constexpr (requires { cursor.codes(); }) {
        To::write(cursor.codes(), out);  // a copy made in small parts is slow to load in large ones
        cursor.next();
      } else {
        alignas(64) std::int8_t codes[block_codes];
        to_dense(1, codes);
        To::write(codes, out);
      }
    }
  }
  return cursor.at;
}

/// For many inputs, or any number of them where a set has no loop over a layout: a panel or two at a time are expanded to
/// `To`, part by part of their columns, and every input meets them.
template <class To, class Scale, std::size_t Span, class Tag>
void multiply_expanded(const PackedPanels& panels, ExpandBlocks expand, const Scale* group_scales,
                       const float* row_scales, const ActivationsI8& input, MatrixView<float> y,
                       RowRange range) noexcept {
  constexpr std::size_t expanded_bytes = To::block_bytes;
  constexpr std::size_t at_once = std::is_base_of_v<isa::Avx2, Tag> ? 1 : 2;  // as many as the loop takes
  // So much of the panels stays in the cache while the inputs pass by; fewer parts are read from and added to y less often.
  constexpr std::size_t part_columns = std::is_same_v<Tag, isa::Avx512> ? 1024 : 512;
  alignas(64) std::uint8_t expanded[at_once * part_columns / block_columns * expanded_bytes];
  for (std::size_t first = range.begin; first < range.end; first += at_once * panel_rows) {
    const RowRange rows{first, std::min(first + at_once * panel_rows, range.end)};
    const std::size_t count = (rows.end - first + panel_rows - 1) / panel_rows, first_panel = first / panel_rows;
    const std::uint8_t* next[at_once] = {};
    for (std::size_t p = 0; p < count; ++p) next[p] = panels.bytes() + panels.panel_begin(first_panel + p);
    for (std::size_t begin = 0; begin < panels.padded_columns(); begin += part_columns) {
      const RowRange columns{begin, std::min(begin + part_columns, panels.padded_columns())};
      const std::size_t part_blocks = (columns.end - begin) / block_columns, part_bytes = part_blocks * expanded_bytes;
      for (std::size_t p = 0; p < count; ++p) next[p] = expand(next[p], part_blocks, expanded + p * part_bytes);
      const I8Loop<To, Scale, Span, Tag> dense{
          {expanded, nullptr, part_bytes, first_panel}, group_scales, row_scales, input, y, rows, columns};
      for_each_tile(dense, input.inputs(), rows);
    }
  }
}

}  // namespace tulle::detail
