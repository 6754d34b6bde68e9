// SPDX-License-Identifier: Apache-2.0
/// \file How large a schema may be (L3).
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/grammar/schema_values.hpp>

namespace tulle::detail {

/// Counts the values and names that a grammar writes out: it is compiled in a time that grows faster than their number.
/// Errors: invalid_argument beyond the limits.
class SchemaSize {
 public:
  static constexpr std::size_t max_values = 5'000;   ///< of enum, const, multiples and names of properties together
  static constexpr std::size_t max_bytes = 120'000;  ///< of all of them

  void add_value(const OrderedJson& value) { add(value.dump().size()); }

  /// The names of an object's properties, each once.
  void add_names(const OrderedJson& given) {
    std::set<std::string_view> names;
    const auto add_name = [&](const std::string& name) {
      if (names.insert(name).second) add(name.size());
    };
    if (given.contains("properties") && given["properties"].is_object()) {
      for (const auto& [name, value] : given["properties"].items()) add_name(name);
    }
    if (!given.contains("required") || !given["required"].is_array()) return;
    for (const OrderedJson& name : given["required"]) {
      if (name.is_string()) add_name(name.get_ref<const std::string&>());
    }
  }

 private:
  void add(std::size_t bytes) {
    bytes_ += bytes;
    if (++values_ <= max_values && bytes_ <= max_bytes) return;
    refuse_schema("#", "is too large: its values and names of properties are more than ", max_values,
                  ", or longer than ", max_bytes, " bytes together");
  }

  std::size_t values_ = 0, bytes_ = 0;
};

}  // namespace tulle::detail
