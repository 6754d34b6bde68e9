// SPDX-License-Identifier: Apache-2.0
/// \file The filters that take or make lists (L2, text).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/arithmetic.hpp>
#include <tulle/text/jinja/sorting.hpp>
#include <tulle/text/jinja/text_filters.hpp>

namespace tulle::jinja {

namespace detail {

inline Value generator(Items items) {
  return Value::sequence(std::move(items), Flavor::generator);
}

inline Value sort(Budget& budget, V input, A arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const Value items = iterate(budget, input);
  return Value::sequence(
      sorted(budget, items.items(), bound.value(2, None{}), bound.truth(1, false), bound.truth(0, false)));
}

inline Value dict_sort(Budget& budget, V input, A arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.text(1, "key");
  if (!input.is(Kind::mapping)) fail(ErrorCode::invalid_argument, "wants a dict, not ", input.type_name());
  if (by != "key" && by != "value") fail(ErrorCode::invalid_argument, "dictsort() sorts by 'key' or 'value'");
  const Value column = std::int64_t{by == "value"};
  const Value entries = entries_as_tuples(budget, input);
  return Value::sequence(sorted(budget, entries.items(), column, bound.truth(0, false), bound.truth(2, false)));
}

inline Value unique(Budget& budget, V input, A arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const Value items = iterate(budget, input);
  Items keys, kept;
  for (V item : items.items()) {
    const Value key = comparison_key(budget, item, bound.value(1, None{}), bound.truth(0, false));
    if (std::any_of(keys.begin(), keys.end(), [&](V seen) { return equal(budget, seen, key); })) continue;
    budget.allocate(2 * sizeof(Value));
    keys.push_back(key);
    kept.push_back(item);
  }
  return generator(std::move(kept));
}

/// min and max: the first of the smallest, the first of the largest.
inline Value extreme(Budget& budget, std::string_view name, V input, A arguments) {
  const Bound bound(name, arguments, {"case_sensitive", "attribute"});
  const Value items = iterate(budget, input);
  Value best = Value::undefined("the list is empty"), best_key;
  for (V item : items.items()) {
    const Value key = comparison_key(budget, item, bound.value(1, None{}), bound.truth(0, false));
    const bool better = best.is(Kind::undefined) ||
                        (name == "min" ? compare(budget, key, best_key) < 0 : compare(budget, best_key, key) < 0);
    if (!better) continue;
    best = item;
    best_key = key;
  }
  return best;
}

inline Value join_filter(Budget& budget, V input, A arguments) {
  const Bound bound("join", arguments, {"d", "attribute"});
  Items items = iterate(budget, input).items();
  budget.allocate(items.size(), sizeof(Value));
  if (bound.has(1) && !bound.required(1).is(Kind::none)) {
    for (Value& item : items) item = follow(budget, item, bound.required(1));
  }
  return join(budget, to_text(budget, bound.value(0, "")), items, false);
}

inline Value reverse(Budget& budget, V input, A) {
  if (input.is(Kind::text)) return slice(budget, input, None{}, None{}, std::int64_t{-1});
  Items items = iterate(budget, input).items();
  budget.allocate(items.size(), sizeof(Value));
  std::reverse(items.begin(), items.end());
  return generator(std::move(items));
}

inline Value first(Budget& budget, V input, A) {
  if (input.is(Kind::text)) return item(budget, input, std::int64_t{0});
  const Value items = iterate(budget, input);
  return items.items().empty() ? Value::undefined("there is no first item, the list is empty") : items.items().front();
}

inline Value last(Budget& budget, V input, A) {
  if (input.is(Kind::text)) return item(budget, input, std::int64_t{-1});
  if (input.is(Flavor::generator))
    fail(ErrorCode::invalid_argument, "a generator has no last item; put `| list` before it");
  const Value items = iterate(budget, input);
  return items.items().empty() ? Value::undefined("there is no last item, the list is empty") : items.items().back();
}

inline Value items_filter(Budget& budget, V input, A) {
  if (input.is(Kind::undefined)) return generator({});
  if (!input.is(Kind::mapping)) fail(ErrorCode::invalid_argument, "wants a dict, not ", input.type_name());
  return generator(entries_as_tuples(budget, input).items());
}

inline Value list(Budget& budget, V input, A) {
  const Value items = iterate(budget, input);
  budget.allocate(items.items().size(), sizeof(Value));
  return items.is(Flavor::list) ? items : Value::sequence(items.items());
}

inline Value length_filter(Budget& budget, V input, A) {
  return length(budget, input);
}

inline constexpr NamedFilter sequence_filters[] = {
    {"count", length_filter},
    {"dictsort", dict_sort},
    {"first", first},
    {"items", items_filter},
    {"join", join_filter},
    {"last", last},
    {"length", length_filter},
    {"list", list},
    {"max", [](Budget& budget, V input, A arguments) { return extreme(budget, "max", input, arguments); }},
    {"min", [](Budget& budget, V input, A arguments) { return extreme(budget, "min", input, arguments); }},
    {"reverse", reverse},
    {"sort", sort},
    {"unique", unique},
};

}  // namespace detail

}  // namespace tulle::jinja
