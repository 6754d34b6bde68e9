// SPDX-License-Identifier: Apache-2.0
/// \file Files that hold one JSON object (L3).
#pragma once

#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/mapped_file.hpp>

namespace tulle::detail {

/// Parses a text that must be one JSON object. Errors: malformed.
inline Json parse_json_object(std::string_view text, std::string_view where) {
  Json object = parse_json(text, where);
  if (!object.is_object()) fail(ErrorCode::malformed, where, ": expected a JSON object, found ", object.type_name());
  return object;
}

/// Errors: not_found, io, malformed.
inline Json read_json_object(const std::string& path) {
  return parse_json_object(MappedFile(path).text(), path);
}

}  // namespace tulle::detail
