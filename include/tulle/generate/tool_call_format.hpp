// SPDX-License-Identifier: Apache-2.0
/// \file How models write calls of tools (L4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tulle {

/// How a model writes a call.
enum class ToolCallFormat : std::uint8_t {
  tagged,   ///< <tool_call>{"name", "arguments"}</tool_call>: Hermes, Qwen2.5, Qwen3, SmolLM3
  listed,   ///< <|tool_call|>[{"name", "arguments"}]: Granite 3, Phi-4-mini
  bare,     ///< {"name", "parameters"}, as the whole text, perhaps behind <|python_tag|>: Llama 3
  brackets  ///< [TOOL_CALLS][{"name", "arguments"}] or [TOOL_CALLS]name[ARGS]{...}, perhaps
            ///< with [CALL_ID]id in between: Mistral
};

/// The format that a chat template knows; `tagged` for one that knows none.
inline ToolCallFormat tool_call_format(std::string_view chat_template) noexcept {
  const auto has = [&](std::string_view mark) { return chat_template.find(mark) != std::string_view::npos; };
  if (has("[TOOL_CALLS]")) return ToolCallFormat::brackets;
  if (has("<|tool_call|>") || has("<|tool|>")) return ToolCallFormat::listed;
  if (has("<tool_call>")) return ToolCallFormat::tagged;
  return has("<|python_tag|>") || has("\"parameters\":") ? ToolCallFormat::bare : ToolCallFormat::tagged;
}

/// What stands in front of a call; a special token, which a text has only where these are not skipped, in all but
/// `tagged`.
inline std::string_view tool_call_mark(ToolCallFormat format) noexcept {
  static constexpr std::string_view marks[] = {"<tool_call>", "<|tool_call|>", "<|python_tag|>", "[TOOL_CALLS]"};
  return marks[static_cast<std::size_t>(format)];
}

/// What stands around the arguments of a call that a text must be, without special tokens.
inline std::pair<std::string, std::string> tool_call_frame(ToolCallFormat format, const std::string& name) {
  const std::string call =
      "{\"name\":\"" + name + (format == ToolCallFormat::bare ? "\",\"parameters\":" : "\",\"arguments\":");
  switch (format) {
    case ToolCallFormat::tagged: return {"<tool_call>\n" + call, "}\n</tool_call>"};
    case ToolCallFormat::bare: return {call, "}"};
    default: return {'[' + call, "}]"};
  }
}

}  // namespace tulle
