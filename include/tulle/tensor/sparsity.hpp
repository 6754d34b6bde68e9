// SPDX-License-Identifier: Apache-2.0
/// \file Sparsity of a matrix, and its N:M pattern (L1).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include <tulle/tensor/weight_source.hpp>

namespace tulle {

/// At most `kept` of every `group` consecutive columns, counted from column 0, are not zero.
struct BalancedPattern {
  std::string_view name;
  std::size_t kept;
  std::size_t group;
};

/// The patterns that are tested, the strictest first: 1:4 implies 4:16 and 2:4, which implies 4:8, which implies 8:16.
inline constexpr std::array<BalancedPattern, 5> balanced_patterns{
    {{"1:4", 1, 4}, {"4:16", 4, 16}, {"2:4", 2, 4}, {"4:8", 4, 8}, {"8:16", 8, 16}}};

/// The sparsity from which a matrix without a balanced pattern counts as pruned. Rounding to 4 bits alone makes
/// about a tenth of the weights zero, rounding to 8 bits about a hundredth.
inline constexpr double min_pruned_share = 0.2;

struct Sparsity {
  std::size_t elements = 0;
  std::size_t zeros = 0;
  std::string_view structure = "dense";  ///< the name of a balanced pattern, "unstructured" or "dense"

  double share() const noexcept {
    return elements == 0 ? 0 : static_cast<double>(zeros) / static_cast<double>(elements);
  }
};

/// Measures the stored values (codes of 0 and scales of 0 both make zeros). A pattern needs a whole number of groups a
/// row. Complexity: decodes every element once, a row at a time. Errors: memory for one row.
inline Sparsity measure_sparsity(const WeightSource& rows) {
  Sparsity sparsity;
  std::array<std::size_t, balanced_patterns.size()> most{};  // nonzeros in the fullest group
  std::vector<float> values(rows.columns());
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    rows.decode_row(row, values.data());
    sparsity.zeros += static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0f));
    for (std::size_t pattern = 0; pattern < most.size(); ++pattern) {
      const std::size_t group = balanced_patterns[pattern].group;
      if (most[pattern] > balanced_patterns[pattern].kept) continue;  // is refuted already
      for (std::size_t begin = 0; begin + group <= values.size(); begin += group) {
        const auto zeros = std::count(values.data() + begin, values.data() + begin + group, 0.0f);
        most[pattern] = std::max(most[pattern], group - static_cast<std::size_t>(zeros));
      }
    }
  }
  sparsity.elements = rows.rows() * rows.columns();
  if (sparsity.zeros == 0) return sparsity;
  for (std::size_t pattern = 0; pattern < most.size(); ++pattern) {
    if (rows.columns() % balanced_patterns[pattern].group == 0 && most[pattern] <= balanced_patterns[pattern].kept) {
      sparsity.structure = balanced_patterns[pattern].name;
      return sparsity;
    }
  }
  if (sparsity.share() >= min_pruned_share) sparsity.structure = "unstructured";
  return sparsity;
}

}  // namespace tulle
