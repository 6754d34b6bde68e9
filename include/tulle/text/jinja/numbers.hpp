// SPDX-License-Identifier: Apache-2.0
/// \file Numbers from and to text, as Python reads and writes them (L2, text).
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/core/parse_double.hpp>
#include <tulle/text/jinja/strings.hpp>

namespace tulle::jinja {

namespace detail {

#if defined(__EMSCRIPTEN__)

// The tables of std::to_chars for doubles are a fifth of a whole module; this C library knows no locale but "C".

inline std::string fixed_text(double real, int digits) {
  std::string text(static_cast<std::size_t>(std::snprintf(nullptr, 0, "%.*f", digits, real)), '\0');
  (void)std::snprintf(text.data(), text.size() + 1, "%.*f", digits, real);
  return text;
}

inline std::string shortest_text(double real, bool plain) {
  char buffer[32];
  int digits = 0;  // after the first
  do {
    (void)std::snprintf(buffer, sizeof buffer, "%.*e", digits, real);
  } while (std::strtod(buffer, nullptr) != real && ++digits < 17);
  if (!plain) return buffer;
  const int exponent = std::atoi(std::strchr(buffer, 'e') + 1);
  return fixed_text(real, std::max(0, digits - exponent));
}

#else

/// The shortest digits that read back as `real`, without an exponent or with one.
inline std::string shortest_text(double real, bool plain) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, real,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  return {buffer, end.ptr};
}

#endif

}  // namespace detail

/// Python's repr(float): the shortest digits that read back, with an exponent outside of 1e-4 .. 1e16.
inline std::string real_text(double real) {
  if (std::isnan(real)) return "nan";
  if (std::isinf(real)) return real < 0 ? "-inf" : "inf";
  const double size = std::fabs(real);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e16);
  std::string text = detail::shortest_text(real, plain);
  if (plain && text.find('.') == std::string::npos) text += ".0";
  return text;
}

namespace detail {

/// Without white space around and single underscores between digits; nothing where an underscore stands elsewhere.
inline std::optional<std::string> bare_number(std::string_view text) {
  text = strip(text);
  std::string bare;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      bare += text[i];
    } else if (i == 0 || i + 1 == text.size() || text[i - 1] == '_') {
      return std::nullopt;
    }
  }
  return bare;
}

}  // namespace detail

/// Python's int(text); nothing where it would raise ValueError or the number does not fit 64 bits.
inline std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::string bare = detail::bare_number(text).value_or("");
  const bool negative = bare.starts_with('-');
  if (negative || bare.starts_with('+')) bare.erase(0, 1);
  if (bare.empty() || bare[0] == '-') return std::nullopt;
  if (negative) bare.insert(0, 1, '-');
  std::int64_t value = 0;
  const auto read = std::from_chars(bare.data(), bare.data() + bare.size(), value);
  if (read.ec != std::errc() || read.ptr != bare.data() + bare.size()) return std::nullopt;
  return value;
}

/// Python's float(text); nothing where it would raise ValueError.
inline std::optional<double> parse_real(std::string_view text) {
  const std::string bare = lower(detail::bare_number(text).value_or(""));
  if (bare.empty()) return std::nullopt;
  const std::string_view body = std::string_view(bare).substr(bare[0] == '-' || bare[0] == '+' ? 1 : 0);
  const bool named = body == "inf" || body == "infinity" || body == "nan";
  if (!named && body.find_first_not_of("0123456789+-.e") != std::string_view::npos) return std::nullopt;
  return parse_double(bare);
}

}  // namespace tulle::jinja
