// SPDX-License-Identifier: Apache-2.0
/// \file Filters by name, and those that call other filters and tests (L2, text).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/number_filters.hpp>
#include <tulle/text/jinja/predicates.hpp>
#include <tulle/text/jinja/sequence_filters.hpp>
#include <tulle/text/jinja/text_filters.hpp>

namespace tulle::jinja {

inline Value apply_filter(Budget& budget, std::string_view name, const Value& input, const Arguments& arguments);
inline FilterFunction find_filter(std::string_view name);

namespace detail {

/// The arguments behind the first `count` positional ones.
inline Arguments behind(A arguments, std::size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

/// The name of a filter or test, or an attribute, as first argument.
inline const Value& leading(A arguments, std::size_t index, std::string_view what) {
  if (index >= arguments.positional.size()) fail(ErrorCode::invalid_argument, "wants ", what);
  return arguments.positional[index];
}

inline const std::string& leading_name(A arguments, std::size_t index, std::string_view what) {
  const Value& name = leading(arguments, index, what);
  if (!name.is(Kind::text)) fail(ErrorCode::invalid_argument, "wants ", what, ", not ", name.type_name());
  return name.text();
}

/// map('filter', ...) or map(attribute='name', default=...).
inline Value map(Budget& budget, V input, A arguments) {
  if (!input.truth()) return generator({});  // also None, as in Jinja
  const Value items = iterate(budget, input);
  budget.allocate(items.items().size(), sizeof(Value));
  Items mapped;
  if (arguments.positional.empty()) {
    const Bound bound("map", arguments, {"attribute", "default"});
    Value fallback = bound.value(1, {});
    if (fallback.is(Kind::none)) fallback = Value();
    for (V item : items.items()) mapped.push_back(follow(budget, item, bound.required(0), fallback));
    return generator(std::move(mapped));
  }
  const std::string& name = leading_name(arguments, 0, "the name of a filter");
  const Arguments rest = behind(arguments, 1);
  for (V item : items.items()) mapped.push_back(apply_filter(budget, name, item, rest));
  return generator(std::move(mapped));
}

/// select, reject and, with an attribute in front, selectattr, rejectattr: the items that pass a test, or are true.
inline Value choose(Budget& budget, V input, A arguments, bool wanted, bool by_attribute) {
  if (!input.truth()) return generator({});
  const Value items = iterate(budget, input);
  const std::size_t test_at = by_attribute ? 1 : 0;
  const Value attribute = by_attribute ? leading(arguments, 0, "the name of an attribute") : Value();
  const bool tested = arguments.positional.size() > test_at;
  const std::string name = tested ? leading_name(arguments, test_at, "the name of a test") : "";
  const Arguments rest = behind(arguments, tested ? test_at + 1 : arguments.positional.size());
  Items chosen;
  for (V item : items.items()) {
    budget.spend(1);
    const Value subject = by_attribute ? follow(budget, item, attribute) : item;
    if ((tested ? apply_predicate(budget, name, subject, rest) : subject.truth()) != wanted) continue;
    budget.allocate(sizeof(Value));
    chosen.push_back(item);
  }
  return generator(std::move(chosen));
}

inline Value default_filter(Budget&, V input, A arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool replaced = input.is(Kind::undefined) || (bound.truth(1, false) && !input.truth());
  return replaced ? bound.value(0, "") : input;
}

inline constexpr NamedFilter general_filters[] = {
    {"d", default_filter},
    {"default", default_filter},
    {"map", map},
    {"reject", [](Budget& budget, V input, A arguments) { return choose(budget, input, arguments, false, false); }},
    {"rejectattr", [](Budget& budget, V input, A arguments) { return choose(budget, input, arguments, false, true); }},
    {"select", [](Budget& budget, V input, A arguments) { return choose(budget, input, arguments, true, false); }},
    {"selectattr", [](Budget& budget, V input, A arguments) { return choose(budget, input, arguments, true, true); }},
};

template <std::size_t Count>
FilterFunction find_in(const NamedFilter (&filters)[Count], std::string_view name) {
  for (const NamedFilter& candidate : filters) {
    if (candidate.name == name) return candidate.function;
  }
  return nullptr;
}

}  // namespace detail

/// The filter of that name, or null.
inline FilterFunction find_filter(std::string_view name) {
  if (const auto found = detail::find_in(detail::general_filters, name)) return found;
  if (const auto found = detail::find_in(detail::text_filters, name)) return found;
  if (const auto found = detail::find_in(detail::sequence_filters, name)) return found;
  return detail::find_in(detail::number_filters, name);
}

/// `input | name(arguments)`. Errors: unsupported for an unknown name; those of the filter with its name in front.
inline Value apply_filter(Budget& budget, std::string_view name, const Value& input, const Arguments& arguments) {
  const FilterFunction filter = find_filter(name);
  if (filter == nullptr) fail(ErrorCode::unsupported, "there is no filter named '", name, "'");
  const Budget::Level level(budget);
  budget.spend_pass(input.is(Kind::text) ? input.text().size() : 0);
  try {
    if (!input.is_markup() || !keeps_markup(name)) return filter(budget, input, arguments);
    return as_markup(filter(budget, input, escaped_arguments(budget, name, arguments)));
  } catch (const Error& error) {
    fail(error.code(), "filter '", name, "': ", error.what());
  }
}

}  // namespace tulle::jinja
