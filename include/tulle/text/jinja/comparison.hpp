// SPDX-License-Identifier: Apache-2.0
/// \file Equality, order and membership, with Python's meaning (L2, text).
#pragma once

#include <algorithm>
#include <compare>
#include <string>

#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// Whether two values are one object: equal scalars of one type, or the same container.
inline bool same(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::undefined: return false;
    case Kind::none: return true;
    case Kind::text: return a.text() == b.text();
    case Kind::boolean:
    case Kind::integer: return a.integer() == b.integer();
    case Kind::real: return a.real() == b.real();
    case Kind::sequence: return &a.items() == &b.items();
    case Kind::mapping: return &a.entries() == &b.entries();
    case Kind::name_space: return &a.name_space() == &b.name_space();
    case Kind::loop: return &a.loop() == &b.loop();
    case Kind::callable: return &a.callable() == &b.callable();
  }
  return false;
}

/// Python's `a == b`: numbers by value, lists and dicts by content, other types never equal.
inline bool equal(Budget& budget, const Value& a, const Value& b) {
  budget.spend(1);
  if (a.is_number() && b.is_number()) {
    return a.is_integral() && b.is_integral() ? a.integer() == b.integer() : a.real() == b.real();
  }
  if (a.kind() != b.kind()) return false;
  if (a.is(Kind::text)) budget.spend(std::min(a.text().size(), b.text().size()) / 64);
  if (a.is(Kind::undefined) || same(a, b)) return true;
  const Budget::Level level(budget);
  if (a.is(Kind::sequence)) {
    if (a.flavor() != b.flavor() || a.is(Flavor::generator) || a.items().size() != b.items().size()) return false;
    for (std::size_t i = 0; i < a.items().size(); ++i) {
      if (!equal(budget, a.items()[i], b.items()[i])) return false;
    }
    return true;
  }
  if (!a.is(Kind::mapping) || a.entries().size() != b.entries().size()) return false;
  for (const auto& [key, item] : a.entries()) {
    bool found = false;
    for (const auto& [other_key, other] : b.entries()) {
      if (!equal(budget, key, other_key)) continue;
      if (!equal(budget, item, other)) return false;
      found = true;
      break;
    }
    if (!found) return false;
  }
  return true;
}

/// An operand that must not be undefined. Errors: invalid_argument with the reason why it is.
inline const Value& defined(const Value& value) {
  if (value.is(Kind::undefined)) fail(ErrorCode::invalid_argument, value.why_undefined());
  return value;
}

/// Python's order. Errors: invalid_argument for types that have no order between them.
inline std::partial_ordering compare(Budget& budget, const Value& a, const Value& b) {
  budget.spend(1);
  defined(a), defined(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.integer() <=> b.integer();
    return a.real() <=> b.real();
  }
  if (a.is(Kind::text) && b.is(Kind::text)) {
    budget.spend(std::min(a.text().size(), b.text().size()) / 64);
    return a.text().compare(b.text()) <=> 0;  // UTF-8 keeps the order of code points
  }
  if (a.is(Kind::sequence) && b.is(Kind::sequence) && a.flavor() == b.flavor() && !a.is(Flavor::generator)) {
    const Budget::Level level(budget);
    const std::size_t shared = std::min(a.items().size(), b.items().size());
    for (std::size_t i = 0; i < shared; ++i) {
      if (!equal(budget, a.items()[i], b.items()[i])) return compare(budget, a.items()[i], b.items()[i]);
    }
    return a.items().size() <=> b.items().size();
  }
  fail(ErrorCode::invalid_argument, "cannot compare ", a.type_name(), " with ", b.type_name());
}

/// The value under a key of a dict, or null. Keys are few: they are searched one by one.
inline const Value* find(Budget& budget, const Value& mapping, const Value& key) {
  for (const auto& [name, item] : mapping.entries()) {
    if (equal(budget, name, key)) return &item;
  }
  return nullptr;
}

/// Python's `item in container`.
inline bool contains(Budget& budget, const Value& container, const Value& item) {
  switch (container.kind()) {
    case Kind::undefined: return false;
    case Kind::mapping: return find(budget, container, item) != nullptr;
    case Kind::text:
      if (!defined(item).is(Kind::text)) {
        fail(ErrorCode::invalid_argument, "'in <string>' wants a string on its left, not ", item.type_name());
      }
      budget.spend_search(container.text().size(), item.text().size());
      return container.text().find(item.text()) != std::string::npos;
    case Kind::sequence:
      for (const Value& candidate : container.items()) {
        if (equal(budget, candidate, item)) return true;
      }
      return false;
    default: fail(ErrorCode::invalid_argument, "'in' wants a container on its right, not ", container.type_name());
  }
}

}  // namespace tulle::jinja
