// SPDX-License-Identifier: Apache-2.0
/// \file Python's two ways to fill values into a text: `%` and str.format (L2, text).
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include <tulle/text/jinja/comparison.hpp>
#include <tulle/text/jinja/printing.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// How one field is written; the part of the two format languages that they share.
struct FieldStyle {
  bool left = false;   ///< pad on the right
  bool zeros = false;  ///< pad with zeros after the sign
  bool plus = false;   ///< a sign also on positive numbers
  std::size_t width = 0;
  int precision = -1;  ///< digits after the point; code points of a string; -1 where not given
  char type = 's';     ///< s, r, d, i, x, X or f
};

namespace detail {

/// A number of at most three digits: wider fields have no use.
inline std::size_t read_width(std::string_view text, std::size_t& at) {
  std::size_t width = 0;
  for (std::size_t digits = 0; at < text.size() && is_digit(static_cast<unsigned char>(text[at])); ++at) {
    if (++digits > 3) fail(ErrorCode::unsupported, "a format with a width of more than three digits");
    width = width * 10 + static_cast<std::size_t>(text[at] - '0');
  }
  return width;
}

/// Reads [flags][width][.precision]; stops at the type.
inline FieldStyle read_style(std::string_view text, std::size_t& at) {
  FieldStyle style;
  for (; at < text.size() && std::string_view("-<>0+ ").find(text[at]) != std::string_view::npos; ++at) {
    if (text[at] == '-' || text[at] == '<') style.left = true;
    if (text[at] == '0') style.zeros = true;
    if (text[at] == '+') style.plus = true;
  }
  style.width = read_width(text, at);
  if (at < text.size() && text[at] == '.') style.precision = static_cast<int>(read_width(text, ++at));
  return style;
}

inline std::string number_digits(const Value& value, const FieldStyle& style) {
  if (!defined(value).is_number()) {
    fail(ErrorCode::invalid_argument, "a format wants a number, not ", value.type_name());
  }
  std::string digits;
  if (style.type == 'f') {
    digits = fixed_text(value.real(), style.precision < 0 ? 6 : style.precision);
  } else {
    const double real = value.real();
    if (!(real > -9.2e18 && real < 9.2e18))
      fail(ErrorCode::invalid_argument, "a number too large for an integer format");
    const std::int64_t integer = value.is_integral() ? value.integer() : static_cast<std::int64_t>(real);
    char buffer[24];
    const bool hexadecimal = style.type == 'x' || style.type == 'X';
    digits.assign(buffer, std::to_chars(buffer, buffer + sizeof buffer, integer, hexadecimal ? 16 : 10).ptr);
  }
  if (style.type == 'X') digits = upper(digits);
  if (style.plus && digits[0] != '-') digits.insert(0, 1, '+');
  return digits;
}

}  // namespace detail

/// Appends one value. Errors: invalid_argument when the type needs a number and gets none.
inline void append_field(Budget& budget, std::string& out, const Value& value, const FieldStyle& style) {
  std::string text;
  const bool words = style.type == 's' || style.type == 'r';
  if (style.type == 's') {
    append_text(budget, text, value);
  } else if (style.type == 'r') {
    append_repr(budget, text, value);
  } else if (std::string_view("dixXf").find(style.type) != std::string_view::npos) {
    text = detail::number_digits(value, style);
  } else {
    fail(ErrorCode::unsupported, "a format of type '", std::string(1, style.type),
         "'; s, r, d, i, x, X and f are known");
  }
  if (words && style.precision >= 0) {
    std::size_t end = 0;
    for (int i = 0; i < style.precision && end < text.size(); ++i) end += code_point_size(text, end);
    text.resize(end);
  }
  const std::string padding(style.width - std::min(style.width, text_length(text)), style.zeros && !words ? '0' : ' ');
  const bool sign = style.zeros && !words && (text[0] == '-' || text[0] == '+');
  text.insert(style.left ? text.size() : sign ? 1 : 0, padding);
  append(budget, out, text);
}

/// Python's `format % arguments`: %s %r %d %i %x %X %f with flags, width and precision, %(name)s from a dict, and %%.
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
    FieldStyle style = detail::read_style(format, at);
    if (at >= format.size()) fail(ErrorCode::invalid_argument, "the format ends after '%'");
    style.type = format[at];
    if (style.type == '%') {
      append(budget, out, "%");
      continue;
    }
    if (value == nullptr) {
      if (used == items.size()) fail(ErrorCode::invalid_argument, "not enough values for the format");
      value = &items[used++];
    }
    append_field(budget, out, *value, style);
  }
  if (used < items.size() && !arguments.is(Kind::mapping))
    fail(ErrorCode::invalid_argument, "too many values for the format");
  return out;
}

/// Python's format.format(...): {} {0} {name} with an optional [<>][0][width][.precision][type] after a colon.
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
    const std::string_view field = format.substr(at + 1, close - at - 1);
    const std::size_t colon = std::min(field.find(':'), field.size());
    const std::string_view name = field.substr(0, colon);
    const Value* value = nullptr;
    if (const auto index = parse_integer(name); name.empty() || (index && *index >= 0)) {
      const std::size_t position = name.empty() ? used++ : static_cast<std::size_t>(*index);
      if (position < arguments.positional.size()) value = &arguments.positional[position];
    }
    for (const auto& [key, argument] : arguments.named) {
      if (key == name) value = &argument;
    }
    if (value == nullptr) fail(ErrorCode::invalid_argument, "no value for '{", name, "}' in the format");
    const std::string_view specification = field.substr(std::min(colon + 1, field.size()));
    std::size_t end = 0;
    FieldStyle style = detail::read_style(specification, end);
    const bool right = specification.find('>') != std::string_view::npos;
    style.left = style.left || (!value->is_number() && !right);
    if (end < specification.size()) style.type = specification[end++];
    if (end != specification.size()) fail(ErrorCode::unsupported, "the format specification '", specification, "'");
    append_field(budget, out, *value, style);
    at = close;
  }
  return out;
}

}  // namespace tulle::jinja
