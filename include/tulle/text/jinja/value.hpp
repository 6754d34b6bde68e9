// SPDX-License-Identifier: Apache-2.0
/// \file The values of a template: Python's types, as far as templates use them (L2, text).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tulle/text/jinja/limits.hpp>

namespace tulle::jinja {

class Value;
struct Arguments;
struct Namespace;
struct Loop;

using Items = std::vector<Value>;
using Entries = std::vector<std::pair<Value, Value>>;  // in order of insertion, as in Python
using Function = std::function<Value(Budget&, const Arguments&)>;

/// The kinds of values, in the order of `Value`'s variant.
enum class Kind : std::uint8_t {
  undefined,
  none,
  boolean,
  integer,
  real,
  text,
  sequence,
  mapping,
  name_space,
  loop,
  callable
};

/// What a sequence is in Python. A generator has no length, no subscript and is always true.
enum class Flavor : std::uint8_t { list, tuple, generator };

struct None {};

/// The result of a look-up that found nothing: false, empty when printed or iterated, an error in other uses.
struct Undefined {
  std::shared_ptr<const std::string> why;  // "'x' is undefined"; may be null
};

/// The content of a string. Markup is what `safe` and `escape` make: HTML that `+` and `%` keep, escaping what they
/// add.
struct Characters {
  std::string text;
  bool markup = false;
};

struct Sequence;
struct Mapping;
struct Callable;

/// One value; cheap to copy, immutable except for what a `Namespace` or `Loop` points to.
/// Lifetime: namespaces and loops belong to the rendering and outlive every value; so there are no ownership cycles.
class Value {
 public:
  Value() = default;
  Value(None none) : data_(none) {}
  template <std::same_as<bool> Boolean>
  Value(Boolean boolean) : data_(boolean) {}
  Value(std::int64_t integer) : data_(integer) {}
  Value(double real) : data_(real) {}
  Value(std::string text) : data_(std::make_shared<const Characters>(Characters{std::move(text)})) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(Namespace* space) : data_(space) {}
  Value(Loop* loop) : data_(loop) {}

  /// `why` is given in parts: strings.
  template <class... Pieces>
  static Value undefined(const Pieces&... why);
  static Value markup(std::string text);
  static Value sequence(Items items, Flavor flavor = Flavor::list);
  static Value mapping(Entries entries);
  /// A callable that keeps `self` alive, as a bound method does.
  static Value callable(std::string name, Function function, const Value& self = {});

  Kind kind() const noexcept { return static_cast<Kind>(data_.index()); }
  bool is(Kind kind) const noexcept { return this->kind() == kind; }
  bool is(Flavor flavor) const noexcept;
  /// bool and int: Python's integers.
  bool is_integral() const noexcept { return is(Kind::integer) || is(Kind::boolean); }
  bool is_number() const noexcept { return is_integral() || is(Kind::real); }

  // Requires: the value is of the kind.
  bool boolean() const { return std::get<bool>(data_); }
  std::int64_t integer() const { return is(Kind::boolean) ? boolean() : std::get<std::int64_t>(data_); }
  double real() const { return is(Kind::real) ? std::get<double>(data_) : static_cast<double>(integer()); }
  const std::string& text() const { return std::get<std::shared_ptr<const Characters>>(data_)->text; }
  bool is_markup() const { return is(Kind::text) && std::get<std::shared_ptr<const Characters>>(data_)->markup; }
  const Items& items() const;
  const Entries& entries() const;
  Flavor flavor() const;
  Namespace& name_space() const { return *std::get<Namespace*>(data_); }
  Loop& loop() const { return *std::get<Loop*>(data_); }
  const Callable& callable() const { return *std::get<std::shared_ptr<const Callable>>(data_); }
  const std::string& why_undefined() const;

  /// Python's `bool(value)`.
  bool truth() const;
  /// How Python names the type: "str", "int", "dict"...
  std::string_view type_name() const;
  /// How deep lists, dicts and bound methods nest in this value; bounded, so that destruction cannot overflow the
  /// stack.
  int depth() const noexcept;

