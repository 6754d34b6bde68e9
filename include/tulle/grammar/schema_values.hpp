// SPDX-License-Identifier: Apache-2.0
/// \file Schemas of texts and numbers (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/grammar/regex_subset.hpp>
#include <tulle/grammar/schema_formats.hpp>

namespace tulle::detail {

/// A JSON pointer to what is read.
using Where = const std::string&;

template <class... Parts>
[[noreturn]] void refuse_schema(Where where, const Parts&... parts) {
  fail(ErrorCode::invalid_argument, "the JSON schema cannot be followed: ", where, " ", parts...);
}

inline constexpr std::size_t max_schema_count = 1'000;  // of items, characters, properties: they are unrolled

inline bool is_type(const OrderedJson& value, std::string_view type) {
  if (type == "integer")
    return value.is_number_integer() || (value.is_number() && std::floor(value.get<double>()) == value);
  if (type == "number") return value.is_number();
  return type == value.type_name();  // "null", "boolean", "string", "array", "object"
}

/// The names in "type": none where any is allowed.
inline std::vector<std::string> types(const OrderedJson& given, Where where) {
  std::vector<std::string> result;
  if (!given.contains("type")) return result;
  const OrderedJson& type = given["type"];
  for (const OrderedJson& one : type.is_array() ? type : OrderedJson::array({type})) {
    static const std::set<std::string_view> known{"null", "boolean", "integer", "number", "string", "array", "object"};
    if (!one.is_string() || !known.contains(one.get_ref<const std::string&>())) {
      refuse_schema(where, "has the unknown type ", one.dump());
    }
    result.push_back(one.get<std::string>());
  }
  if (result.empty()) refuse_schema(where, "has no type");
  return result;
}

inline std::optional<std::size_t> count(const OrderedJson& given, const char* name, Where where) {
  if (!given.contains(name)) return std::nullopt;
  const OrderedJson& value = given[name];
  const bool is_whole = value.is_number() && value >= 0 && std::floor(value.get<double>()) == value.get<double>();
  if (!is_whole) refuse_schema(where, "has a \"", name, "\" that is no count");
  return static_cast<std::size_t>(std::min(value.get<double>(), 1e15));
}

/// A pair of bounds of counts, written where they say something. A minimum has a limit: it is unrolled.
inline void counts(const OrderedJson& given, const char* min_name, const char* max_name, Where where,
                   OrderedJson& result) {
  const auto least = count(given, min_name, where), most = count(given, max_name, where);
  if (least.value_or(0) > max_schema_count) refuse_schema(where, "has a \"", min_name, "\" above ", max_schema_count);
  if (least && most && *least > *most) refuse_schema(where, "has a \"", min_name, "\" above its \"", max_name, "\"");
  if (least.value_or(0) != 0) result[min_name] = *least;
  if (most) result[max_name] = std::min(*most, max_schema_count);
}

/// The format of a schema's texts, an annotation that is followed where it is known.
inline std::optional<SchemaFormat> known_format(const OrderedJson& given) {
  if (!given.contains("format") || !given["format"].is_string()) return std::nullopt;
  return schema_format(given["format"].get_ref<const std::string&>());
}

inline OrderedJson text(const OrderedJson& given, Where where) {
  OrderedJson result{{"type", "string"}}, length = OrderedJson::object();
  counts(given, "minLength", "maxLength", where, length);
  if (const auto format = known_format(given)) {
    // A length that every text of the format has says nothing.
    if (length.value("minLength", std::size_t{0}) <= format->min_length) length.erase("minLength");
    if (length.value("maxLength", format->max_length) >= format->max_length) length.erase("maxLength");
    if (!length.empty() || given.contains("pattern")) {
      refuse_schema(where, "has a \"format\" together with a length or a \"pattern\", which is not supported");
    }
    if (format->pattern.empty()) {
      result["format"] = given["format"];
    } else {
      result["pattern"] = followed_json_regex(format->pattern);
    }
    return result;
  }
  const bool has_length = !length.empty();
  if (given.contains("pattern")) {
    if (!given["pattern"].is_string()) refuse_schema(where, "has a \"pattern\" that is no text");
    if (has_length) refuse_schema(where, "has a \"pattern\" together with a length, which is not supported");
    result["pattern"] = followed_schema_pattern(given["pattern"].get_ref<const std::string&>());
  } else if (has_length) {  // of characters that need no escape
    const std::string most = length.contains("maxLength") ? length["maxLength"].dump() : "";
    result["pattern"] =
        followed_json_regex("[^]{" + length.value("minLength", OrderedJson(0)).dump() + "," + most + "}");
  }
  return result;
}

inline std::optional<double> bound(const OrderedJson& given, const char* name, Where where) {
  if (!given.contains(name)) return std::nullopt;
  if (!given[name].is_number()) refuse_schema(where, "has a \"", name, "\" that is no number");
  return given[name].get<double>();
}

inline constexpr double max_exact = 0x1p53;  // of the whole numbers that a double holds without gaps

/// Between two bounds the multiples are listed.
inline void multiples(double step, std::optional<double> least, std::optional<double> most, Where where,
                      OrderedJson& result) {
  if (!(step >= 1) || std::floor(step) != step || step > 1024) {
    refuse_schema(where, "has a \"multipleOf\" that is no whole number up to 1024");
  }
  if (step == 1) return;
  if (std::max(std::abs(least.value_or(0)), std::abs(most.value_or(0))) > max_exact) {
    refuse_schema(where, "has a \"multipleOf\" together with bounds beyond 2^53, which is not supported");
  }
  if (!least && !most) {
    result["multipleOf"] = static_cast<std::int64_t>(step);
    return;
  }
  if (!least || !most || (*most - *least) / step > 1000) {
    refuse_schema(where, "has a \"multipleOf\" together with a wide or open range, which is not supported");
  }
  OrderedJson listed = OrderedJson::array();
  for (double value = std::ceil(*least / step) * step; value <= *most; value += step) {
    listed.push_back(static_cast<std::int64_t>(value));
  }
  if (listed.empty()) refuse_schema(where, "has no multiple between its bounds");
  result = {{"enum", std::move(listed)}};
}

inline constexpr double max_whole = 9e18;  // near the limit of 64 bits: larger bounds become this one

/// A bound of whole numbers. Errors: invalid_argument also for one that a double does not hold exactly.
inline std::optional<double> whole_bound(const OrderedJson& given, const char* name, bool is_exclusive, Where where) {
  const std::optional<double> value = bound(given, name, where);
  if (!value || std::abs(*value) < max_exact || std::abs(*value) >= max_whole) return value;
  const OrderedJson& written = given[name];
  const bool is_rounded =
      written.is_number_integer() && written.get<std::int64_t>() != static_cast<std::int64_t>(*value);
  if (is_exclusive || is_rounded) refuse_schema(where, "has a \"", name, "\" beyond 2^53, which is not supported");
  return value;
}

inline OrderedJson integer(const OrderedJson& given, Where where) {
  std::optional<double> least = whole_bound(given, "minimum", false, where);
  std::optional<double> most = whole_bound(given, "maximum", false, where);
  if (least) least = std::ceil(*least);
  if (most) most = std::floor(*most);
  if (const auto above = whole_bound(given, "exclusiveMinimum", true, where)) {
    least = std::max(least.value_or(-max_whole), std::floor(*above) + 1);
  }
  if (const auto below = whole_bound(given, "exclusiveMaximum", true, where)) {
    most = std::min(most.value_or(max_whole), std::ceil(*below) - 1);
  }
  if ((least && *least >= max_whole) || (most && *most <= -max_whole)) {
    refuse_schema(where, "has a bound beyond 64 bits");
  }
  if (least) least = std::max(*least, -max_whole);
  if (most) most = std::min(*most, max_whole);
  if (least && most && *least > *most) refuse_schema(where, "has no number between its bounds");
  OrderedJson result{{"type", "integer"}};
  if (least) result["minimum"] = static_cast<std::int64_t>(*least);
  if (most) result["maximum"] = static_cast<std::int64_t>(*most);
  if (const auto step = bound(given, "multipleOf", where)) multiples(*step, least, most, where, result);
  return result;
}

/// Whether a number of six decimals, which is what xgrammar writes between two bounds, is between them.
inline bool has_decimal(std::optional<double> least, std::optional<double> above, std::optional<double> most,
                        std::optional<double> below) {
  constexpr double parts = 1e6;
  const double low = std::max(least.value_or(-INFINITY), above.value_or(-INFINITY));
  const double high = std::min(most.value_or(INFINITY), below.value_or(INFINITY));
  if (!(high - low <= 1)) return true;
  for (const double step : {0.0, 1.0, 2.0}) {
    const double value = (std::floor(low * parts) + step) / parts;
    const bool is_above = value >= low && value > above.value_or(-INFINITY);
    if (is_above && value <= high && value < below.value_or(INFINITY)) return true;
  }
  return false;
}

inline OrderedJson number(const OrderedJson& given, Where where) {
  if (given.contains("multipleOf")) return integer(given, where);  // a whole step from 0 gives whole numbers
  OrderedJson result{{"type", "number"}};
  const auto least = bound(given, "minimum", where), most = bound(given, "maximum", where);
  const auto above = bound(given, "exclusiveMinimum", where), below = bound(given, "exclusiveMaximum", where);
  const bool is_empty = (least && most && *least > *most) || (least && below && *least >= *below) ||
                        (above && most && *above >= *most) || (above && below && *above >= *below);
  if (is_empty) refuse_schema(where, "has no number between its bounds");
  if (!has_decimal(least, above, most, below)) refuse_schema(where, "has no number of six decimals between its bounds");
  for (const char* name : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
    if (given.contains(name)) result[name] = given[name];
  }
  return result;
}

}  // namespace tulle::detail
