// SPDX-License-Identifier: Apache-2.0
/// \file Unpacked blocks: weights that are unpacked a panel or two at a time, once for all rows of a batch (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <tulle/kernel/activations/activations_i8.hpp>
#include <tulle/kernel/int8/dense_blocks.hpp>
#include <tulle/kernel/int8/i8_blocks.hpp>
#include <tulle/kernel/int8/loop/i8_loop.hpp>
#include <tulle/kernel/int8/loop/unpacked_blocks_avx2.hpp>
#include <tulle/kernel/int8/loop/unpacked_blocks_avx512.hpp>
#include <tulle/kernel/int8/packed_panels.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>

namespace tulle::detail {

/// Whether an instruction set multiplies blocks of `Layout` as they are; the scalar loop takes dense ones alone.
template <class Layout, class Tag>
concept HasI8Loop = std::is_same_v<Layout, DenseBlocks> ||
                    requires(typename Layout::Cursor cursor) { cursor.step(Tag{}, std::size_t{}, std::size_t{}); };

/// The layout that an instruction set multiplies fastest once it is made of `Layout`; `Layout` itself where nothing is
/// gained.
template <class Layout, class Tag>
constexpr auto unpacked_layout() noexcept {
#if defined(TULLE_X86)
  if constexpr (std::is_base_of_v<isa::Avx2, Tag> && Layout::picks) {
    return std::type_identity<UnpackedBlocks256<Layout::steps, true>>{};
  } else if constexpr (std::is_same_v<Tag, isa::Avx512> && Layout::picks) {
    return std::type_identity<UnpackedBlocks512<Layout::steps, true>>{};
  } else if constexpr (std::is_same_v<Tag, isa::Avx2>) {
    return std::type_identity<UnpackedBlocks256<DenseBlocks::steps, false>>{};
  } else if constexpr (std::is_same_v<Tag, isa::Avx512>) {
    return std::type_identity<UnpackedBlocks512<DenseBlocks::steps, false>>{};
  } else
#endif
  {
    constexpr bool dense = Layout::block_bytes == 0 || !HasI8Loop<Layout, Tag>;
    return std::type_identity<std::conditional_t<dense, DenseBlocks, Layout>>{};
  }
}
template <class Layout, class Tag>
using UnpackedLayout = typename decltype(unpacked_layout<Layout, Tag>())::type;

/// Writes the next `count` blocks of a panel in another layout, to a multiple of 64, and returns where the following
/// begin. The first is a whole number of chunks (`chunk_columns`) from the panel's begin.
using UnpackBlocks = const std::uint8_t* (*)(const std::uint8_t* blocks, std::size_t count, std::uint8_t* out) noexcept;

template <class Layout, class Tag>
const std::uint8_t* unpack_blocks(const std::uint8_t* blocks, std::size_t count, std::uint8_t* out) noexcept {
  using To = UnpackedLayout<Layout, Tag>;
  typename Layout::Cursor cursor{blocks};
  const auto to_dense = [&](std::size_t blocks_of, std::int8_t* codes) {
    if constexpr (requires { Layout::expand(Tag{}, cursor, blocks_of, codes); }) {
      Layout::expand(Tag{}, cursor, blocks_of, codes);
    } else {
      for (std::size_t i = 0; i < blocks_of; ++i, cursor.next()) cursor.read(codes + i * block_codes);
    }
  };
  if constexpr (std::is_same_v<To, DenseBlocks>) {
    to_dense(count, reinterpret_cast<std::int8_t*>(out));
  } else {
    for (std::size_t i = 0; i < count; ++i, out += To::block_bytes) {
      if constexpr (Layout::block_bytes > 0) prefetch_stream<Layout::block_bytes>(cursor.at);
      if constexpr (Layout::picks || std::is_same_v<Layout, DenseBlocks>) {
        To::write(cursor, i, out);
        cursor.next();
      } else {
        alignas(64) std::uint8_t codes[DenseBlocks::block_bytes];
        to_dense(1, reinterpret_cast<std::int8_t*>(codes));
        DenseBlocks::Cursor dense{codes};
        To::write(dense, i, out);
      }
    }
  }
  return cursor.at;
}

/// Every tile of activations with the same panels.
template <std::size_t Panels, class Loop>
void multiply_tiles(const Loop& loop, const std::array<std::size_t, Panels>& which, std::size_t inputs) noexcept {
  for (std::size_t first = 0; first < inputs; first += tile_inputs) {
    const InputTile tile = input_tile(first, inputs);
    const std::size_t next = first + tile.inputs, next_end = std::min(next + tile_inputs, inputs);
    for (const std::size_t panel : which) prefetch_outputs(loop.y, panel, next, next_end);
    switch (tile.width) {
      case 1: loop.template run<Panels, 1>(which.data(), tile); break;
      case 2: loop.template run<Panels, 2>(which.data(), tile); break;
      case 4: loop.template run<Panels, 4>(which.data(), tile); break;
      default: loop.template run<Panels, 8>(which.data(), tile); break;
    }
  }
}

/// For batches, and for any number of rows where a set has no loop over a layout: a panel or two at a time are unpacked
/// to `To`, part by part of their columns, and multiplied by every row of activations.
template <class To, class Tag, std::size_t Group = any_group>
void multiply_unpacked(const PackedPanels& panels, UnpackBlocks unpack, const ActivationsI8& input, MatrixView<float> y,
                       RowRange range) noexcept {
  constexpr std::size_t at_once = std::is_base_of_v<isa::Avx2, Tag> ? 1 : 2;  // as many as the loop takes
  // So much of the panels stays in L1 or L2 for all tiles; with fewer parts, y is read and written less often.
  constexpr std::size_t part_columns = std::is_same_v<Tag, isa::Avx512> ? 1024 : 512;
  alignas(64) std::uint8_t unpacked[at_once * part_columns / block_columns * To::block_bytes];
  for (std::size_t first = range.begin; first < range.end; first += at_once * panel_rows) {
    const RowRange rows{first, std::min(first + at_once * panel_rows, range.end)};
    const std::size_t count = (rows.end - first + panel_rows - 1) / panel_rows, first_panel = first / panel_rows;
    const std::uint8_t* next[at_once] = {};
    for (std::size_t p = 0; p < count; ++p) next[p] = panels.bytes() + panels.panel_begin(first_panel + p);
    for (std::size_t begin = 0; begin < panels.padded_columns(); begin += part_columns) {
      const RowRange columns{begin, std::min(begin + part_columns, panels.padded_columns())};
      const std::size_t part_blocks = (columns.end - begin) / block_columns;
      const std::size_t part_bytes = part_blocks * To::block_bytes;
      for (std::size_t p = 0; p < count; ++p) next[p] = unpack(next[p], part_blocks, unpacked + p * part_bytes);
      const I8Loop<To, Tag, Group> loop{
          {unpacked, nullptr, part_bytes, first_panel}, panels.scales(), input, y, rows, columns};
      std::array<std::size_t, at_once> which;
      for (std::size_t p = 0; p < at_once; ++p) which[p] = first_panel + std::min(p, count - 1);
      multiply_tiles(loop, which, input.inputs());
    }
  }
}

}  // namespace tulle::detail
