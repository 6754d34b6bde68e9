// SPDX-License-Identifier: Apache-2.0
/// \file Lists in Python's order, by keys (L2, text).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/slicing.hpp>
#include <tulle/text/jinja/strings.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// What sorting, grouping and uniqueness compare: the item or an attribute of it, in lower case by default.
inline Value comparison_key(Budget& budget, const Value& item, const Value& attribute, bool case_sensitive) {
  const Value key = attribute.is(Kind::none) ? item : follow(budget, item, attribute);
  budget.spend(1);
  if (case_sensitive || !key.is(Kind::text)) return key;
  budget.allocate(key.text().size());
  return lower(key.text());
}

/// A stable sort that stays within bounds also where `less` contradicts itself, as comparisons with NaN do.
template <class Item, class Less>
void merge_sort(std::vector<Item>& items, Less less) {
  std::vector<Item> merged(items.size());
  for (std::size_t width = 1; width < items.size(); width *= 2) {
    auto out = merged.begin();
    for (std::size_t begin = 0; begin < items.size(); begin += 2 * width) {
      const auto at = [&](std::size_t index) {
        return std::make_move_iterator(items.begin() + static_cast<std::ptrdiff_t>(std::min(index, items.size())));
      };
      out = std::merge(at(begin), at(begin + width), at(begin + width), at(begin + 2 * width), out, less);
    }
    items.swap(merged);
  }
}

/// Items in Python's order of their keys; equal ones stay as they were, also in reverse.
inline Items sorted(Budget& budget, const Items& items, const Value& attribute, bool case_sensitive, bool reverse) {
  budget.allocate(items.size(), 5 * sizeof(Value));
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items) keyed.emplace_back(comparison_key(budget, item, attribute, case_sensitive), item);
  merge_sort(keyed, [&](const auto& a, const auto& b) {
    return reverse ? compare(budget, b.first, a.first) < 0 : compare(budget, a.first, b.first) < 0;
  });
  Items result;
  for (auto& entry : keyed) result.push_back(std::move(entry.second));
  return result;
}

}  // namespace tulle::jinja
