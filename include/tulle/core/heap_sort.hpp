// SPDX-License-Identifier: Apache-2.0
/// \file Sorting with small code size (L0).
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

namespace tulle {

/// Sorts a vector, not stably, in O(n log n) steps. Used for sorting at load time: `std::sort` is ten times the code
/// for every element type, which matters in a WebAssembly module.
template <class Vector, class Less = std::less<>>
void heap_sort(Vector& values, Less less = {}) {
  // Sifts down: the largest of values[at] and its descendants moves to values[at]. (Williams 1964, Floyd 1964.)
  const auto sift = [&values, &less](std::size_t at, std::size_t end) {
    for (std::size_t child = 2 * at + 1; child < end; child = 2 * at + 1) {
      if (child + 1 < end && less(values[child], values[child + 1])) ++child;
      if (!less(values[at], values[child])) return;
      std::swap(values[at], values[child]);
      at = child;
    }
  };
  for (std::size_t at = values.size() / 2; at > 0; --at) sift(at - 1, values.size());
  for (std::size_t end = values.size(); end > 1; --end) {
    std::swap(values[0], values[end - 1]);
    sift(0, end - 1);
  }
}

}  // namespace tulle
