// SPDX-License-Identifier: Apache-2.0
/// \file Numbers from text, with a point whatever the locale of the program is (L0).
#pragma once

#include <clocale>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>

#include <tulle/core/types.hpp>

namespace tulle {

namespace detail {

inline std::optional<double> whole_number(const std::string& text) noexcept {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

}  // namespace detail

/// The number that the whole of `text` is, as `strtod` of the "C" locale reads it; nothing where there is more, or none.
/// A program with windows often takes its user's locale, where `strtod` expects a comma.
inline std::optional<double> parse_double(const std::string& text) {
  if constexpr (is_web) {  // which has no other locale
    return detail::whole_number(text);
  } else {
    std::string local = text;
    const std::size_t point = text.find('.');
    if (text.find(',') != std::string::npos) return std::nullopt;
    if (point != std::string::npos) local.replace(point, 1, std::localeconv()->decimal_point);
    return detail::whole_number(local);
  }
}

}  // namespace tulle
