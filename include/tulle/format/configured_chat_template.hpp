// SPDX-License-Identifier: Apache-2.0
/// \file The chat template that tokenizer_config.json names (L3).
#pragma once

#include <string>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>

namespace tulle::detail {

/// "chat_template" of tokenizer_config.json: a string, or a list of {"name", "template"}, of which "default" is taken.
/// Empty where there is none, or no file (null). Errors: malformed.
inline std::string configured_chat_template(const Json& config, const std::string& where) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) fail(ErrorCode::malformed, where, ": \"chat_template\" is neither a string nor a list");
  for (const Json& entry : *found) {
    if (!entry.is_object()) fail(ErrorCode::malformed, where, ": \"chat_template\" has an entry that is no object");
    if (json_value(entry, "name", std::string(), where) == "default") {
      return json_value(entry, "template", std::string(), where);
    }
  }
  return "";
}

}  // namespace tulle::detail
