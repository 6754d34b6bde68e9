// SPDX-License-Identifier: Apache-2.0
/// \file Python's slices and dotted paths (L2, text).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/access.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

namespace detail {

/// Where a slice starts and how many items it has, after Python's slice.indices().
struct SliceRange {
  std::int64_t start;
  std::int64_t step;
  std::size_t count;
};

inline std::int64_t slice_bound(const Value& bound, std::int64_t fallback, std::int64_t lowest, std::int64_t highest,
                                std::int64_t length) {
  if (bound.is(Kind::none)) return fallback;
  if (!defined(bound).is_integral()) {
    fail(ErrorCode::invalid_argument, "a slice wants integers, not ", bound.type_name());
  }
  const std::int64_t index = bound.integer();
  return std::clamp(index < 0 ? std::max(index, -length - 1) + length : index, lowest, highest);
}

inline SliceRange slice_range(const Value& start, const Value& stop, const Value& step, std::int64_t length) {
  if (!step.is(Kind::none) && !defined(step).is_integral()) {
    fail(ErrorCode::invalid_argument, "the step of a slice is of type ", step.type_name());
  }
  // A step beyond the length takes one item, whatever it is.
  const std::int64_t stride = step.is(Kind::none) ? 1 : std::clamp(step.integer(), -length - 1, length + 1);
  if (stride == 0) fail(ErrorCode::invalid_argument, "the step of a slice is zero");
  const bool backwards = stride < 0;
  const std::int64_t lowest = backwards ? -1 : 0, highest = backwards ? length - 1 : length;
  const std::int64_t from = slice_bound(start, backwards ? highest : lowest, lowest, highest, length);
  const std::int64_t to = slice_bound(stop, backwards ? lowest : highest, lowest, highest, length);
  const std::int64_t span = backwards ? from - to : to - from;
  const std::int64_t size = backwards ? -stride : stride;
  return {from, stride, span <= 0 ? 0 : static_cast<std::size_t>((span + size - 1) / size)};
}

inline std::string slice_text(Budget& budget, const std::string& text, const SliceRange& range) {
  std::string out;
  if (range.step == 1) {
    std::size_t begin = 0;
    for (std::int64_t i = 0; i < range.start && begin < text.size(); ++i) begin += code_point_size(text, begin);
    std::size_t end = begin;
    for (std::size_t i = 0; i < range.count; ++i) end += code_point_size(text, end);
    budget.allocate(end - begin);
    return text.substr(begin, end - begin);
  }
  budget.allocate(text.size(), sizeof(std::string_view) + 1);
  std::vector<std::string_view> points;
  for_each_code_point(text, [&](std::string_view point) { points.push_back(point); });
  for (std::size_t i = 0; i < range.count; ++i) {
    out += points[static_cast<std::size_t>(range.start + static_cast<std::int64_t>(i) * range.step)];
  }
  return out;
}

}  // namespace detail

/// `value[start:stop:step]` of a string, list or tuple; a bound that is None is left out.
inline Value slice(Budget& budget, const Value& value, const Value& start, const Value& stop, const Value& step) {
  const bool sequence = defined(value).is(Kind::sequence) && !value.is(Flavor::generator);
  if (!sequence && !value.is(Kind::text)) {
    fail(ErrorCode::invalid_argument, "a value of type ", value.type_name(), " has no slices");
  }
  const detail::SliceRange range = detail::slice_range(start, stop, step, length(budget, value));
  if (!sequence) {
    std::string text = detail::slice_text(budget, value.text(), range);
    return value.is_markup() ? Value::markup(std::move(text)) : Value(std::move(text));
  }
  budget.allocate(range.count, sizeof(Value));
  Items items;
  for (std::size_t i = 0; i < range.count; ++i) {
    items.push_back(value.items()[static_cast<std::size_t>(range.start + static_cast<std::int64_t>(i) * range.step)]);
  }
  return Value::sequence(std::move(items), value.flavor());
}

/// The argument `attribute` of filters: a name, an index, or several of them with dots ("function.name", "pair.0").
/// `fallback` replaces a missing value, unless it is undefined itself.
inline Value follow(Budget& budget, Value value, const Value& path, const Value& fallback = {}) {
  const auto step = [&](const Value& key) {
    value = item(budget, value, key);
    if (value.is(Kind::undefined) && !fallback.is(Kind::undefined)) value = fallback;
  };
  if (!path.is(Kind::text)) {
    step(path);
    return value;
  }
  std::string_view rest = path.text();
  for (bool more = true; more;) {
    const std::size_t dot = rest.find('.');
    const std::string_view name = rest.substr(0, dot);
    const bool index = !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
    const auto number = index ? parse_integer(name) : std::nullopt;
    step(number ? Value(*number) : Value(name));
    more = dot != std::string_view::npos;
    if (more) rest.remove_prefix(dot + 1);
  }
  return value;
}

}  // namespace tulle::jinja
