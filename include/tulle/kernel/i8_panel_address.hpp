// SPDX-License-Identifier: Apache-2.0
/// \file Where the panels of an int8 matrix lie in memory (L2).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tulle::detail {

/// Where the panels of a matrix lie.
template <class Layout>
struct I8PanelAddress {
  const std::uint8_t* bytes;
  const std::size_t* offsets;  ///< where each panel begins; null when all have panel_bytes
  std::size_t panel_bytes;
  std::size_t first_panel = 0;  ///< the one that `bytes` begins with

  typename Layout::Cursor operator()(std::size_t index) const noexcept {
    if constexpr (Layout::block_bytes == 0) {
      return {bytes + offsets[index]};
    } else {
      return {bytes + (index - first_panel) * panel_bytes};
    }
  }
};

}  // namespace tulle::detail