 private:
  std::variant<Undefined, None, bool, std::int64_t, double, std::shared_ptr<const Characters>,
               std::shared_ptr<const Sequence>, std::shared_ptr<const Mapping>, Namespace*, Loop*,
               std::shared_ptr<const Callable>>
      data_;
};

struct Sequence {
  Items items;
  Flavor flavor;
  int depth;
};

struct Mapping {
  Entries entries;
  int depth;
};

struct Callable {
  std::string name;
  Function function;
  int depth;
};

/// The arguments of a call, in the order written.
struct Arguments {
  Items positional;
  std::vector<std::pair<std::string, Value>> named;
};

namespace detail {

// The parameters of built-in functions, short because their tables repeat them.
using V = const Value&;
using A = const Arguments&;

inline int deeper(int depth) {
  if (depth >= Limits::value_levels) {
    fail(ErrorCode::capacity, "lists and dicts nested deeper than ", Limits::value_levels, " levels");
  }
  return depth + 1;
}

}  // namespace detail

template <class... Pieces>
Value Value::undefined(const Pieces&... why) {
  std::string text;
  ((text += why), ...);
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(text))};
  return value;
}

inline Value Value::markup(std::string text) {
  Value value;
  value.data_ = std::make_shared<const Characters>(Characters{std::move(text), true});
  return value;
}

inline Value Value::sequence(Items items, Flavor flavor) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  Value value;
  value.data_ = std::make_shared<const Sequence>(Sequence{std::move(items), flavor, detail::deeper(depth)});
  return value;
}

inline Value Value::mapping(Entries entries) {
  int depth = 0;
  for (const auto& [key, item] : entries) depth = std::max({depth, key.depth(), item.depth()});
  Value value;
  value.data_ = std::make_shared<const Mapping>(Mapping{std::move(entries), detail::deeper(depth)});
  return value;
}

inline Value Value::callable(std::string name, Function function, const Value& self) {
  Value value;
  value.data_ =
      std::make_shared<const Callable>(Callable{std::move(name), std::move(function), detail::deeper(self.depth())});
  return value;
}

inline bool Value::is(Flavor flavor) const noexcept {
  return is(Kind::sequence) && this->flavor() == flavor;
}
inline const Items& Value::items() const {
  return std::get<std::shared_ptr<const Sequence>>(data_)->items;
}
inline const Entries& Value::entries() const {
  return std::get<std::shared_ptr<const Mapping>>(data_)->entries;
}
inline Flavor Value::flavor() const {
  return std::get<std::shared_ptr<const Sequence>>(data_)->flavor;
}

inline const std::string& Value::why_undefined() const {
  static const std::string unknown = "the value is undefined";
  const auto& why = std::get<Undefined>(data_).why;
  return why ? *why : unknown;
}

inline bool Value::truth() const {
  switch (kind()) {
    case Kind::undefined:
    case Kind::none: return false;
    case Kind::boolean:
    case Kind::integer: return integer() != 0;
    case Kind::real: return real() != 0;
    case Kind::text: return !text().empty();
    case Kind::sequence: return flavor() == Flavor::generator || !items().empty();
    case Kind::mapping: return !entries().empty();
    default: return true;
  }
}

inline std::string_view Value::type_name() const {
  static constexpr std::string_view names[] = {"undefined", "NoneType", "bool",      "int",  "float",   "str",
                                               "list",      "dict",     "namespace", "loop", "function"};
  static constexpr std::string_view flavors[] = {"list", "tuple", "generator"};
  return is(Kind::sequence) ? flavors[static_cast<std::size_t>(flavor())] : names[data_.index()];
}

inline int Value::depth() const noexcept {
  if (const auto* sequence = std::get_if<std::shared_ptr<const Sequence>>(&data_)) return (*sequence)->depth;
  if (const auto* mapping = std::get_if<std::shared_ptr<const Mapping>>(&data_)) return (*mapping)->depth;
  if (const auto* callable = std::get_if<std::shared_ptr<const Callable>>(&data_)) return (*callable)->depth;
  return 0;
}

}  // namespace tulle::jinja
