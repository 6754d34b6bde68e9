// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for json_schema.hpp (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/grammar/json_schema.hpp>
#include <tulle/grammar/regex_subset.hpp>

namespace tulle {
namespace detail {

/// Rewrites one schema. `where` is the JSON pointer of what is read.
class SchemaReader {
 public:
  explicit SchemaReader(const OrderedJson& root) : root_(root) {}

  OrderedJson read() {
    OrderedJson result = schema(root_, "#");
    while (!wanted_.empty()) {  // definitions, which may name others
      const std::string uri = std::move(wanted_.back());
      wanted_.pop_back();
      definitions_[names_[uri]] = schema(target(uri), uri);
    }
    check_definitions();
    if (!definitions_.empty()) {
      if (result.contains("$ref") || result.contains("anyOf")) {
        result = OrderedJson{{"anyOf", OrderedJson::array({result})}};
      }
      result["$defs"] = definitions_;
    }
    return result;
  }

 private:
  using Where = const std::string&;

  template <class... Parts>
  [[noreturn]] static void refuse(Where where, const Parts&... parts) {
    fail(ErrorCode::invalid_argument, "the JSON schema cannot be followed: ", where, " ", parts...);
  }

  OrderedJson schema(const OrderedJson& given, Where where) {
    if (++steps_ > max_steps) refuse("#", "is too large");
    if (given == true) return OrderedJson::object();
    if (given == false) refuse(where, "accepts no value");
    if (!given.is_object()) refuse(where, "is neither an object nor a boolean");
    for (const std::string_view name :
         {"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "contains", "minContains",
          "maxContains", "unevaluatedItems", "unevaluatedProperties", "additionalItems", "propertyNames", "$dynamicRef",
          "$recursiveRef"}) {
      if (given.contains(name)) refuse(where, "has \"", name, "\", which is not supported");
    }
    if (given.contains("uniqueItems") && given["uniqueItems"] != false) {
      refuse(where, "has \"uniqueItems\", which is not supported");
    }
    for (const char* name : {"$ref", "const", "enum", "anyOf", "oneOf", "allOf"}) {
      if (!given.contains(name)) continue;
      refuse_siblings(given, name, where);
      const std::string_view keyword = name;
      if (keyword == "$ref") return reference(given, where);
      if (keyword == "const") return values(given, OrderedJson::array({given["const"]}), where);
      if (keyword == "enum") return values(given, given["enum"], where);
      return alternatives(given, name, where);
    }
    return typed(given, where);
  }

  /// Keywords beside one that says it all.
  static void refuse_siblings(const OrderedJson& given, std::string_view keyword, Where where) {
    static const std::set<std::string_view> assertions{
        "$ref",       "const",         "enum",          "anyOf",     "oneOf",     "allOf",    "properties",
        "required",   "items",         "prefixItems",   "minItems",  "maxItems",  "pattern",  "additionalProperties",
        "minimum",    "maximum",       "multipleOf",    "minLength", "maxLength", "patternProperties",
        "minProperties", "maxProperties", "exclusiveMinimum", "exclusiveMaximum"};
    for (const auto& [name, value] : given.items()) {
      if (name != keyword && assertions.contains(name)) {
        refuse(where, "has \"", keyword, "\" together with \"", name, "\", which is not supported");
      }
    }
    if (keyword == "$ref" && given.contains("type")) refuse(where, "has \"$ref\" together with \"type\"");
  }

  OrderedJson reference(const OrderedJson& given, Where where) {
    if (!given["$ref"].is_string()) refuse(where, "has a \"$ref\" that is no text");
    const auto uri = given["$ref"].get<std::string>();
    if (uri != "#" && !uri.starts_with("#/")) refuse(where, "refers to ", uri, "; only places of the schema can be");
    const auto [place, is_new] = names_.try_emplace(uri, "d" + std::to_string(names_.size()));
    if (is_new) {
      (void)target(uri);
      wanted_.push_back(uri);
    }
    return {{"$ref", "#/$defs/" + place->second}};
  }

  const OrderedJson& target(const std::string& uri) const {
    try {
      return root_.at(OrderedJson::json_pointer(uri.substr(1)));
    } catch (const OrderedJson::exception&) {
      refuse(uri, "is not there");
    }
  }

