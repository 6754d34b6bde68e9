// SPDX-License-Identifier: Apache-2.0
/// \file Schemas of lists and objects (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/json.hpp>
#include <tulle/grammar/regex_subset.hpp>
#include <tulle/grammar/schema_values.hpp>

namespace tulle::detail {

/// A list. `read` rewrites the schema of a part, at a place.
template <class Read>
OrderedJson list_schema(const OrderedJson& given, Where where, Read&& read) {
  OrderedJson result{{"type", "array"}};
  counts(given, "minItems", "maxItems", where, result);
  OrderedJson items = OrderedJson::object();
  if (given.contains("items") && given["items"] == false) {
    items = false;
  } else if (given.contains("items")) {
    items = read(given["items"], where + "/items");
  }
  OrderedJson first = OrderedJson::array();
  if (given.contains("prefixItems")) {
    if (!given["prefixItems"].is_array()) refuse_schema(where, "has \"prefixItems\" that are no list");
    const std::size_t most = result.value("maxItems", max_schema_count);
    for (const OrderedJson& one : given["prefixItems"]) {
      if (first.size() == most) break;
      first.push_back(read(one, where + "/prefixItems/" + std::to_string(first.size())));
    }
  }
  if (items == false && result.value("minItems", std::size_t{0}) > first.size()) {
    refuse_schema(where, "has a \"minItems\" above the items that it allows");
  }
  if (first.size() == result.value("maxItems", max_schema_count)) {
    items = false;
  }
  if (!first.empty()) result["prefixItems"] = std::move(first);
  result["items"] = std::move(items);
  return result;
}

/// An object whose properties one expression names.
template <class Read>
OrderedJson pattern_schema(const OrderedJson& given, Where where, OrderedJson result, Read&& read) {
  const OrderedJson& patterns = given["patternProperties"];
  const bool is_alone = patterns.is_object() && patterns.size() == 1 &&
                        given.value("properties", OrderedJson::object()).empty() &&
                        given.value("required", OrderedJson::array()).empty();
  if (!is_alone) refuse_schema(where, "has \"patternProperties\" with others, which is not supported");
  if (result.value("minProperties", std::size_t{0}) > 1) {
    refuse_schema(where, "has a \"minProperties\" and names that are not given, which is not supported");
  }
  for (const auto& [pattern, value] : patterns.items()) {
    result["patternProperties"][followed_schema_pattern(pattern)] =
        read(value, where + "/patternProperties/" + pattern);
  }
  result["additionalProperties"] = false;
  return result;
}

inline constexpr std::size_t max_counted_properties = 64;    // their combinations are unrolled
inline constexpr std::size_t max_optional_properties = 500;  // of one object: 2,000 were compiled for two minutes

/// Whether a JSON string shows a name as it is, in ASCII.
inline bool is_plain_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

template <class Read>
OrderedJson object_schema(const OrderedJson& given, Where where, Read&& read) {
  OrderedJson result{{"type", "object"}};
  counts(given, "minProperties", "maxProperties", where, result);
  if (given.contains("patternProperties")) return pattern_schema(given, where, std::move(result), read);
  const bool is_closed = given.contains("additionalProperties") && given["additionalProperties"] == false;
  OrderedJson others = OrderedJson::object();
  if (given.contains("additionalProperties") && !is_closed) {
    others = read(given["additionalProperties"], where + "/additionalProperties");
  }
  OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
  if (given.contains("properties")) {
    if (!given["properties"].is_object()) refuse_schema(where, "has \"properties\" that are no object");
    for (const auto& [name, value] : given["properties"].items()) {
      properties[name] = read(value, where + "/properties/" + name);
    }
  }
  for (const OrderedJson& name : given.value("required", OrderedJson::array())) {
    if (!name.is_string()) refuse_schema(where, "has a \"required\" that is no list of names");
    const auto& key = name.get_ref<const std::string&>();
    if (std::find(required.begin(), required.end(), name) != required.end()) continue;
    if (!properties.contains(key) && is_closed) refuse_schema(where, "requires \"", key, "\", which it does not allow");
    if (!properties.contains(key)) properties[key] = others;
    required.push_back(name);
  }
  const bool takes_others = !is_closed && (properties.empty() || given.contains("additionalProperties"));
  const std::size_t least = result.value("minProperties", std::size_t{0});
  if (least <= required.size()) result.erase("minProperties");
  if (result.value("maxProperties", max_schema_count) < required.size())
    refuse_schema(where, "requires more than it allows");
  if (!takes_others && least > properties.size()) refuse_schema(where, "has a \"minProperties\" above what it names");
  if (takes_others && result.contains("minProperties") && (least > 1 || !properties.empty())) {
    refuse_schema(where,
                  "has a \"minProperties\" and names that are not given, which is not supported");  // they may repeat
  }
  const bool is_counted = result.contains("minProperties") || result.contains("maxProperties");
  if (is_counted && properties.size() - required.size() > max_counted_properties) {
    refuse_schema(where, "has a count of properties, of which more than ", max_counted_properties,
                  " may be left out, which is not supported");
  }
  if (properties.size() - required.size() > max_optional_properties) {
    refuse_schema(where, "has more than ", max_optional_properties,
                  " properties that may be left out, which is not supported");
  }
  for (const auto& [name, value] : properties.items()) {
    // xgrammar, which must write no given name with another value, reads names as ASCII there.
    if (!takes_others || is_plain_name(name)) continue;
    refuse_schema(where, "has the name \"", name, "\" beside names that are not given, which is not supported");
  }
  if (!properties.empty()) result["properties"] = std::move(properties);
  if (!required.empty()) result["required"] = std::move(required);
  result["additionalProperties"] = takes_others ? others : OrderedJson(false);
  return result;
}

}  // namespace tulle::detail
