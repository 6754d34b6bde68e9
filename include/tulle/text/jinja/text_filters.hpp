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

/// Every byte but ASCII letters, digits and _.-~/ as %XX.
inline std::string url_encode(Budget& budget, std::string_view text) {
  std::string out;
  for (const char& byte : text) {
    const auto point = static_cast<unsigned char>(byte);
    if (point < 0x80 &&
        (is_letter(point) || is_digit(point) || std::string_view("_.-~/").find(byte) != std::string_view::npos)) {
      append(budget, out, std::string_view(&byte, 1));
    } else {
      std::string escaped(1, '%');
      append_hex(escaped, point, 2);
      append(budget, out, upper(escaped));
    }
  }
  return out;
}

/// `count` spaces. Errors: capacity when the budget has no room for them.
inline std::string spaces(Budget& budget, std::int64_t count) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(count, 0));
  budget.allocate(size);
  return std::string(size, ' ');
}

inline Value center(Budget& budget, V input, A arguments) {
  const std::string text = to_text(budget, input);
  const auto length = static_cast<std::int64_t>(text_length(text));
  const std::int64_t width = Bound("center", arguments, {"width"}).integer(0, 80);
  if (width <= length) return text;
  const std::int64_t margin = width - length;
  const std::int64_t left = margin / 2 + (margin & width & 1);  // as CPython's str.center places an odd margin
  return spaces(budget, left) + text + spaces(budget, margin - left);
}

inline Value indent(Budget& budget, V input, A arguments) {
  const Bound bound("indent", arguments, {"width", "first", "blank"});
  const bool named = bound.has(0) && bound.required(0).is(Kind::text);
  const std::string indention = named ? bound.text(0) : spaces(budget, bound.integer(0, 4));
  const std::string text = to_text(budget, input) + "\n";
  std::string out = bound.truth(1, false) ? indention : "";
  bool first = true;
  for_each_line(text, [&](std::string_view line) {
    if (!first) append(budget, out, "\n");
    if (!first && (bound.truth(2, false) || !line.empty())) append(budget, out, indention);
    append(budget, out, line);
    first = false;
  });
  return out;
}

inline Value truncate(Budget& budget, V input, A arguments) {
  const Bound bound("truncate", arguments, {"length", "killwords", "end", "leeway"});
  const std::string text = to_text(budget, input), end = bound.text(2, "...");
  const std::int64_t max_length = bound.integer(0, 255), leeway = bound.integer(3, 5);
  const std::int64_t kept = max_length - static_cast<std::int64_t>(text_length(end));
  if (kept < 0 || leeway < 0) fail(ErrorCode::invalid_argument, "truncate() wants a length that the end fits into");
  if (static_cast<std::int64_t>(text_length(text)) - leeway <= max_length) return text;
  std::string cut = slice(budget, Value(text), None{}, kept, None{}).text();
  if (!bound.truth(1, false)) cut.resize(std::min(cut.rfind(' '), cut.size()));
  return cut + end;
}

inline Value word_count(Budget& budget, V input, A) {
  std::int64_t count = 0;
  bool inside = false;
  for_each_code_point(to_text(budget, input), [&](std::string_view bytes) {
    const char32_t point = decode_code_point(bytes, 0);
    const bool word = is_letter(point) || is_digit(point) || point == '_';
    count += word && !inside;
    inside = word;
  });
  return count;
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
    {"center", center},
    {"e", escape_filter},
    {"escape", escape_filter},
    {"forceescape", [](Budget& budget, V input, A) { return Value::markup(escape(budget, to_text(budget, input))); }},
    {"format", format_filter},
    {"indent", indent},
    {"lower", [](Budget& budget, V input, A) -> Value { return lower(to_text(budget, input)); }},
    {"replace", replace_filter},
    {"safe", [](Budget& budget, V input, A) { return Value::markup(to_text(budget, input)); }},
    {"string", text_filter},
    {"title", [](Budget& budget, V input, A) -> Value { return title_words(to_text(budget, input)); }},
    {"tojson", to_json},
    {"trim", trim},
    {"truncate", truncate},
    {"upper", [](Budget& budget, V input, A) -> Value { return upper(to_text(budget, input)); }},
    {"urlencode", [](Budget& budget, V input, A) -> Value { return url_encode(budget, to_text(budget, input)); }},
    {"wordcount", word_count},
};

}  // namespace detail

}  // namespace tulle::jinja
