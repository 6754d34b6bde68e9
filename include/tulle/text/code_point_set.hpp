// SPDX-License-Identifier: Apache-2.0
/// \file Sets of Unicode code points, as regular expressions write them (L2).
#pragma once

#include <algorithm>
#include <bitset>
#include <iterator>
#include <utility>
#include <vector>

#include <tulle/core/heap_sort.hpp>

namespace tulle {

/// An immutable set of code points in [0, 0x10FFFF].
/// Complexity: `contains` is one bit test below U+0100, a binary search above.
class CodePointSet {
 public:
  struct Range {
    char32_t first;
    char32_t last;  ///< included
  };
  static constexpr char32_t largest = 0x10FFFF;

  CodePointSet() = default;

  /// Ranges may overlap and come in any order. Requires: first <= last <= largest in each.
  explicit CodePointSet(std::vector<Range> ranges) {
    heap_sort(ranges, [](const Range& a, const Range& b) { return a.first < b.first; });
    for (const Range& range : ranges) {
      if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
        ranges_.back().last = std::max(ranges_.back().last, range.last);
      } else {
        ranges_.push_back(range);
      }
    }
    for (char32_t code_point = 0; code_point < low_.size(); ++code_point) low_[code_point] = search(code_point);
  }

  bool contains(char32_t code_point) const noexcept {
    return code_point < low_.size() ? low_[code_point] : search(code_point);
  }

  const std::vector<Range>& ranges() const noexcept { return ranges_; }

  CodePointSet complement() const {
    std::vector<Range> gaps;
    char32_t next = 0;
    for (const Range& range : ranges_) {
      if (range.first > next) gaps.push_back({next, range.first - 1});
      next = range.last + 1;
    }
    if (next <= largest) gaps.push_back({next, largest});
    return CodePointSet(std::move(gaps));
  }

  CodePointSet united(const CodePointSet& other) const {
    std::vector<Range> both = ranges_;
    both.insert(both.end(), other.ranges_.begin(), other.ranges_.end());
    return CodePointSet(std::move(both));
  }

  CodePointSet intersected(const CodePointSet& other) const {
    return complement().united(other.complement()).complement();
  }

 private:
  bool search(char32_t code_point) const noexcept {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                                        [](char32_t value, const Range& range) { return value < range.first; });
    return after != ranges_.begin() && code_point <= std::prev(after)->last;
  }

  std::vector<Range> ranges_;  // sorted, disjoint, not adjacent
  std::bitset<256> low_;
};

}  // namespace tulle
