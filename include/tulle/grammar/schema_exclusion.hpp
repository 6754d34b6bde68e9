// SPDX-License-Identifier: Apache-2.0
/// \file Whether two schemas exclude each other, so that `oneOf` is `anyOf` (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/grammar/schema_place.hpp>
#include <tulle/grammar/schema_values.hpp>

namespace tulle::detail {

/// Of two schemas as they are written. Lifetime: a view of the whole schema.
class SchemaExclusion {
 public:
  explicit SchemaExclusion(const OrderedJson& root) : root_(root) {}

  /// Whether types and constants show that no value is valid for both.
  bool exclude(const OrderedJson& one, const OrderedJson& other, std::size_t depth = 0) const {
    const OrderedJson a = resolved(one), b = resolved(other);
    if (depth == 8 || !a.is_object() || !b.is_object()) return false;
    const OrderedJson ours = constants(a), theirs = constants(b);
    const std::vector<std::string> our_types = types(a, "#"), their_types = types(b, "#");
    if (!ours.empty() && !theirs.empty()) {
      return std::none_of(ours.begin(), ours.end(), [&](const OrderedJson& value) {
        return std::find(theirs.begin(), theirs.end(), value) != theirs.end();
      });
    }
    const auto none_is = [](const OrderedJson& values, const std::vector<std::string>& of) {
      return !values.empty() && !of.empty() &&
             std::none_of(values.begin(), values.end(), [&](const OrderedJson& value) {
               return std::any_of(of.begin(), of.end(), [&](const std::string& type) { return is_type(value, type); });
             });
    };
    if (none_is(ours, their_types) || none_is(theirs, our_types)) return true;
    if (our_types.empty() || their_types.empty()) return false;
    const auto kind = [](const std::string& type) { return type == "integer" ? std::string("number") : type; };
    const bool may_agree = std::any_of(our_types.begin(), our_types.end(), [&](const std::string& type) {
      return std::any_of(their_types.begin(), their_types.end(),
                         [&](const std::string& theirs_one) { return kind(type) == kind(theirs_one); });
    });
    if (!may_agree) return true;
    const std::vector<std::string> object{"object"};
    return our_types == object && their_types == object && exclude_properties(a, b, depth);
  }

 private:
  /// Whether a property that both require excludes the other's.
  bool exclude_properties(const OrderedJson& a, const OrderedJson& b, std::size_t depth) const {
    const OrderedJson none = OrderedJson::object();
    const OrderedJson ours = a.value("properties", none), theirs = b.value("properties", none);
    const OrderedJson required = b.value("required", OrderedJson::array());
    for (const OrderedJson& name : a.value("required", OrderedJson::array())) {
      if (!name.is_string() || std::find(required.begin(), required.end(), name) == required.end()) continue;
      const auto& key = name.get_ref<const std::string&>();
      if (ours.contains(key) && theirs.contains(key) && exclude(ours[key], theirs[key], depth + 1)) return true;
    }
    return false;
  }

  OrderedJson resolved(OrderedJson given) const {
    for (int hops = 0; hops < 8 && given.is_object() && given.contains("$ref") && given["$ref"].is_string(); ++hops) {
      given = schema_target(root_, given["$ref"].get<std::string>());
    }
    return given;
  }

  static OrderedJson constants(const OrderedJson& given) {
    if (given.contains("const")) return OrderedJson::array({given["const"]});
    return given.value("enum", OrderedJson::array());
  }

  const OrderedJson& root_;
};

}  // namespace tulle::detail