  static bool is_type(const OrderedJson& value, std::string_view type) {
    if (type == "integer") return value.is_number_integer() || (value.is_number() && std::floor(value.get<double>()) == value);
    if (type == "number") return value.is_number();
    return type == value.type_name();  // "null", "boolean", "string", "array", "object"
  }

  /// The names in "type": none where any is allowed.
  static std::vector<std::string> types(const OrderedJson& given, Where where) {
    std::vector<std::string> result;
    if (!given.contains("type")) return result;
    const OrderedJson& type = given["type"];
    for (const OrderedJson& one : type.is_array() ? type : OrderedJson::array({type})) {
      static const std::set<std::string_view> known{"null", "boolean", "integer", "number", "string", "array", "object"};
      if (!one.is_string() || !known.contains(one.get_ref<const std::string&>())) {
        refuse(where, "has the unknown type ", one.dump());
      }
      result.push_back(one.get<std::string>());
    }
    if (result.empty()) refuse(where, "has no type");
    return result;
  }

  OrderedJson values(const OrderedJson& given, const OrderedJson& listed, Where where) {
    if (!listed.is_array() || listed.empty()) refuse(where, "has an \"enum\" that is no list of values");
    const std::vector<std::string> allowed = types(given, where);
    OrderedJson result = OrderedJson::array();
    for (const OrderedJson& value : listed) {
      if (++steps_ > max_steps) refuse("#", "is too large");
      const auto fits = [&](const std::string& type) { return is_type(value, type); };
      if (!allowed.empty() && std::none_of(allowed.begin(), allowed.end(), fits)) continue;
      if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) refuse(where, "has a number above 2^63");
      result.push_back(value);
    }
    if (result.empty()) refuse(where, "has no value of its type");
    return {{"enum", std::move(result)}};
  }

