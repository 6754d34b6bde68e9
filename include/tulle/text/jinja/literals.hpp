// SPDX-License-Identifier: Apache-2.0
/// \file The words of a template's expressions: strings, numbers, names and signs (L2, text).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/text/jinja/strings.hpp>

namespace tulle::jinja {

/// Bytes of the string literal that begins here, quotes included; 0 where it is not closed.
inline std::size_t text_literal_size(std::string_view source) {
  for (std::size_t i = 1; i < source.size(); ++i) {
    if (source[i] == '\\') {
      ++i;
    } else if (source[i] == source[0]) {
      return i + 1;
    }
  }
  return 0;
}

namespace detail {

/// Reads up to `max` digits in base 8 or 16; `read` becomes their number.
inline char32_t read_escape_digits(std::string_view body, std::size_t& at, std::size_t max, std::size_t base,
                                   std::size_t& read) {
  std::size_t value = 0;
  for (read = 0; read < max && at < body.size(); ++read, ++at) {
    const char32_t letter = to_lower(static_cast<unsigned char>(body[at]));
    const std::size_t digit = std::string_view("0123456789abcdef").find(static_cast<char>(letter));
    if (digit >= base) break;
    value = value * base + digit;
  }
  return static_cast<char32_t>(value);
}

}  // namespace detail

/// The text that a literal's body means, by Python's rules; an unknown escape keeps its backslash.
/// Errors: malformed, with the line, for an escape that is cut short or names no code point.
inline std::string unescape(std::string_view body, std::size_t line) {
  std::string out;
  for (std::size_t at = 0; at < body.size();) {
    if (body[at] != '\\' || at + 1 == body.size()) {
      out += body[at++];
      continue;
    }
    const char code = body[at + 1];
    at += 2;
    static constexpr std::string_view codes = "\\'\"abfnrtv", means = "\\'\"\a\b\f\n\r\t\v";
    if (const std::size_t index = codes.find(code); index != std::string_view::npos) {
      out += means[index];
    } else if (code == '\n') {
      continue;
    } else if (code == 'x' || code == 'u' || code == 'U') {
      const std::size_t digits = code == 'x' ? 2 : code == 'u' ? 4 : 8;
      std::size_t read = 0;
      const char32_t point = detail::read_escape_digits(body, at, digits, 16, read);
      if (read != digits || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        fail(ErrorCode::malformed, "chat template, line ", line, ": the escape \\", std::string(1, code),
             " names no character");
      }
      append_utf8(out, point);
    } else if (code >= '0' && code <= '7') {
      std::size_t read = 0;
      --at;
      append_utf8(out, detail::read_escape_digits(body, at, 3, 8, read));
    } else {
      out += '\\';
      out += code;
    }
  }
  return out;
}

namespace detail {

inline std::size_t digits_size(std::string_view source) {
  return std::min(source.find_first_not_of("0123456789"), source.size());
}

}  // namespace detail

/// Bytes of the number that begins here; only an integer where `may_be_real` is false (behind a dot).
inline std::size_t number_literal_size(std::string_view source, bool may_be_real) {
  std::size_t size = detail::digits_size(source);
  if (!may_be_real) return size;
  if (size < source.size() && source[size] == '.') {
    const std::size_t fraction = detail::digits_size(source.substr(size + 1));
    if (fraction > 0) size += 1 + fraction;
  }
  if (size < source.size() && (source[size] == 'e' || source[size] == 'E')) {
    const std::size_t sign = size + 1 < source.size() && (source[size + 1] == '+' || source[size + 1] == '-') ? 1 : 0;
    const std::size_t exponent = detail::digits_size(source.substr(size + 1 + sign));
    if (exponent > 0) size += 1 + sign + exponent;
  }
  return size;
}

/// Bytes of the name that begins here: letters, digits, underscores, everything beyond ASCII.
inline std::size_t name_size(std::string_view source) {
  const auto ends = std::find_if(source.begin(), source.end(), [](char byte) {
    const auto point = static_cast<unsigned char>(byte);
    return point < 0x80 && !is_letter(point) && !is_digit(point) && byte != '_';
  });
  return static_cast<std::size_t>(ends - source.begin());
}

/// Bytes of the operator or bracket that begins here; 0 for any other character.
inline std::size_t sign_size(std::string_view source) {
  static constexpr std::array<std::string_view, 6> pairs = {"**", "//", "==", "!=", ">=", "<="};
  for (const std::string_view pair : pairs) {
    if (source.starts_with(pair)) return 2;
  }
  return std::string_view("+-*/%~[](){}<>=.:|,").find(source[0]) != std::string_view::npos ? 1 : 0;
}

}  // namespace tulle::jinja
