// SPDX-License-Identifier: Apache-2.0
/// \file Numbers from text, with a point whatever the locale of the program is (L0).
#pragma once

#include <clocale>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <string>

namespace tulle {

/// The number that the whole of `text` is, as `strtod` of the "C" locale reads it; nothing where there is more, or none.
/// A program with windows often takes its user's locale, where `strtod` expects a comma.
inline std::optional<double> parse_double(std::string text) {
  const std::size_t point = text.find('.');
  if (text.empty() || text.find(',') != std::string::npos) return std::nullopt;
  if (point != std::string::npos) text.replace(point, 1, std::localeconv()->decimal_point);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

}  // namespace tulle
