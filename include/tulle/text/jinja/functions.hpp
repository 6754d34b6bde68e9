// SPDX-License-Identifier: Apache-2.0
/// \file The global functions of chat templates: Jinja's own and those of HF transformers (L2, text).
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/access.hpp>
#include <tulle/text/jinja/arguments.hpp>
#include <tulle/text/jinja/printing.hpp>
#include <tulle/text/jinja/scope.hpp>

namespace tulle::jinja {

/// Thrown by `raise_exception(message)`: the template's own message, passed on unchanged.
class RaisedError : public Error {
 public:
  explicit RaisedError(const std::string& message) : Error(ErrorCode::invalid_argument, message) {}
};

/// The local time that `strftime_now` shows.
using Clock = std::function<std::tm()>;

inline std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm fields{};
  localtime_r(&now, &fields);
  return fields;
}

namespace detail {

/// range(stop), range(start, stop[, step]). Errors: capacity above the 100000 items that Jinja's sandbox allows.
inline Value range(Budget& budget, A arguments) {
  const Bound bound("range", arguments, {"start", "stop", "step"});
  const bool single = !bound.has(1);
  bound.required(0);
  const std::int64_t start = single ? 0 : bound.integer(0, 0);
  const std::int64_t stop = bound.integer(single ? 0 : 1, 0), step = bound.integer(2, 1);
  if (step == 0) fail(ErrorCode::invalid_argument, "the step of range() is zero");
  Items items;
  for (std::int64_t i = start; step > 0 ? i < stop : i > stop;) {
    if (items.size() == 100'000) fail(ErrorCode::capacity, "range() of more than 100000 items");
    budget.allocate(2 * sizeof(Value));
    items.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value::sequence(std::move(items));
}

/// The entries of an optional dict, then the named arguments.
inline Entries collect_entries(Budget& budget, std::string_view function, A arguments) {
  Entries entries;
  if (!arguments.positional.empty()) {
    const Value& first = arguments.positional.front();
    if (arguments.positional.size() > 1 || !first.is(Kind::mapping)) {
      fail(ErrorCode::invalid_argument, function, "() wants a dict or named arguments");
    }
    entries = first.entries();
  }
  for (const auto& [name, value] : arguments.named) {
    budget.spend(entries.size());
    const auto same = [&wanted = name](const auto& entry) {
      return entry.first.is(Kind::text) && entry.first.text() == wanted;
    };
    const auto found = std::find_if(entries.begin(), entries.end(), same);
    found == entries.end() ? (void)entries.emplace_back(name, value) : (void)(found->second = value);
  }
  budget.allocate(entries.size(), 2 * sizeof(Value));
  return entries;
}

inline Value make_namespace(Budget& budget, Arena& arena, A arguments) {
  Namespace& space = arena.name_space();
  for (auto& [name, value] : collect_entries(budget, "namespace", arguments)) {
    space.attributes.emplace_back(to_text(budget, name), std::move(value));
  }
  return &space;
}

/// Python's strftime of a time without a zone, for the directives of ISO C and glibc, and glibc's flag that leaves
/// padding out (%-d); everything else is copied.
inline std::string format_time(Budget& budget, std::string_view format, const std::tm& time) {
  std::string out;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const std::size_t letter = at + (format.substr(at).starts_with("%-") ? 2 : 1);
    if (format[at] != '%' || letter >= format.size() ||
        std::string_view("aAbBcCdDeFfgGhHIjklmMnpPrRsStTuUVwWxXyYzZ%").find(format[letter]) == std::string_view::npos) {
      append(budget, out, format.substr(at, 1));
      continue;
    }
    const char directive[] = {'%', format[letter], '\0'};
    char buffer[128];
    std::string_view field(buffer, std::strftime(buffer, sizeof buffer, directive, &time));
    if (format[letter] == 'f') field = "000000";  // microseconds, which the clock lacks
    if (format[letter] == 'z' || format[letter] == 'Z') field = {};
    const bool bare = letter == at + 2;
    while (bare && field.size() > 1 && (field[0] == '0' || field[0] == ' ')) field.remove_prefix(1);
    append(budget, out, field);
    at = letter;
  }
  return out;
}

}  // namespace detail

/// Puts the functions into a scope. Lifetime: `arena` outlives the values of the rendering.
inline void define_functions(Scope& scope, Arena& arena, const Clock& clock) {
  const auto define = [&scope](const char* name, Function function) {
    scope.set(name, Value::callable(name, std::move(function)));
  };
  define("range", detail::range);
  define("dict", [](Budget& budget, detail::A arguments) {
    return Value::mapping(detail::collect_entries(budget, "dict", arguments));
  });
  define("namespace",
         [&arena](Budget& budget, detail::A arguments) { return detail::make_namespace(budget, arena, arguments); });
  define("raise_exception", [](Budget& budget, detail::A arguments) -> Value {
    throw RaisedError(to_text(budget, Bound("raise_exception", arguments, {"message"}).required(0)));
  });
  define("strftime_now", [clock](Budget& budget, detail::A arguments) -> Value {
    return detail::format_time(budget, Bound("strftime_now", arguments, {"format"}).text(0), clock());
  });
}

}  // namespace tulle::jinja
