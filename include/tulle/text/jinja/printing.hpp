// SPDX-License-Identifier: Apache-2.0
/// \file Values as text: Python's str() and repr() (L2, text).
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/jinja/numbers.hpp>
#include <tulle/text/jinja/scope.hpp>
#include <tulle/text/jinja/strings.hpp>
#include <tulle/text/jinja/value.hpp>

namespace tulle::jinja {

/// Appends text to a string on a budget.
inline void append(Budget& budget, std::string& out, std::string_view text) {
  budget.allocate(text.size());
  out += text;
}

namespace detail {

/// Code points that Python's repr escapes: controls, separators other than the space, format and private-use
/// characters.
inline bool is_printable(char32_t point) {
  return !(point < 0x20 || (point >= 0x7F && point <= 0xA0) || point == 0xAD || (is_space(point) && point != ' ') ||
           (point >= 0x200B && point <= 0x200F) || (point >= 0x202A && point <= 0x202E) ||
           (point >= 0x2060 && point <= 0x206F) || (point >= 0xD800 && point <= 0xF8FF) || point == 0xFEFF ||
           (point >= 0xFFF0 && point <= 0xFFFB) || point >= 0xE0000);
}

inline void append_hex(std::string& out, char32_t point, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[(point >> shift) & 0xF];
}

/// Appends repr(str): single quotes unless only single quotes occur inside.
inline void append_quoted(Budget& budget, std::string& out, std::string_view text) {
  const bool twice = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos;
  const char quote = twice ? '"' : '\'';
  append(budget, out, std::string_view(&quote, 1));
  std::string piece;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = code_point_size(text, at);
    const char32_t point = decode_code_point(text, at);
    switch (point) {
      case '\n': piece += "\\n"; break;
      case '\r': piece += "\\r"; break;
      case '\t': piece += "\\t"; break;
      case '\\': piece += "\\\\"; break;
      default:
        if (point == static_cast<char32_t>(quote)) piece += '\\';
        if (is_printable(point)) {
          piece += text.substr(at, size);
        } else {
          piece += point < 0x100 ? "\\x" : point < 0x10000 ? "\\u" : "\\U";
          append_hex(piece, point, point < 0x100 ? 2 : point < 0x10000 ? 4 : 8);
        }
    }
    at += size;
    append(budget, out, piece);
    piece.clear();
  }
  append(budget, out, std::string_view(&quote, 1));
}

}  // namespace detail

inline void append_repr(Budget& budget, std::string& out, const Value& value);

namespace detail {

inline void append_sequence(Budget& budget, std::string& out, const Value& value) {
  const bool tuple = value.is(Flavor::tuple);
  append(budget, out, tuple ? "(" : "[");
  bool first = true;
  for (const Value& item : value.items()) {
    if (!std::exchange(first, false)) append(budget, out, ", ");
    append_repr(budget, out, item);
  }
  append(budget, out, !tuple ? "]" : value.items().size() == 1 ? ",)" : ")");
}

template <class Pairs>
void append_entries(Budget& budget, std::string& out, const Pairs& pairs) {
  append(budget, out, "{");
  bool first = true;
  for (const auto& [key, item] : pairs) {
    if (!std::exchange(first, false)) append(budget, out, ", ");
    append_repr(budget, out, key);
    append(budget, out, ": ");
    append_repr(budget, out, item);
  }
  append(budget, out, "}");
}

}  // namespace detail

/// Appends Python's repr(value).
inline void append_repr(Budget& budget, std::string& out, const Value& value) {
  const Budget::Level level(budget);  // a namespace can hold itself
  budget.spend(1);
  switch (value.kind()) {
    case Kind::undefined: return append(budget, out, "Undefined");
    case Kind::none: return append(budget, out, "None");
    case Kind::boolean: return append(budget, out, value.boolean() ? "True" : "False");
    case Kind::integer: return append(budget, out, std::to_string(value.integer()));
    case Kind::real: return append(budget, out, real_text(value.real()));
    case Kind::text:
      if (!value.is_markup()) return detail::append_quoted(budget, out, value.text());
      append(budget, out, "Markup(");
      detail::append_quoted(budget, out, value.text());
      return append(budget, out, ")");
    case Kind::sequence:
      if (value.is(Flavor::generator)) return append(budget, out, "<generator object>");
      return detail::append_sequence(budget, out, value);
    case Kind::mapping: return detail::append_entries(budget, out, value.entries());
    case Kind::name_space:
      append(budget, out, "<Namespace ");
      detail::append_entries(budget, out, value.name_space().attributes);
      return append(budget, out, ">");
    case Kind::loop: return append(budget, out, "<LoopContext>");
    case Kind::callable:
      append(budget, out, "<function ");
      append(budget, out, value.callable().name);
      return append(budget, out, ">");
  }
}

/// Appends Python's str(value); nothing for an undefined value.
inline void append_text(Budget& budget, std::string& out, const Value& value) {
  if (value.is(Kind::text)) return append(budget, out, value.text());
  if (!value.is(Kind::undefined)) append_repr(budget, out, value);
}

/// Python's str(value).
inline std::string to_text(Budget& budget, const Value& value) {
  std::string text;
  append_text(budget, text, value);
  return text;
}

}  // namespace tulle::jinja
