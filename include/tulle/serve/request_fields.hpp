// SPDX-License-Identifier: Apache-2.0
/// \file The fields of a JSON request, each read as the type and range that it must have (L6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/compat/deepsparse/argument_value.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/serve/api_error.hpp>

namespace tulle::serve {

/// Lifetime: a view of the JSON.
/// Errors: ApiError 400 with the name of the field, the required type or range, and the value that it has.
class RequestFields {
 public:
  explicit RequestFields(const Json& object) : object_(object) {
    if (!object.is_object()) throw ApiError(400, "the body of the request must be a JSON object");
  }

  /// The body of a request. Errors: 400 for what is not JSON, too deep, or names a key twice.
  static Json parse(std::string_view body) {
    try {
      return parse_json(body, "the body of the request");
    } catch (const Error& error) {
      std::string why = error.what();
      constexpr std::string_view of_files = "; is the file complete?";
      if (why.ends_with(of_files)) why.resize(why.size() - of_files.size());
      throw ApiError(400, why);
    }
  }

  /// The field, unless it is absent or null.
  const Json* find(std::string_view name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Whether the field is there and is not false, 0, or empty, which ask for nothing.
  bool asks(std::string_view name) const {
    const Json* value = find(name);
    return value != nullptr && *value != false && *value != 0 && *value != "" &&
           !(value->is_structured() && value->empty());
  }

  /// Fields that would change the answer and are not followed. Errors: ApiError 400 for one that asks for something.
  void refuse(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
      if (!asks(name)) continue;
      throw ApiError(400, "\"" + std::string(name) + "\" is not supported", std::string(name));
    }
  }

  /// Calls read(ArgumentValue) for a field that is there. `type` is named where it has another.
  template <class Read>
  void with(std::string_view name, std::string_view type, Read&& read) const {
    const Json* value = find(name);
    if (value == nullptr) return;
    try {
      read(ArgumentValue(name, type, *value));
    } catch (const Error& error) {
      throw ApiError(400, error.what(), std::string(name));
    }
  }

  bool boolean(std::string_view name, bool fallback) const {
    with(name, "a boolean", [&](const ArgumentValue& value) { fallback = value.boolean(); });
    return fallback;
  }
  std::string text(std::string_view name, std::string fallback) const {
    with(name, "a text", [&](const ArgumentValue& value) { fallback = value.text(); });
    return fallback;
  }
  std::vector<std::string> texts(std::string_view name) const {
    std::vector<std::string> all;
    with(name, "texts", [&](const ArgumentValue& value) { all = value.texts(); });
    return all;
  }
  float number(std::string_view name, float fallback, double least, double most) const {
    with(name, "a number", [&](const ArgumentValue& value) {
      fallback = value.number();
      if (!(value.json().get<double>() >= least && value.json().get<double>() <= most)) {
        throw out_of_range(name, Json(least).dump(), Json(most).dump(), value.json());
      }
    });
    return fallback;
  }
  std::size_t count(std::string_view name, std::size_t fallback, std::size_t least, std::size_t most) const {
    with(name, "a count", [&](const ArgumentValue& value) {
      if (!value.json().is_number_integer()) (void)value.whole();
      const bool negative = !value.json().is_number_unsigned() && value.json().get<std::int64_t>() < 0;
      const auto number = value.json().get<std::uint64_t>();
      if (negative || number < least || number > most)
        throw out_of_range(name, Json(least).dump(), Json(most).dump(), value.json());
      fallback = value.json().get<std::size_t>();
    });
    return fallback;
  }
  std::optional<std::uint64_t> seed(std::string_view name) const {
    std::optional<std::uint64_t> result;
    with(name, "a seed", [&](const ArgumentValue& value) {
      if (!value.json().is_number_integer()) (void)value.whole();
      // Clients send negative ones, too: any 64 bits will do.
      result = value.json().is_number_unsigned() ? value.json().get<std::uint64_t>()
                                                 : static_cast<std::uint64_t>(value.json().get<std::int64_t>());
    });
    return result;
  }

 private:
  static ApiError out_of_range(std::string_view name, const std::string& least, const std::string& most,
                               const Json& value) {
    const std::string field(name);
    return ApiError(400, "\"" + field + "\" must lie between " + least + " and " + most + ", got " + value.dump(),
                    field);
  }

  const Json& object_;
};

}  // namespace tulle::serve
