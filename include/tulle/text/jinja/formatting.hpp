// SPDX-License-Identifier: Apache-2.0
/// \file Python's two ways to fill values into a text: `%` and str.format (L2, text).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/printing.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// Python's `format % arguments`: %s, %d, %(name)s from a dict, and %%.
/// Errors: unsupported for other formats; invalid_argument for values that do not fit.
inline std::string format_percent(Budget& budget, std::string_view format, const Value& arguments) {
  const Items alone = {arguments};
  const Items& items = arguments.is(Flavor::tuple) ? arguments.items() : alone;
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    if (format[at] != '%') {
      append(budget, out, format.substr(at, 1));
      continue;
    }
    const Value* value = nullptr;
    if (++at < format.size() && format[at] == '(') {
      const std::size_t close = format.find(')', at);
      const std::string_view name = format.substr(at + 1, std::min(close, format.size()) - at - 1);
      if (close == std::string_view::npos || !arguments.is(Kind::mapping) ||
          (value = find(budget, arguments, Value(name))) == nullptr) {
        fail(ErrorCode::invalid_argument, "no value named '", name, "' for the format");
      }
      at = close + 1;
    }
    const std::string_view type = format.substr(std::min(at, format.size()), 1);
    if (type == "%") {
      append(budget, out, "%");
      continue;
    }
    if (type != "s" && type != "d") fail(ErrorCode::unsupported, "the format '%", type, "'; %s, %d and %% are known");
    if (value == nullptr) {
      if (used == items.size()) fail(ErrorCode::invalid_argument, "not enough values for the format");
      value = &items[used++];
    }
    if (type == "s") {
      append_text(budget, out, *value);
    } else {
      if (!defined(*value).is_integral()) fail(ErrorCode::invalid_argument, "%d wants an integer");
      append(budget, out, std::to_string(value->integer()));
    }
  }
  if (used < items.size() && !arguments.is(Kind::mapping))
    fail(ErrorCode::invalid_argument, "too many values for the format");
  return out;
}

/// Python's format.format(...): {}, {0} and {name}.
/// Errors: invalid_argument for fields without a value, also those with a format of their own ({:5}, {a.b}).
inline std::string format_braces(Budget& budget, std::string_view format, const Arguments& arguments) {
  std::string out;
  std::size_t used = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const bool brace = format[at] == '{' || format[at] == '}';
    if (!brace || (at + 1 < format.size() && format[at + 1] == format[at])) {
      append(budget, out, format.substr(at, 1));
      if (brace) ++at;
      continue;
    }
    const std::size_t close = format.find('}', at);
    if (format[at] == '}' || close == std::string_view::npos) {
      fail(ErrorCode::invalid_argument, "a format with a single brace");
    }
    const std::string_view name = format.substr(at + 1, close - at - 1);
    const Value* value = nullptr;
    if (const auto index = parse_integer(name); name.empty() || (index && *index >= 0)) {
      const std::size_t position = name.empty() ? used++ : static_cast<std::size_t>(*index);
      if (position < arguments.positional.size()) value = &arguments.positional[position];
    }
    for (const auto& [key, argument] : arguments.named) {
      if (key == name) value = &argument;
    }
    if (value == nullptr) fail(ErrorCode::invalid_argument, "no value for '{", name, "}' in the format");
    append_text(budget, out, *value);
    at = close;
  }
  return out;
}

}  // namespace tulle::jinja
