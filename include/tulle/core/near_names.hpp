// SPDX-License-Identifier: Apache-2.0
/// \file Known names that are similar to an unknown one, for error messages (L0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tulle::detail {

/// Insertions, deletions and replacements between two names (Wagner and Fischer, 1974).
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances of a's beginnings to all beginnings of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Up to three known names that are similar to an unknown one, nearest first: "temperature, top_p".
inline std::string near_names(std::string_view name, std::span<const std::string_view> known) {
  constexpr std::size_t longest = 64, max_names = 3, shortest_part = 4;
  if (name.size() > longest) return "";
  std::vector<std::pair<std::size_t, std::string_view>> near;
  for (const std::string_view each : known) {
    const std::size_t distance = edit_distance(name, each);
    const std::size_t shorter = std::min(name.size(), each.size());
    const bool part = shorter >= shortest_part &&
                      (name.find(each) != std::string_view::npos || each.find(name) != std::string_view::npos);
    if (part || distance <= shorter / 3) near.emplace_back(distance, each);
  }
  std::sort(near.begin(), near.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(near.size(), max_names); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(near[i].second);
  }
  return text;
}

}  // namespace tulle::detail
