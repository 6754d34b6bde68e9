// SPDX-License-Identifier: Apache-2.0
/// \file The only include of nlohmann/json, and the one parser of JSON files (L0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

namespace tulle {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;  ///< objects keep the order in which they were written

namespace detail {

/// Builds a document from the events of the parser. Stops at the first invalid event. An `OrderedJson` is built of a text
/// that was parsed as `Json` before: its keys, known to differ, are not searched for.
template <class Document>
class JsonBuilder {
 public:
  explicit JsonBuilder(std::string_view where) : where_(where) {}

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(typename Document::number_integer_t value) { return put(value); }
  bool number_unsigned(typename Document::number_unsigned_t value) { return put(value); }
  bool number_float(typename Document::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(typename Document::binary_t&) { return false; }  // not part of JSON
  bool start_object(std::size_t) { return open(Document::object()); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(Document::array()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& members = open_.back()->template get_ref<typename Document::object_t&>();
    if constexpr (std::is_same_v<Document, Json>) {
      const auto [place, is_new] = members.try_emplace(std::move(name));
      if (!is_new) fail(ErrorCode::malformed, where_, ": key \"", place->first, "\" appears twice");
      member_ = &place->second;
    } else {
      member_ = &members.emplace_back(std::move(name), nullptr).second;
    }
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) {
    constexpr int number_overflow = 406;
    if (error.id == number_overflow) fail(ErrorCode::malformed, where_, ": a number does not fit a double");
    fail(ErrorCode::malformed, where_, ": not valid JSON at byte ", byte, "; is the file complete?");
  }

  Document take() { return std::move(root_); }

 private:
  Document& place(Document&& value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return *member_ = std::move(value);
    return open_.back()->template get_ref<typename Document::array_t&>().emplace_back(std::move(value));
  }

  bool put(Document&& value) {
    place(std::move(value));
    return true;
  }

  bool open(Document&& value) {
    constexpr std::size_t deepest = 64;
    if (open_.size() == deepest) fail(ErrorCode::malformed, where_, ": JSON nested deeper than ", deepest, " levels");
    open_.push_back(&place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view where_;
  Document root_;
  std::vector<Document*> open_;  // objects and arrays, outermost first; an open one does not move
  Document* member_ = nullptr;   // of the innermost object
};

/// `Document::sax_parse` is these lines and a reader of binary formats, which costs compilers seconds and modules kilobytes.
template <class Document>
Document built_json(std::string_view text, std::string_view where) {
  JsonBuilder<Document> builder(where);
  auto characters = nlohmann::detail::input_adapter(text.begin(), text.end());
  nlohmann::detail::parser<Document, decltype(characters)>(std::move(characters)).sax_parse(&builder);
  return builder.take();
}

}  // namespace detail

/// Parses a whole text. `where` names the source in messages ("model/config.json").
/// Errors: malformed for anything that is not JSON, is nested deeper than 64 levels or names a key twice.
inline Json parse_json(std::string_view text, std::string_view where) {
  // The parser treats a NUL as the end of the text.
  if (text.find('\0') != std::string_view::npos)
    fail(ErrorCode::malformed, where, ": not valid JSON: it holds a NUL byte");
  return detail::built_json<Json>(text, where);
}

/// The same with objects in the order in which they were written.
inline OrderedJson parse_ordered_json(std::string_view text, std::string_view where) {
  (void)parse_json(text, where);  // refuses what is too deep, or ambiguous
  return detail::built_json<OrderedJson>(text, where);
}

namespace detail {

/// Whether a value is exactly a T. The library's own conversion cuts fractions off, wraps large integers and turns true
/// into 1.
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

/// `object[key]` as a T (a bool, a number, a string, or a vector of these), or `fallback` where the key is absent or
/// null. Errors: malformed when the value has another type or does not fit.
template <class T>
T json_value(const Json& object, const char* key, T fallback, std::string_view where) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  if (!detail::json_fits<T>(*found))
    fail(ErrorCode::malformed, where, ": \"", key, "\" has the wrong type or is out of range");
  return found->template get<T>();
}

}  // namespace tulle
