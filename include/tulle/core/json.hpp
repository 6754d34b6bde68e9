// SPDX-License-Identifier: Apache-2.0
/// \file The only include of nlohmann/json, and the one way files become JSON (L0).
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

namespace tulle {

using Json = nlohmann::json;

/// Parses a whole text. `where` names the source in messages ("model/config.json").
/// Errors: malformed for anything that is not JSON, is nested deeper than 64 levels or names a key twice.
inline Json parse_json(std::string_view text, std::string_view where) {
  constexpr int deepest = 64;
  // The parser would take a NUL as the end of the text.
  if (text.find('\0') != std::string_view::npos) fail(ErrorCode::malformed, where, ": not valid JSON: it holds a NUL byte");
  std::vector<std::set<std::string>> keys;  // of the objects that are open, outermost first
  const auto check = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > deepest) fail(ErrorCode::malformed, where, ": JSON nested deeper than ", deepest, " levels");
    switch (event) {
      case Json::parse_event_t::object_start: keys.emplace_back(); break;
      case Json::parse_event_t::object_end: keys.pop_back(); break;
      case Json::parse_event_t::key:
        if (!keys.back().insert(parsed.get_ref<const std::string&>()).second) {
          fail(ErrorCode::malformed, where, ": key \"", parsed.get_ref<const std::string&>(), "\" appears twice");
        }
        break;
      default: break;
    }
    return true;
  };
  try {
    return Json::parse(text.begin(), text.end(), check);
  } catch (const Json::parse_error& error) {
    fail(ErrorCode::malformed, where, ": not valid JSON at byte ", error.byte, "; is the file complete?");
  } catch (const Json::out_of_range&) {
    fail(ErrorCode::malformed, where, ": a number does not fit a double");
  }
}

namespace detail {

/// Whether a value is a T as it stands: the library would cut fractions off, wrap large integers and count true as 1.
template <class T>
bool json_fits(const Json& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value.is_boolean();
  } else if constexpr (std::is_integral_v<T>) {
    if (value.is_number_unsigned()) return std::in_range<T>(value.get<std::uint64_t>());
    return value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
  } else if constexpr (std::is_floating_point_v<T>) {
    return value.is_number();
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string>) {
    return value.is_array() && std::all_of(value.begin(), value.end(), json_fits<typename T::value_type>);
  } else {
    static_assert(std::is_same_v<T, std::string>);
    return value.is_string();
  }
}

}  // namespace detail

/// `object[key]` as a T (a bool, a number, a string, or a vector of these), or `fallback` where the key is absent or null.
/// Errors: malformed when the value has another type or does not fit.
template <class T>
T json_value(const Json& object, const char* key, T fallback, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  if (!detail::json_fits<T>(*found)) fail(ErrorCode::malformed, where, ": \"", key, "\" has the wrong type or is out of range");
  return found->template get<T>();
}

}  // namespace tulle
