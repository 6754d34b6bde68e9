// SPDX-License-Identifier: Apache-2.0
/// \file Which rows of a matrix lie together in a panel of ELL (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <tulle/kernel/linear_kernel.hpp>

namespace tulle::detail {

/// The slots that panels of 16 rows fill where each row takes as many as the longest of its panel. `nonzeros` of each row.
template <class RowAt>
std::size_t filled_slots(std::span<const std::uint32_t> nonzeros, RowAt&& row_at) {
  std::size_t slots = 0;
  for (std::size_t begin = 0; begin < nonzeros.size(); begin += panel_rows) {
    std::uint32_t longest = 0;
    for (std::size_t i = begin; i < std::min(begin + panel_rows, nonzeros.size()); ++i) {
      longest = std::max(longest, nonzeros[row_at(i)]);
    }
    slots += longest * panel_rows;
  }
  return slots;
}

/// Of each 256 rows the longest first, so that rows of one panel are about as long (SELL-C-sigma, Kreutzer et al. 2014,
/// arXiv:1307.6209). No order, which means that of the matrix, where that spares less than a fifth of the slots: outputs
/// beside each other are written faster. Among more rows, two threads would write to the same cache lines.
inline std::vector<std::uint32_t> longest_first(std::span<const std::uint32_t> nonzeros) {
  constexpr double worth = 0.8;
  constexpr std::size_t sigma = 256;
  std::vector<std::uint32_t> order(nonzeros.size());
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t begin = 0; begin < order.size(); begin += sigma) {
    const std::span<std::uint32_t> rows(&order[begin], std::min(sigma, order.size() - begin));
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return nonzeros[a] > nonzeros[b]; });
  }
  const std::size_t own = filled_slots(nonzeros, [](std::size_t i) { return i; });
  const std::size_t sorted = filled_slots(nonzeros, [&](std::size_t i) { return order[i]; });
  if (static_cast<double>(sorted) >= worth * static_cast<double>(own)) order.clear();
  return order;
}

/// Whether `order` names each of `rows` rows once, or none.
inline bool is_row_order(std::span<const std::uint32_t> order, std::size_t rows) {
  if (order.empty()) return true;
  if (order.size() != rows) return false;
  std::vector<bool> seen(rows);
  for (const std::uint32_t row : order) {
    if (row >= rows || seen[row]) return false;
    seen[row] = true;
  }
  return true;
}

}  // namespace tulle::detail
