// SPDX-License-Identifier: Apache-2.0
/// \file How models write calls of tools (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tulle {

/// How a model writes a call.
enum class ToolCallFormat : std::uint8_t {
  tagged,   ///< <tool_call>{"name", "arguments"}</tool_call>: Hermes, Qwen2.5, Qwen3, SmolLM3
  listed,   ///< <|tool_call|>[{"name", "arguments"}]: Granite 3 (3.1: <tool_call>[...]), Phi-4-mini
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

/// What may stand in front of a call: special tokens, which a text has only where these are not skipped, but for
/// <tool_call>, which Granite 3.1 writes too.
class ToolCallMarks {
 public:
  explicit ToolCallMarks(ToolCallFormat format) noexcept {
    static constexpr std::string_view all[] = {"<|tool_call|>", "<tool_call>", "<|python_tag|>", "[TOOL_CALLS]"};
    switch (format) {
      case ToolCallFormat::tagged: marks_ = {all + 1, 1}; break;
      case ToolCallFormat::listed: marks_ = {all, 2}; break;
      case ToolCallFormat::bare: marks_ = {all + 2, 1}; break;
      case ToolCallFormat::brackets: marks_ = {all + 3, 1}; break;
    }
  }

  /// Where the first one begins and ends; npos where there is none.
  std::pair<std::size_t, std::size_t> find(std::string_view text) const noexcept {
    std::pair<std::size_t, std::size_t> first{text.npos, text.npos};
    for (const std::string_view mark : marks_) {
      const std::size_t at = text.find(mark);
      if (at < first.first) first = {at, at + mark.size()};
    }
    return first;
  }

  /// Of the one that the text begins with; 0 where it begins with none.
  std::size_t length(std::string_view text) const noexcept {
    for (const std::string_view mark : marks_) {
      if (text.starts_with(mark)) return mark.size();
    }
    return 0;
  }

  /// Whether one begins with the text and is longer.
  bool may_begin(std::string_view text) const noexcept {
    return std::any_of(marks_.begin(), marks_.end(),
                       [&](std::string_view mark) { return mark.size() > text.size() && mark.starts_with(text); });
  }

  std::size_t longest() const noexcept {
    std::size_t longest = 0;
    for (const std::string_view mark : marks_) longest = std::max(longest, mark.size());
    return longest;
  }

 private:
  std::span<const std::string_view> marks_;
};

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
