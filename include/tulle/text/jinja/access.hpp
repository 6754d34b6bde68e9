// SPDX-License-Identifier: Apache-2.0
/// \file Attributes, items, slices and iteration of values (L2, text).
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/arguments.hpp>
#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/loop.hpp>
#include <tulle/text/jinja/markup.hpp>
#include <tulle/text/jinja/scope.hpp>
#include <tulle/text/jinja/string_methods.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The items that a `for` visits: of a list, the keys of a dict, the code points of a string, nothing of an undefined
/// value. Errors: invalid_argument for values that cannot be iterated.
inline Value iterate(Budget& budget, const Value& value) {
  Items items;
  switch (value.kind()) {
    case Kind::sequence: return value;
    case Kind::undefined: break;
    case Kind::mapping:
      budget.allocate(value.entries().size(), sizeof(Value));
      for (const auto& entry : value.entries()) items.push_back(entry.first);
      break;
    case Kind::text:
      for_each_code_point(value.text(), [&](std::string_view point) { push(budget, items, point); });
      break;
    default: fail(ErrorCode::invalid_argument, "a value of type ", value.type_name(), " cannot be iterated");
  }
  return Value::sequence(std::move(items));
}

/// Python's len(). Errors: invalid_argument for values without a length.
inline std::int64_t length(Budget& budget, const Value& value) {
  switch (value.kind()) {
    case Kind::undefined: return 0;
    case Kind::mapping: return static_cast<std::int64_t>(value.entries().size());
    case Kind::text:
      budget.spend_pass(value.text().size());
      return static_cast<std::int64_t>(text_length(value.text()));
    case Kind::sequence:
      if (!value.is(Flavor::generator)) return static_cast<std::int64_t>(value.items().size());
      break;
    default: break;
  }
  fail(ErrorCode::invalid_argument, "a value of type ", value.type_name(), " has no length");
}

/// Python's dict.items(), as a list of tuples.
inline Value entries_as_tuples(Budget& budget, const Value& mapping) {
  budget.allocate(mapping.entries().size(), 4 * sizeof(Value));
  Items items;
  for (const auto& [key, item] : mapping.entries()) items.push_back(Value::sequence({key, item}, Flavor::tuple));
  return Value::sequence(std::move(items));
}

