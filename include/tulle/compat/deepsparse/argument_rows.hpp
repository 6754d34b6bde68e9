// SPDX-License-Identifier: Apache-2.0
/// \file Named arguments as a table: what each sets, and suggestions for unknown names (L5).
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/compat/deepsparse/argument_value.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/near_names.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

/// A name, the version that used it, what it sets or why it is refused, and the function that applies it. A null value
/// is ignored, except where null has a meaning of its own.
template <class Target>
struct ArgumentRow {
  std::string_view name, from, meaning;
  void (*apply)(const ArgumentValue& value, Target& target);
  bool null_is_a_value = false;
};

namespace detail {

template <class Target>
void append_names(std::span<const ArgumentRow<Target>> rows, std::vector<std::string_view>& names) {
  for (const auto& row : rows) names.push_back(row.name);
}

/// `elsewhere`: names that are valid in another place.
/// Errors: invalid_argument for a value that is not an object, and for the first name that is not in `known`.
inline void require_known(const Json& arguments, std::string_view place, std::span<const std::string_view> known,
                          std::span<const std::string_view> elsewhere = {}) {
  if (!arguments.is_object()) fail(ErrorCode::invalid_argument, "the arguments of ", place, " must be a JSON object");
  for (const auto& entry : arguments.items()) {
    const std::string& key = entry.key();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string name = quoted_name(key);
    if (std::find(elsewhere.begin(), elsewhere.end(), key) != elsewhere.end()) {
      fail(ErrorCode::invalid_argument, "argument ", name, " does not belong to ", place);
    }
    const std::string near = near_names(key, known);
    fail(ErrorCode::invalid_argument, "unknown argument ", name, " of ", place,
         near.empty() ? "; COMPATIBILITY.md lists all that are known" : "; did you mean " + near + "?");
  }
}

/// Applies the rows whose names `arguments` gives, in the order of the table. Errors: invalid_argument.
template <class Target>
void apply_rows(std::span<const ArgumentRow<Target>> rows, const Json& arguments, Target& target) {
  for (const auto& row : rows) {
    const auto found = arguments.find(row.name);
    if (found == arguments.end() || (found->is_null() && !row.null_is_a_value)) continue;
    row.apply(ArgumentValue(row.name, row.meaning, *found), target);
  }
}

// Functions of rows that set nothing, shared by all tables.

template <class Target>
void change_nothing(const ArgumentValue&, Target&) {}

template <class Target>
void refuse_all(const ArgumentValue& value, Target&) {
  value.refuse();
}

}  // namespace detail

}  // namespace tulle
