// SPDX-License-Identifier: Apache-2.0
/// \file JSON Schema, reduced to what a grammar can follow exactly (L3).
/// Source: https://json-schema.org/draft/2020-12
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/grammar/schema_containers.hpp>
#include <tulle/grammar/schema_ends.hpp>
#include <tulle/grammar/schema_exclusion.hpp>
#include <tulle/grammar/schema_place.hpp>
#include <tulle/grammar/schema_size.hpp>
#include <tulle/grammar/schema_values.hpp>

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
      definitions_[names_[uri]] = schema(schema_target(root_, uri), uri);
    }
    check_definitions(definitions_, names_);
    if (!definitions_.empty()) {
      if (result.contains("$ref") || result.contains("anyOf")) {
        result = OrderedJson{{"anyOf", OrderedJson::array({result})}};
      }
      result["$defs"] = definitions_;
    }
    return result;
  }

 private:
  OrderedJson schema(const OrderedJson& given, Where where) {
    if (++steps_ > max_steps) refuse_schema("#", "is too large");
    if (given == true) return OrderedJson::object();
    if (given == false) refuse_schema(where, "accepts no value");
    if (!given.is_object()) refuse_schema(where, "is neither an object nor a boolean");
    for (const std::string_view name :
         {"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies", "contains",
          "minContains", "maxContains", "unevaluatedItems", "unevaluatedProperties", "additionalItems", "propertyNames",
          "$dynamicRef", "$recursiveRef"}) {
      if (given.contains(name)) refuse_schema(where, "has \"", name, "\", which is not supported");
    }
    if (given.contains("uniqueItems") && given["uniqueItems"] != false) {
      refuse_schema(where, "has \"uniqueItems\", which is not supported");
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
    static const std::set<std::string_view> assertions{"$ref",
                                                       "const",
                                                       "enum",
                                                       "anyOf",
                                                       "oneOf",
                                                       "allOf",
                                                       "properties",
                                                       "required",
                                                       "items",
                                                       "prefixItems",
                                                       "minItems",
                                                       "maxItems",
                                                       "pattern",
                                                       "additionalProperties",
                                                       "minimum",
                                                       "maximum",
                                                       "multipleOf",
                                                       "minLength",
                                                       "maxLength",
                                                       "patternProperties",
                                                       "minProperties",
                                                       "maxProperties",
                                                       "exclusiveMinimum",
                                                       "exclusiveMaximum"};
    for (const auto& [name, value] : given.items()) {
      if (name != keyword && assertions.contains(name)) {
        refuse_schema(where, "has \"", keyword, "\" together with \"", name, "\", which is not supported");
      }
    }
    if (keyword == "$ref" && given.contains("type")) refuse_schema(where, "has \"$ref\" together with \"type\"");
  }

  OrderedJson reference(const OrderedJson& given, Where where) {
    if (!given["$ref"].is_string()) refuse_schema(where, "has a \"$ref\" that is no text");
    const auto uri = given["$ref"].get<std::string>();
    if (uri != "#" && !uri.starts_with("#/"))
      refuse_schema(where, "refers to ", uri, "; only places of the schema can be");
    const auto [place, is_new] = names_.try_emplace(uri, "d" + std::to_string(names_.size()));
    if (is_new) {
      if (names_.size() > max_definitions) refuse_schema("#", "refers to more than ", max_definitions, " places");
      (void)schema_target(root_, uri);
      wanted_.push_back(uri);
    }
    return {{"$ref", "#/$defs/" + place->second}};
  }

  OrderedJson values(const OrderedJson& given, const OrderedJson& listed, Where where) {
    if (!listed.is_array() || listed.empty()) refuse_schema(where, "has an \"enum\" that is no list of values");
    const std::vector<std::string> allowed = types(given, where);
    OrderedJson result = OrderedJson::array();
    for (const OrderedJson& value : listed) {
      if (++steps_ > max_steps) refuse_schema("#", "is too large");
      size_.add_value(value);
      const auto fits = [&](const std::string& type) { return is_type(value, type); };
      if (!allowed.empty() && std::none_of(allowed.begin(), allowed.end(), fits)) continue;
      check_numbers(value, where);
      result.push_back(value);
    }
    if (result.empty()) refuse_schema(where, "has no value of its type");
    return {{"enum", std::move(result)}};
  }

  /// An integer above 2^63 would be written with other digits: it was read as a double.
  static void check_numbers(const OrderedJson& value, Where where) {
    if (value.is_structured()) {
      for (const OrderedJson& part : value) check_numbers(part, where);
    } else if (value.is_number() && std::abs(value.get<double>()) >= 0x1p63) {
      refuse_schema(where, "has a number above 2^63");
    }
  }

  OrderedJson alternatives(const OrderedJson& given, const char* keyword, Where where) {
    const OrderedJson& branches = given[keyword];
    if (!branches.is_array() || branches.empty()) refuse_schema(where, "has an empty \"", keyword, "\"");
    if (std::string_view(keyword) == "allOf" && branches.size() != 1) {
      refuse_schema(where, "has an \"allOf\" of several schemas, which is not supported");
    }
    OrderedJson result = OrderedJson::array();
    std::vector<OrderedJson> typed_branches;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::string place = where + "/" + keyword + "/" + std::to_string(i);
      OrderedJson branch = branches[i];
      if (given.contains("type")) {
        if (!branch.is_object() || branch.contains("$ref"))
          refuse_schema(place, "has a type beside it, which is not supported");
        if (!branch.contains("type")) branch["type"] = given["type"];
        if (!is_within(types(branch, place), types(given, where)))
          refuse_schema(place, "has a type beside it that excludes one of its own, which is not supported");
      }
      result.push_back(schema(branch, place));
      typed_branches.push_back(std::move(branch));
    }
    const SchemaExclusion exclusion(root_);
    if (std::string_view(keyword) == "oneOf") {
      for (std::size_t i = 0; i < result.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
          if (!exclusion.exclude(typed_branches[j], typed_branches[i])) {
            refuse_schema(where, "has a \"oneOf\" whose alternatives ", j, " and ", i, " may accept the same value");
          }
        }
      }
    }
    return result.size() == 1 ? result.front() : OrderedJson{{"anyOf", std::move(result)}};
  }

  static bool is_within(const std::vector<std::string>& types, const std::vector<std::string>& allowed) {
    return std::all_of(types.begin(), types.end(), [&](const std::string& type) {
      return std::any_of(allowed.begin(), allowed.end(),
                         [&](const std::string& one) { return one == type || (one == "number" && type == "integer"); });
    });
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
      } else if (known_format(given)) {
        allowed = {"string"};
      } else {
        return OrderedJson::object();
      }
    }
    const auto read_part = [this](const OrderedJson& part, Where place) { return schema(part, place); };
    OrderedJson result = OrderedJson::array();
    for (const std::string& type : allowed) {
      OrderedJson one{{"type", type}};
      if (type == "string") one = text(given, where);
      if (type == "integer") one = integer(given, where);
      if (type == "number") one = number(given, where);
      if (type == "array") one = list_schema(given, where, read_part);
      if (type == "object") {
        size_.add_names(given);
        one = object_schema(given, where, read_part);
      }
      if (one.contains("enum")) {  // multiples
        for (const OrderedJson& value : one["enum"]) size_.add_value(value);
      }
      result.push_back(std::move(one));
    }
    return result.size() == 1 ? result.front() : OrderedJson{{"anyOf", std::move(result)}};
  }

  static constexpr std::size_t max_steps = 20'000, max_definitions = 1'000;

  const OrderedJson& root_;
  std::size_t steps_ = 0;
  SchemaSize size_;
  std::map<std::string, std::string> names_;  // of places that are referred to
  std::vector<std::string> wanted_;           // such places without their definitions
  OrderedJson definitions_ = OrderedJson::object();
};

}  // namespace detail

/// A schema that accepts no more than `schema` does, in few keywords: `type` (one), `enum`, `const`, `anyOf`, `$ref` into
/// `$defs`, `properties`, `required`, `additionalProperties`, one of `patternProperties`, `minProperties`,
/// `maxProperties`, `items`, `prefixItems`, `minItems`, `maxItems`, `pattern` (also for lengths), `format`,
/// `minimum`, `maximum`, their exclusive forms, and `multipleOf` of integers. `oneOf` becomes `anyOf` where its
/// alternatives exclude each other, by type or by a constant property; `allOf` of one schema is that schema.
/// An object that names properties holds no others, unless `additionalProperties` is there.
/// Annotations and keywords that JSON Schema does not know are dropped.
/// Errors: invalid_argument, with the place, for what is no JSON, what a grammar cannot follow (`not`, `if`,
/// `uniqueItems`...), for a schema that accepts no value, or none that is finite, and for one that is too large.
inline std::string understood_schema(std::string_view schema) try {
  const OrderedJson root = parse_ordered_json(schema, "the JSON schema");
  return detail::SchemaReader(root).read().dump();
} catch (const Error& error) {
  fail(ErrorCode::invalid_argument, error.what());  // a file's errors of parsing are malformed
}

}  // namespace tulle
