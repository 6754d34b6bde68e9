// SPDX-License-Identifier: Apache-2.0
/// \file Formats of texts in a JSON Schema (L3).
/// Source: https://json-schema.org/draft/2020-12/json-schema-validation, 7.3
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace tulle::detail {

/// What is known of the texts of a format.
struct SchemaFormat {
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  std::string pattern;                ///< of the whole text; empty: xgrammar's own
  std::size_t min_length = 0;         ///< no text of the format is shorter
  std::size_t max_length = no_limit;  ///< no text of the format is longer
};

/// RFC 3339. February has 29 days in every year.
inline std::string date_pattern() {
  return "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|[12][0-9]))";
}

/// RFC 3339, without leap seconds, and with at most nine digits of a second's fraction.
inline std::string time_pattern() {
  return R"(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))";
}

/// RFC 2673, 3.2.
inline std::string ipv4_pattern() {
  const std::string number = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
  return number + "(\\." + number + "){3}";
}

/// RFC 4291, 2.2.
inline std::string ipv6_pattern() {
  const std::string group = "[0-9A-Fa-f]{1,4}", head = "(" + group + ":)", tail = "(:" + group + ")";
  std::string pattern = head + "{7}" + group + "|" + head + "{1,7}:|:(" + tail + "{1,7}|:)|";
  for (int groups = 1; groups <= 6; ++groups) {  // in front of the gap; behind it are at most the others
    pattern += head + "{1," + std::to_string(groups) + "}" + tail + "{1," + std::to_string(7 - groups) + "}|";
  }
  return pattern + "(::|::[Ff]{4}:|" + head + "{1,4}:)" + ipv4_pattern();
}

/// RFC 1123, 2.1: the length of the whole is left out.
inline std::string hostname_pattern() {
  const std::string label = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
  return label + "(\\." + label + ")*";
}

/// Nothing for a format that is not known.
inline std::optional<SchemaFormat> schema_format(std::string_view name) {
  const std::string pointer = "(/([^/~]|~[01])*)*";  // xgrammar's own would write control characters
  if (name == "date") return SchemaFormat{date_pattern(), 10, 10};
  if (name == "time") return SchemaFormat{time_pattern(), 9, 24};
  if (name == "date-time") return SchemaFormat{date_pattern() + "T" + time_pattern(), 20, 35};
  if (name == "ipv4") return SchemaFormat{ipv4_pattern(), 7, 15};
  if (name == "ipv6") return SchemaFormat{ipv6_pattern(), 2, 39};
  if (name == "hostname") return SchemaFormat{hostname_pattern(), 1};
  if (name == "json-pointer") return SchemaFormat{pointer, 0};
  if (name == "relative-json-pointer") return SchemaFormat{"(0|[1-9][0-9]*)(#|" + pointer + ")", 1};
  if (name == "uuid") return SchemaFormat{"", 36, 36};
  if (name == "duration") return SchemaFormat{"", 3};
  if (name == "email") return SchemaFormat{"", 3};
  if (name == "uri") return SchemaFormat{"", 2};
  if (name == "uri-reference" || name == "uri-template") return SchemaFormat{};
  return std::nullopt;
}

}  // namespace tulle::detail
