// SPDX-License-Identifier: Apache-2.0
/// \file Magnitude pruning of int8 matrices: for measuring speed, not for text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// W [rows, columns]: a weight is its code times the scale of its row.
struct I8Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<std::int8_t> codes;
  std::vector<float> scales;
};

/// Which weights become zero: the smallest of every matrix, or of every `group` columns all but the `kept` largest.
struct Pruning {
  double sparsity = 0;
  std::string_view structure = "dense";
  std::size_t kept = 0, group = 0;  ///< 0: unstructured
  std::size_t max_gap = 0;          ///< from one kept column to the next, and from before a group to its first; 0: any

  bool prunes() const noexcept { return sparsity > 0; }
};

/// The patterns of `tulle::balanced_patterns`, and "8:16-gap4".
std::vector<Pruning> balanced_prunings();

void prune(I8Matrix& matrix, const Pruning& pruning);
