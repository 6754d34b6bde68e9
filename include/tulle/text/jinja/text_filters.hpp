// SPDX-License-Identifier: Apache-2.0
/// \file The filters that return text (L2, text).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/arguments.hpp>
#include <tulle/text/jinja/formatting.hpp>
#include <tulle/text/jinja/json_text.hpp>
#include <tulle/text/jinja/markup.hpp>
#include <tulle/text/jinja/slicing.hpp>
#include <tulle/text/jinja/string_methods.hpp>

namespace tulle::jinja {

/// A filter: its input, then its arguments.
using FilterFunction = Value (*)(Budget&, const Value& input, const Arguments&);

struct NamedFilter {
  std::string_view name;
  FilterFunction function;
};

namespace detail {

/// `count` spaces. Errors: capacity when the budget has no room for them.
inline std::string spaces(Budget& budget, std::int64_t count) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  budget.allocate(size);
  return std::string(size, ' ');
}

inline Value indent(Budget& budget, V input, A arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  const bool named = bound.has(0) && bound.required(0).is(Kind::text);
  const std::string indention = named ? bound.text(0) : spaces(budget, bound.integer(0, 4));
  const std::string text = to_text(budget, input) + "\n";
  std::string out = bound.truth(1, false) ? indention : "";
  bool first = true;
  for_each_line(text, false, [&](std::string_view line) {
    if (!first) append(budget, out, "\n");
    if (!first && (bound.truth(2, false) || !line.empty())) append(budget, out, indention);
    append(budget, out, line);
    first = false;
  });
  return out;
}

/// HF's tojson: json.dumps without HTML escaping, ensure_ascii off.
inline Value to_json(Budget& budget, V input, A arguments) {
  const Bound bound("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.truth(0, false);
  style.sorted = bound.truth(3, false);
  const Value indention = bound.value(1, None{}), separators = bound.value(2, None{});
  if (!indention.is(Kind::none)) {
    style.lines = true;
    style.indent = indention.is(Kind::text) ? indention.text() : spaces(budget, bound.integer(1, 0));
    style.item_separator = ",";
  }
  if (!separators.is(Kind::none)) {
    const bool pair = separators.is(Kind::sequence) && separators.items().size() == 2;
    if (!pair || !separators.items()[0].is(Kind::text) || !separators.items()[1].is(Kind::text)) {
      fail(ErrorCode::invalid_argument, "tojson() wants two strings as 'separators'");
    }
    style.item_separator = separators.items()[0].text();
    style.key_separator = separators.items()[1].text();
  }
  return JsonWriter(budget, std::move(style)).write(input);
}

inline Value format_filter(Budget& budget, V input, A arguments) {
  if (arguments.named.empty()) {
    return format_percent(budget, to_text(budget, input), Value::sequence(arguments.positional, Flavor::tuple));
  }
  Entries entries;
  for (const auto& [name, value] : arguments.named) entries.emplace_back(name, value);
  return format_percent(budget, to_text(budget, input), Value::mapping(std::move(entries)));
}

inline Value replace_filter(Budget& budget, V input, A arguments) {
  const Bound bound("replace", arguments, {"old", "new", "count"});
  const bool all = !bound.has(2) || bound.required(2).is(Kind::none);
  return replace(budget, to_text(budget, input), to_text(budget, bound.required(0)), to_text(budget, bound.required(1)),
                 all ? -1 : bound.integer(2, -1));
}

inline Value trim(Budget& budget, V input, A arguments) {
  return strip_call(budget, "trim", to_text(budget, input), arguments, Side::both);
}

inline Value escape_filter(Budget& budget, V input, A) {
  return input.is_markup() ? input : Value::markup(escape(budget, to_text(budget, input)));
}
inline Value text_filter(Budget& budget, V input, A) {
  return to_text(budget, input);
}

inline constexpr NamedFilter text_filters[] = {
    {"capitalize", [](Budget& budget, V input, A) -> Value { return capitalize(to_text(budget, input)); }},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"format", format_filter},
    {"indent", indent},
    {"lower", [](Budget& budget, V input, A) -> Value { return lower(to_text(budget, input)); }},
    {"replace", replace_filter},
    {"safe", [](Budget& budget, V input, A) { return Value::markup(to_text(budget, input)); }},
    {"string", text_filter},
    {"title", [](Budget& budget, V input, A) -> Value { return title_words(to_text(budget, input)); }},
    {"tojson", to_json},
    {"trim", trim},
    {"upper", [](Budget& budget, V input, A) -> Value { return upper(to_text(budget, input)); }},
};

}  // namespace detail

}  // namespace tulle::jinja