  OrderedJson alternatives(const OrderedJson& given, const char* keyword, Where where) {
    const OrderedJson& branches = given[keyword];
    if (!branches.is_array() || branches.empty()) refuse(where, "has an empty \"", keyword, "\"");
    if (std::string_view(keyword) == "allOf" && branches.size() != 1) {
      refuse(where, "has an \"allOf\" of several schemas, which is not supported");
    }
    OrderedJson result = OrderedJson::array();
    std::vector<OrderedJson> typed_branches;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::string place = where + "/" + keyword + "/" + std::to_string(i);
      OrderedJson branch = branches[i];
      if (given.contains("type")) {
        if (!branch.is_object() || branch.contains("$ref")) refuse(place, "has a type beside it, which is not supported");
        if (!branch.contains("type")) branch["type"] = given["type"];
      }
      result.push_back(schema(branch, place));
      typed_branches.push_back(std::move(branch));
    }
    if (std::string_view(keyword) == "oneOf") {
      for (std::size_t i = 0; i < result.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (!exclude(typed_branches[j], typed_branches[i])) {
            refuse(where, "has a \"oneOf\" whose alternatives ", j, " and ", i, " may both be met");
          }
        }
      }
    }
    return result.size() == 1 ? result.front() : OrderedJson{{"anyOf", std::move(result)}};
  }

  /// Whether types and constants say that no value meets both.
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
      return !values.empty() && !of.empty() && std::none_of(values.begin(), values.end(), [&](const OrderedJson& value) {
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
      given = target(given["$ref"].get<std::string>());
    }
    return given;
  }

  static OrderedJson constants(const OrderedJson& given) {
    if (given.contains("const")) return OrderedJson::array({given["const"]});
    return given.value("enum", OrderedJson::array());
  }

  static bool has_any(const OrderedJson& given, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return given.contains(name); });
  }

  OrderedJson typed(const OrderedJson& given, Where where) {
    std::vector<std::string> allowed = types(given, where);
    if (allowed.empty()) {  // the type that the keywords are about
      if (has_any(given, {"properties", "required", "additionalProperties", "patternProperties", "minProperties",
                          "maxProperties"})) {
        allowed = {"object"};
      } else if (has_any(given, {"items", "prefixItems", "minItems", "maxItems"})) {
        allowed = {"array"};
      } else if (has_any(given, {"minLength", "maxLength", "pattern"})) {
        allowed = {"string"};
      } else if (has_any(given, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})) {
        allowed = {"number"};
      } else {
        return OrderedJson::object();
      }
    }
    OrderedJson result = OrderedJson::array();
    for (const std::string& type : allowed) {
      OrderedJson one{{"type", type}};
      if (type == "string") one = text(given, where);
      if (type == "integer") one = integer(given, where);
      if (type == "number") one = number(given, where);
      if (type == "array") one = list(given, where);
      if (type == "object") one = object(given, where);
      result.push_back(std::move(one));
    }
    return result.size() == 1 ? result.front() : OrderedJson{{"anyOf", std::move(result)}};
  }

  static std::optional<std::size_t> count(const OrderedJson& given, const char* name, Where where) {
    if (!given.contains(name)) return std::nullopt;
    const OrderedJson& value = given[name];
    const bool is_whole = value.is_number() && value >= 0 && std::floor(value.get<double>()) == value.get<double>();
    if (!is_whole) refuse(where, "has a \"", name, "\" that is no count");
    return static_cast<std::size_t>(std::min(value.get<double>(), 1e15));
  }

  /// A pair of bounds of counts, written where they say something. A minimum has a limit: it is unrolled.
  static void counts(const OrderedJson& given, const char* min_name, const char* max_name, Where where,
                     OrderedJson& result) {
    const auto least = count(given, min_name, where), most = count(given, max_name, where);
    if (least.value_or(0) > max_count) refuse(where, "has a \"", min_name, "\" above ", max_count);
    if (least && most && *least > *most) refuse(where, "has a \"", min_name, "\" above its \"", max_name, "\"");
    if (least.value_or(0) != 0) result[min_name] = *least;
    if (most) result[max_name] = std::min(*most, max_count);
  }

  static OrderedJson text(const OrderedJson& given, Where where) {
    OrderedJson result{{"type", "string"}}, length = OrderedJson::object();
    counts(given, "minLength", "maxLength", where, length);
    const bool has_length = !length.empty();
    if (given.contains("pattern")) {
      if (!given["pattern"].is_string()) refuse(where, "has a \"pattern\" that is no text");
      if (has_length) refuse(where, "has a \"pattern\" together with a length, which is not supported");
      result["pattern"] = followed_regex(given["pattern"].get_ref<const std::string&>());
    } else if (has_length) {  // of characters that need no escape
      const std::string most = length.contains("maxLength") ? length["maxLength"].dump() : "";
      result["pattern"] = "^[^\"\\\\\\x00-\\x1f\\ud800-\\udfff]{" + length.value("minLength", OrderedJson(0)).dump() + "," + most + "}$";
    } else if (given.contains("format") && given["format"].is_string()) {
      result["format"] = given["format"];  // an annotation, followed where it is known
    }
    return result;
  }

  static std::optional<double> bound(const OrderedJson& given, const char* name, Where where) {
    if (!given.contains(name)) return std::nullopt;
    if (!given[name].is_number()) refuse(where, "has a \"", name, "\" that is no number");
    return given[name].get<double>();
  }

  static OrderedJson integer(const OrderedJson& given, Where where) {
    constexpr double limit = 9e18;  // beyond it a bound says nothing of 64 bits
    std::optional<double> least = bound(given, "minimum", where), most = bound(given, "maximum", where);
    if (least) least = std::ceil(*least);
    if (most) most = std::floor(*most);
    if (const auto above = bound(given, "exclusiveMinimum", where)) {
      least = std::max(least.value_or(-limit), std::floor(*above) + 1);
    }
    if (const auto below = bound(given, "exclusiveMaximum", where)) {
      most = std::min(most.value_or(limit), std::ceil(*below) - 1);
    }
    if (least && *least <= -limit) least.reset();
    if (most && *most >= limit) most.reset();
    if ((least && *least >= limit) || (most && *most <= -limit)) refuse(where, "has a bound beyond 64 bits");
    if (least && most && *least > *most) refuse(where, "has no number between its bounds");
    OrderedJson result{{"type", "integer"}};
    if (least) result["minimum"] = static_cast<std::int64_t>(*least);
    if (most) result["maximum"] = static_cast<std::int64_t>(*most);
    if (const auto step = bound(given, "multipleOf", where)) multiples(*step, least, most, where, result);
    return result;
  }

  /// Between two bounds the multiples are listed.
  static void multiples(double step, std::optional<double> least, std::optional<double> most, Where where,
                        OrderedJson& result) {
    if (!(step >= 1) || std::floor(step) != step || step > 1024) {
      refuse(where, "has a \"multipleOf\" that is no whole number up to 1024");
    }
    if (step == 1) return;
    if (!least && !most) {
      result["multipleOf"] = static_cast<std::int64_t>(step);
      return;
    }
    if (!least || !most || (*most - *least) / step > 1000) {
      refuse(where, "has a \"multipleOf\" together with a wide or open range, which is not supported");
    }
    OrderedJson listed = OrderedJson::array();
    for (double value = std::ceil(*least / step) * step; value <= *most; value += step) {
      listed.push_back(static_cast<std::int64_t>(value));
    }
    if (listed.empty()) refuse(where, "has no multiple between its bounds");
    result = {{"enum", std::move(listed)}};
  }

  static OrderedJson number(const OrderedJson& given, Where where) {
    if (given.contains("multipleOf")) return integer(given, where);  // a whole step from 0 gives whole numbers
    OrderedJson result{{"type", "number"}};
    const auto least = bound(given, "minimum", where), most = bound(given, "maximum", where);
    const auto above = bound(given, "exclusiveMinimum", where), below = bound(given, "exclusiveMaximum", where);
    const bool is_empty = (least && most && *least > *most) || (least && below && *least >= *below) ||
                          (above && most && *above >= *most) || (above && below && *above >= *below);
    if (is_empty) refuse(where, "has no number between its bounds");
    for (const char* name : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
      if (given.contains(name)) result[name] = given[name];
    }
    return result;
  }

  OrderedJson list(const OrderedJson& given, Where where) {
    OrderedJson result{{"type", "array"}};
    counts(given, "minItems", "maxItems", where, result);
    OrderedJson items = OrderedJson::object();
    if (given.contains("items") && given["items"] == false) {
      items = false;
    } else if (given.contains("items")) {
      items = schema(given["items"], where + "/items");
    }
    OrderedJson first = OrderedJson::array();
    if (given.contains("prefixItems")) {
      if (!given["prefixItems"].is_array()) refuse(where, "has \"prefixItems\" that are no list");
      const std::size_t most = result.value("maxItems", max_count);
      for (const OrderedJson& one : given["prefixItems"]) {
        if (first.size() == most) break;
        first.push_back(schema(one, where + "/prefixItems/" + std::to_string(first.size())));
      }
    }
    if (items == false && result.value("minItems", std::size_t{0}) > first.size()) {
      refuse(where, "has a \"minItems\" above the items that it allows");
    }
    if (first.size() == result.value("maxItems", max_count)) {
      items = false;
      result.erase("minItems");
      result.erase("maxItems");
    }
    if (!first.empty()) result["prefixItems"] = std::move(first);
    result["items"] = std::move(items);
    return result;
  }

  OrderedJson object(const OrderedJson& given, Where where) {
    OrderedJson result{{"type", "object"}};
    counts(given, "minProperties", "maxProperties", where, result);
    if (given.contains("patternProperties")) return by_pattern(given, where, std::move(result));
    const bool is_closed = given.contains("additionalProperties") && given["additionalProperties"] == false;
    OrderedJson others = OrderedJson::object();
    if (given.contains("additionalProperties") && !is_closed) {
      others = schema(given["additionalProperties"], where + "/additionalProperties");
    }
    OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
    if (given.contains("properties")) {
      if (!given["properties"].is_object()) refuse(where, "has \"properties\" that are no object");
      for (const auto& [name, value] : given["properties"].items()) {
        properties[name] = schema(value, where + "/properties/" + name);
      }
    }
    for (const OrderedJson& name : given.value("required", OrderedJson::array())) {
      if (!name.is_string()) refuse(where, "has a \"required\" that is no list of names");
      const auto& key = name.get_ref<const std::string&>();
      if (std::find(required.begin(), required.end(), name) != required.end()) continue;
      if (!properties.contains(key) && is_closed) refuse(where, "requires \"", key, "\", which it does not allow");
      if (!properties.contains(key)) properties[key] = others;
      required.push_back(name);
    }
    const bool takes_others = !is_closed && (properties.empty() || given.contains("additionalProperties"));
    const std::size_t least = result.value("minProperties", std::size_t{0});
    if (least <= required.size()) result.erase("minProperties");
    if (result.value("maxProperties", max_count) < required.size()) refuse(where, "requires more than it allows");
    if (!takes_others && least > properties.size()) refuse(where, "has a \"minProperties\" above what it names");
    if (takes_others && result.contains("minProperties") && (least > 1 || !properties.empty())) {
      refuse(where, "has a \"minProperties\" and names that are not given, which is not supported");  // they may repeat
    }
    if (!properties.empty()) result["properties"] = std::move(properties);
    if (!required.empty()) result["required"] = std::move(required);
    result["additionalProperties"] = takes_others ? others : OrderedJson(false);
    return result;
  }

  /// Properties that one expression names.
  OrderedJson by_pattern(const OrderedJson& given, Where where, OrderedJson result) {
    const OrderedJson& patterns = given["patternProperties"];
    const bool is_alone = patterns.is_object() && patterns.size() == 1 &&
                          given.value("properties", OrderedJson::object()).empty() &&
                          given.value("required", OrderedJson::array()).empty();
    if (!is_alone) refuse(where, "has \"patternProperties\" with others, which is not supported");
    if (result.value("minProperties", std::size_t{0}) > 1) {
      refuse(where, "has a \"minProperties\" and names that are not given, which is not supported");
    }
    for (const auto& [pattern, value] : patterns.items()) {
      result["patternProperties"][followed_regex(pattern)] = schema(value, where + "/patternProperties/" + pattern);
    }
    result["additionalProperties"] = false;
    return result;
  }

  /// Refuses definitions that never end, or name themselves before anything is written.
  void check_definitions() const {
    std::set<std::string> ends;
    for (bool grows = true; grows;) {
      grows = false;
      for (const auto& [name, value] : definitions_.items()) {
        if (ends.contains(name) || !can_end(value, ends)) continue;
        ends.insert(name);
        grows = true;
      }
    }
    for (const auto& [uri, name] : names_) {
      if (!ends.contains(name)) refuse(uri, "has no value that ends");
      std::set<std::string> seen;
      if (starts_with(definitions_[name], name, seen)) refuse(uri, "refers to itself alone");
    }
  }

  static std::string definition_of(const OrderedJson& reference) {
    return reference["$ref"].get<std::string>().substr(std::string_view("#/$defs/").size());
  }

  static bool can_end(const OrderedJson& value, const std::set<std::string>& ends) {
    if (value.contains("$ref")) return ends.contains(definition_of(value));
    const auto ok = [&](const OrderedJson& one) { return can_end(one, ends); };
    if (value.contains("anyOf")) return std::any_of(value["anyOf"].begin(), value["anyOf"].end(), ok);
    if (value.contains("prefixItems") && !std::all_of(value["prefixItems"].begin(), value["prefixItems"].end(), ok)) {
      return false;
    }
    const std::size_t first = value.value("prefixItems", OrderedJson::array()).size();
    if (value.value("minItems", std::size_t{0}) > first && !ok(value["items"])) return false;
    for (const OrderedJson& name : value.value("required", OrderedJson::array())) {
      if (!ok(value["properties"][name.get_ref<const std::string&>()])) return false;
    }
    return true;
  }

  bool starts_with(const OrderedJson& value, const std::string& name, std::set<std::string>& seen) const {
    if (value.contains("$ref")) {
      const std::string other = definition_of(value);
      return other == name || (seen.insert(other).second && starts_with(definitions_[other], name, seen));
    }
    if (!value.contains("anyOf")) return false;
    return std::any_of(value["anyOf"].begin(), value["anyOf"].end(),
                       [&](const OrderedJson& one) { return starts_with(one, name, seen); });
  }

  static constexpr std::size_t max_steps = 20'000, max_count = 1'000;

  const OrderedJson& root_;
  std::size_t steps_ = 0;
  std::map<std::string, std::string> names_;  // of places that are referred to
  std::vector<std::string> wanted_;           // such places without their definitions
  OrderedJson definitions_ = OrderedJson::object();
};

}  // namespace detail

inline std::string understood_schema(std::string_view schema) {
  const OrderedJson root = parse_ordered_json(schema, "the JSON schema");
  return detail::SchemaReader(root).read().dump();
}

}  // namespace tulle
