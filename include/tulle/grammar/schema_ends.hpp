// SPDX-License-Identifier: Apache-2.0
/// \file Whether a rewritten schema accepts a finite value (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/grammar/schema_values.hpp>

namespace tulle::detail {

inline std::string definition_of(const OrderedJson& reference) {
  return reference["$ref"].get<std::string>().substr(std::string_view("#/$defs/").size());
}

inline bool can_end(const OrderedJson& value, const std::set<std::string>& ends) {
  if (value.contains("$ref")) return ends.contains(definition_of(value));
  const auto ok = [&](const OrderedJson& one) { return can_end(one, ends); };
  if (value.contains("anyOf")) return std::any_of(value["anyOf"].begin(), value["anyOf"].end(), ok);
  const OrderedJson first = value.value("prefixItems", OrderedJson::array());
  const std::size_t least = value.value("minItems", std::size_t{0});
  if (!std::all_of(first.begin(), first.begin() + std::min(least, first.size()), ok)) return false;
  if (least > first.size() && !ok(value["items"])) return false;
  for (const OrderedJson& name : value.value("required", OrderedJson::array())) {
    if (!ok(value["properties"][name.get_ref<const std::string&>()])) return false;
  }
  const OrderedJson none = OrderedJson::object(), others = value.value("additionalProperties", OrderedJson(false));
  const OrderedJson properties = value.value("properties", none), patterns = value.value("patternProperties", none);
  if ((others.is_object() && ok(others)) || std::any_of(patterns.begin(), patterns.end(), ok)) return true;
  const auto named = std::count_if(properties.begin(), properties.end(), ok);
  return static_cast<std::size_t>(named) >= value.value("minProperties", std::size_t{0});
}

/// By name: `OrderedJson` searches its keys one after the other.
using Definitions = std::map<std::string, const OrderedJson*>;

/// Whether a value may begin with definition `name` before anything is written.
inline bool starts_with(const Definitions& definitions, const OrderedJson& value, const std::string& name,
                        std::set<std::string>& seen) {
  if (value.contains("$ref")) {
    const std::string other = definition_of(value);
    return other == name || (seen.insert(other).second && starts_with(definitions, *definitions.at(other), name, seen));
  }
  if (!value.contains("anyOf")) return false;
  return std::any_of(value["anyOf"].begin(), value["anyOf"].end(),
                     [&](const OrderedJson& one) { return starts_with(definitions, one, name, seen); });
}

/// `names`: of places, by their pointers. Errors: invalid_argument for a definition without a finite value, or one that
/// names itself before anything is written.
inline void check_definitions(const OrderedJson& definitions, const std::map<std::string, std::string>& names) {
  Definitions by_name;
  for (const auto& [name, value] : definitions.items()) by_name.emplace(name, &value);
  std::set<std::string> ends;
  for (bool grows = true; grows;) {
    grows = false;
    for (const auto& [name, value] : by_name) {
      if (ends.contains(name) || !can_end(*value, ends)) continue;
      ends.insert(name);
      grows = true;
    }
  }
  for (const auto& [uri, name] : names) {
    if (!ends.contains(name)) refuse_schema(uri, "accepts no finite value");
    std::set<std::string> seen;
    if (starts_with(by_name, *by_name.at(name), name, seen)) refuse_schema(uri, "refers to itself alone");
  }
}

}  // namespace tulle::detail
