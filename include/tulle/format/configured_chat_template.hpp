// SPDX-License-Identifier: Apache-2.0
/// \file The chat templates that a model names, as one (L3).
#pragma once

#include <string>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>

namespace tulle::detail {

/// One template of two: `tool_use` where there are tools, as transformers chooses. Either may be empty.
inline std::string chat_template_of(std::string usual, std::string tool_use) {
  if (usual.empty() || tool_use.empty()) return usual;
  for (std::string* text : {&usual, &tool_use}) {
    if (text->ends_with('\n')) text->pop_back();  // Jinja drops it at the end of a template
  }
  // It drops the line feed behind a tag too.
  return "{% if tools %}\n" + tool_use + "{% else %}\n" + usual + "{% endif %}";
}

/// "chat_template" of tokenizer_config.json: a string, or a list of {"name", "template"}, of which "default" and
/// "tool_use" are taken. Empty where there is none, or no file (null). Errors: malformed.
inline std::string configured_chat_template(const Json& config, const std::string& where) {
  const auto found = config.find("chat_template");
  if (found == config.end() || found->is_null()) return "";
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) fail(ErrorCode::malformed, where, ": \"chat_template\" is neither a string nor a list");
  std::string usual, tool_use;
  for (const Json& entry : *found) {
    if (!entry.is_object()) fail(ErrorCode::malformed, where, ": \"chat_template\" has an entry that is no object");
    const std::string name = json_value(entry, "name", std::string(), where);
    if (name == "default") usual = json_value(entry, "template", std::string(), where);
    if (name == "tool_use") tool_use = json_value(entry, "template", std::string(), where);
  }
  return chat_template_of(std::move(usual), std::move(tool_use));
}

}  // namespace tulle::detail
