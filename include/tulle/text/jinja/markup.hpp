// SPDX-License-Identifier: Apache-2.0
/// \file HTML inside templates, after markupsafe: text that is combined with markup is escaped first (L2, text). Chat
/// templates have no use for it, but some say `"..." | safe + tool | tojson`, and models were trained on the result.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/printing.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// The text with & < > " ' as HTML entities.
inline std::string escape(Budget& budget, std::string_view text) {
  std::string out;
  for (const char& byte : text) {
    switch (byte) {
      case '&': append(budget, out, "&amp;"); break;
      case '<': append(budget, out, "&lt;"); break;
      case '>': append(budget, out, "&gt;"); break;
      case '"': append(budget, out, "&#34;"); break;
      case '\'': append(budget, out, "&#39;"); break;
      default: append(budget, out, std::string_view(&byte, 1));
    }
  }
  return out;
}

/// The value as it may be combined with markup: markup and numbers as they are, all else as escaped text.
inline Value escaped(Budget& budget, const Value& value) {
  return value.is_markup() || value.is_number() ? value : Value::markup(escape(budget, to_text(budget, value)));
}

/// Strings become markup, also those in a list; other values stay.
inline Value as_markup(const Value& value) {
  if (value.is(Kind::text)) return Value::markup(value.text());
  if (!value.is(Kind::sequence)) return value;
  Items items;
  for (const Value& item : value.items()) items.push_back(as_markup(item));
  return Value::sequence(std::move(items), value.flavor());
}

/// The items of a list and the values of a dict, escaped; another value escaped itself.
inline Value escaped_parts(Budget& budget, const Value& value) {
  if (value.is(Kind::sequence)) {
    Items items;
    for (const Value& item : value.items()) items.push_back(escaped(budget, item));
    return Value::sequence(std::move(items), value.flavor());
  }
  if (!value.is(Kind::mapping)) return escaped(budget, value);
  Entries entries;
  for (const auto& [key, item] : value.entries()) entries.emplace_back(key, escaped(budget, item));
  return Value::mapping(std::move(entries));
}

/// The arguments of a method of markup: escaped where they become part of its result.
inline Arguments escaped_arguments(Budget& budget, std::string_view method, const Arguments& arguments) {
  Arguments result = arguments;
  if (method == "format") {
    for (Value& value : result.positional) value = escaped(budget, value);
    for (auto& [name, value] : result.named) value = escaped(budget, value);
  } else if (method == "join" && !result.positional.empty() && result.positional[0].is(Kind::sequence)) {
    Items items;
    for (const Value& item : result.positional[0].items()) items.push_back(to_text(budget, escaped(budget, item)));
    result.positional[0] = Value::sequence(std::move(items));
  } else if (method == "replace" && result.positional.size() > 1) {
    result.positional[1] = escaped(budget, result.positional[1]);
  }
  return result;
}

/// True when a filter of markup returns markup.
inline bool keeps_markup(std::string_view filter) {
  static constexpr std::array<std::string_view, 8> names = {"capitalize", "format", "indent", "lower",
                                                            "reverse",    "string", "trim",   "upper"};
  return std::find(names.begin(), names.end(), filter) != names.end();
}

}  // namespace tulle::jinja
