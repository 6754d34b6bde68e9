// SPDX-License-Identifier: Apache-2.0
/// \file The blocks of an int8 matrix, and where its panels of them lie in memory (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/kernel/linear_kernel.hpp>

namespace tulle::detail {

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

}  // namespace tulle::detail
