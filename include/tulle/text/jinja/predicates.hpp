// SPDX-License-Identifier: Apache-2.0
/// \file What may follow `is`: Jinja's tests (L2, text).
#pragma once

#include <string_view>

#include <tulle/text/jinja/arguments.hpp>
#include <tulle/text/jinja/arithmetic.hpp>
#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/string_methods.hpp>

namespace tulle::jinja {

/// A test of a value, with the arguments behind its name.
using PredicateFunction = bool (*)(Budget&, const Value& value, const Arguments&);

struct NamedPredicate {
  std::string_view name;
  PredicateFunction function;
};

namespace detail {

/// The one argument of a test.
inline const Value& other(const Arguments& arguments) {
  if (arguments.positional.size() != 1 || !arguments.named.empty())
    fail(ErrorCode::invalid_argument, "wants one argument");
  return arguments.positional.front();
}

inline bool is_multiple(const Value& value, const Value& of) {
  return !arithmetic("%", value, of).truth();
}

inline bool is_sequence(Budget&, const Value& value, const Arguments&) {
  return value.is(Kind::text) || value.is(Kind::mapping) || value.is(Kind::undefined) ||
         (value.is(Kind::sequence) && !value.is(Flavor::generator));
}

inline bool is_iterable(Budget&, const Value& value, const Arguments&) {
  return value.is(Kind::text) || value.is(Kind::mapping) || value.is(Kind::undefined) || value.is(Kind::sequence);
}

inline bool is_equal(Budget& budget, const Value& value, const Arguments& arguments) {
  return equal(budget, value, other(arguments));
}

inline bool is_unequal(Budget& budget, const Value& value, const Arguments& arguments) {
  return !equal(budget, value, other(arguments));
}

inline bool is_less(Budget& budget, const Value& value, const Arguments& arguments) {
  return compare(budget, value, other(arguments)) < 0;
}

inline bool is_less_or_equal(Budget& budget, const Value& value, const Arguments& arguments) {
  return compare(budget, value, other(arguments)) <= 0;
}

inline bool is_greater(Budget& budget, const Value& value, const Arguments& arguments) {
  return compare(budget, value, other(arguments)) > 0;
}

inline bool is_greater_or_equal(Budget& budget, const Value& value, const Arguments& arguments) {
  return compare(budget, value, other(arguments)) >= 0;
}

inline constexpr NamedPredicate predicates[] = {
    {"!=", is_unequal},
    {"<", is_less},
    {"<=", is_less_or_equal},
    {"==", is_equal},
    {">", is_greater},
    {">=", is_greater_or_equal},
    {"boolean", [](Budget&, V value, A) { return value.is(Kind::boolean); }},
    {"defined", [](Budget&, V value, A) { return !value.is(Kind::undefined); }},
    {"eq", is_equal},
    {"equalto", is_equal},
    {"even", [](Budget&, V value, A) { return is_multiple(value, std::int64_t{2}); }},
    {"false", [](Budget&, V value, A) { return value.is(Kind::boolean) && !value.boolean(); }},
    {"float", [](Budget&, V value, A) { return value.is(Kind::real); }},
    {"ge", is_greater_or_equal},
    {"greaterthan", is_greater},
    {"gt", is_greater},
    {"in", [](Budget& budget, V value, A arguments) { return contains(budget, other(arguments), value); }},
    {"integer", [](Budget&, V value, A) { return value.is(Kind::integer); }},
    {"iterable", is_iterable},
    {"le", is_less_or_equal},
    {"lessthan", is_less},
    {"lt", is_less},
    {"mapping", [](Budget&, V value, A) { return value.is(Kind::mapping); }},
    {"ne", is_unequal},
    {"none", [](Budget&, V value, A) { return value.is(Kind::none); }},
    {"number", [](Budget&, V value, A) { return value.is_number(); }},
    {"odd", [](Budget&, V value, A) { return is_multiple(arithmetic("-", value, std::int64_t{1}), std::int64_t{2}); }},
    {"sequence", is_sequence},
    {"string", [](Budget&, V value, A) { return value.is(Kind::text); }},
    {"true", [](Budget&, V value, A) { return value.is(Kind::boolean) && value.boolean(); }},
    {"undefined", [](Budget&, V value, A) { return value.is(Kind::undefined); }},
};

}  // namespace detail

/// The test of that name, or null.
inline PredicateFunction find_predicate(std::string_view name) {
  for (const NamedPredicate& candidate : detail::predicates) {
    if (candidate.name == name) return candidate.function;
  }
  return nullptr;
}

/// `value is name(arguments)`. Errors: unsupported for an unknown name; invalid_argument with the name in front.
inline bool apply_predicate(Budget& budget, std::string_view name, const Value& value, const Arguments& arguments) {
  const PredicateFunction predicate = find_predicate(name);
  if (predicate == nullptr) fail(ErrorCode::unsupported, "there is no test named '", name, "'");
  budget.spend_pass(value.is(Kind::text) ? value.text().size() : 0);
  try {
    return predicate(budget, value, arguments);
  } catch (const Error& error) {
    fail(error.code(), "test '", name, "': ", error.what());
  }
}

}  // namespace tulle::jinja