namespace detail {

inline Value mapping_call(Budget& budget, const Value& self, std::string_view name, const Arguments& arguments) {
  if (name == "get") {
    const Bound bound("get", arguments, {"key", "default"});
    const Value* found = find(budget, self, bound.required(0));
    return found != nullptr ? *found : bound.value(1, None{});
  }
  const Bound bound(name, arguments, {});
  if (name == "keys") return iterate(budget, self);
  if (name == "items") return entries_as_tuples(budget, self);
  if (name == "copy") return self;
  budget.allocate(self.entries().size(), sizeof(Value));
  Items values;
  for (const auto& entry : self.entries()) values.push_back(entry.second);
  return Value::sequence(std::move(values));
}

inline Value sequence_call(Budget& budget, const Value& self, std::string_view name, const Arguments& arguments) {
  if (name == "copy") return self;
  const Bound bound(name, arguments, {"value"});
  std::int64_t count = 0;
  for (std::size_t i = 0; i < self.items().size(); ++i) {
    if (!equal(budget, self.items()[i], bound.required(0))) continue;
    if (name == "index") return static_cast<std::int64_t>(i);
    ++count;
  }
  if (name == "index") fail(ErrorCode::invalid_argument, "index(): the value is not in the list");
  return count;
}

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::array<std::string_view, Count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The bound method, or nothing. Methods that would change a list or dict are refused, as HF's sandbox does: undefined,
/// with that reason.
inline std::optional<Value> method(const Value& self, std::string_view name) {
  using Call = Value (*)(Budget&, const Value&, std::string_view, const Arguments&);
  static constexpr std::array<std::string_view, 5> of_mapping = {"copy", "get", "items", "keys", "values"};
  static constexpr std::array<std::string_view, 3> of_sequence = {"copy", "count", "index"};
  static constexpr std::array<std::string_view, 11> changing = {
      "append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"};
  Call call = nullptr;
  if (self.is(Kind::text)) {
    if (const StringMethod found = find_string_method(name)) {
      return Value::callable(
          std::string(name),
          [self, found, key = std::string(name)](Budget& budget, const Arguments& arguments) {
            budget.spend_pass(self.text().size());
            if (!self.is_markup()) return found(budget, self.text(), arguments);
            return as_markup(found(budget, self.text(), escaped_arguments(budget, key, arguments)));
          },
          self);
    }
  } else if (self.is(Kind::mapping)) {
    if (is_one_of(name, of_mapping)) call = mapping_call;
  } else if (self.is(Kind::sequence) && !self.is(Flavor::generator)) {
    if (is_one_of(name, of_sequence)) call = sequence_call;
  }
  if (call != nullptr) {
    return Value::callable(
        std::string(name),
        [self, call, key = std::string(name)](Budget& budget, const Arguments& arguments) {
          return call(budget, self, key, arguments);
        },
        self);
  }
  if ((self.is(Kind::mapping) || self.is(Kind::sequence)) && is_one_of(name, changing)) {
    return Value::undefined("'", name, "' would change a ", self.type_name(),
                            ", which templates may not; use namespace() or build a new one with +");
  }
  return std::nullopt;
}

inline Value missing(const Value& value, std::string_view name) {
  return Value::undefined("'", value.type_name(), " object' has no attribute '", name, "'");
}

/// A Python index, negative ones from the end; `count` where it is out of range.
inline std::size_t resolve_index(std::int64_t index, std::size_t count) {
  if (index < 0) index += static_cast<std::int64_t>(count);
  return index < 0 || static_cast<std::size_t>(index) >= count ? count : static_cast<std::size_t>(index);
}

inline Value text_item(Budget& budget, const std::string& text, std::int64_t index) {
  budget.spend_pass(text.size());
  const std::size_t count = text_length(text);
  const std::size_t wanted = resolve_index(index, count);
  if (wanted == count) return Value::undefined("the string has no item ", std::to_string(index));
  std::size_t at = 0;
  for (std::size_t i = 0; i < wanted; ++i) at += code_point_size(text, at);
  return text.substr(at, code_point_size(text, at));
}

}  // namespace detail

inline Value item(Budget& budget, const Value& value, const Value& key);

/// `value.name`: a method, else an item. Errors: invalid_argument on an undefined value.
inline Value attribute(Budget& budget, const Value& value, std::string_view name) {
  defined(value);
  if (value.is(Kind::loop)) return loop_attribute(value.loop(), name);
  if (value.is(Kind::name_space)) {
    for (const auto& [key, attribute] : value.name_space().attributes) {
      if (key == name) return attribute;
    }
    return detail::missing(value, name);
  }
  if (const auto method = detail::method(value, name)) return *method;
  if (value.is(Kind::mapping)) {
    if (const Value* found = find(budget, value, Value(name))) return *found;
  }
  return detail::missing(value, name);
}

/// `value[key]`: an item, else a method. Errors: invalid_argument on an undefined value.
inline Value item(Budget& budget, const Value& value, const Value& key) {
  defined(value);
  if (value.is(Kind::mapping)) {
    if (const Value* found = find(budget, value, key)) return *found;
  } else if (value.is(Kind::sequence) && key.is_integral() && !value.is(Flavor::generator)) {
    const std::size_t index = detail::resolve_index(key.integer(), value.items().size());
    if (index < value.items().size()) return value.items()[index];
    return Value::undefined("the list has no item ", std::to_string(key.integer()));
  } else if (value.is(Kind::text) && key.is_integral()) {
    const Value found = detail::text_item(budget, value.text(), key.integer());
    return value.is_markup() ? as_markup(found) : found;
  }
  if (key.is(Kind::text)) return attribute(budget, value, key.text());
  return Value::undefined("the ", value.type_name(), " has no such item");
}

}  // namespace tulle::jinja
