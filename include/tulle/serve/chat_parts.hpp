// SPDX-License-Identifier: Apache-2.0
/// \file The text of an answer in parts: what is said, thought and called (L6).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/generate/generation_options.hpp>
#include <tulle/generate/reasoning_splitter.hpp>
#include <tulle/generate/tool_call_splitter.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle::serve {

/// Whether the token of an event is the special token that ended the text.
inline bool is_end(const Tokenizer& tokenizer, const TextPiece& piece) {
  return piece.finish_reason == FinishReason::stop && piece.token >= 0 && tokenizer.is_special(piece.token);
}

/// A finished text as one event.
inline TextPiece whole_piece(const FinishedText& text) {
  TextPiece piece = text.events.empty() ? TextPiece{} : text.events.back().piece;
  piece.text = text.text;
  piece.finish_reason = text.finish_reason;
  return piece;
}

/// One part of the answer to a chat request: what is said, thought and called.
class ChatParts {
 public:
  struct Parts {
    std::string reasoning, text;
    std::vector<ToolCallSplitter::Call> calls;
  };

  std::optional<ReasoningSplitter> reasoning;  ///< where that is given apart
  std::optional<ToolCallSplitter> tools;       ///< where there are tools
  bool single_call = false;                    ///< of several calls the first counts
  bool has_special_tokens = false;             ///< in its text, of which the one that ends it is no part

  /// The parts of the next event.
  Parts next(const Tokenizer& tokenizer, const TextPiece& event) {
    const bool last = event.finish_reason != FinishReason::none;
    std::string piece = event.text;
    if (has_special_tokens && is_end(tokenizer, event)) {
      const std::string end = tokenizer.piece(event.token);
      if (piece.ends_with(end)) piece.resize(piece.size() - end.size());
    }
    Parts parts;
    const auto take_text = [&](const std::string& text) {
      if (tools) {
        add(tools->next(text), parts);
      } else {
        parts.text += text;
      }
    };
    const auto take = [&](const ReasoningSplitter::Parts& split) {
      parts.reasoning += split.reasoning;
      take_text(split.answer);
    };
    if (reasoning) {
      take(reasoning->next(piece));
      if (last) take(reasoning->finish());
    } else {
      take_text(piece);
    }
    if (last && tools) add(tools->finish(), parts);
    return parts;
  }

  /// Chat templates of Mistral's models refuse any id that is not nine letters and digits.
  std::string new_call_id() const {
    return tools && tools->format() == ToolCallFormat::brackets ? new_id("", 9) : new_id("call_");
  }

  /// OpenAI's name of why a text ended.
  Json finish_reason(FinishReason reason) const {
    const bool called = tools && tools->calls() != 0 && !tools->in_call() && finish_reason_json(reason) == "stop";
    return called ? Json("tool_calls") : finish_reason_json(reason);
  }

 private:
  void add(ToolCallSplitter::Parts more, Parts& parts) const {
    parts.text += more.text;
    for (ToolCallSplitter::Call& call : more.calls) {
      if (single_call && call.index != 0) continue;
      parts.calls.push_back(std::move(call));
    }
  }
};

/// Whether a prompt ends with the mark in front of what the model thinks, so that its text begins within the block.
inline bool opens_reasoning(std::string_view prompt, ReasoningFormat format) noexcept {
  return prompt.substr(0, prompt.find_last_not_of(" \n") + 1).ends_with(reasoning_opening(format));
}

/// Lets what the model thinks be a part. Marks that are special tokens stay in the text then.
inline void split_reasoning(ChatParts& parts, ReasoningFormat format, std::string_view prompt,
                            GenerationOptions& options) {
  // A text that must be JSON or a call cannot leave the block that the prompt has opened: it is the answer.
  parts.reasoning.emplace(format, !options.sampling.constraint && opens_reasoning(prompt, format));
  if (!has_special_marks(format)) return;
  options.skip_special_tokens = false;
  parts.has_special_tokens = true;
}

/// The parts of an answer in an API that knows no reasoning: where its marks are special tokens, which a text would
/// lose, it is left out.
inline ChatParts answer_alone(const ServedModel& model, std::string_view prompt, GenerationOptions& options) {
  ChatParts parts;
  const ReasoningFormat format = reasoning_format(model.chat_template);
  if (has_special_marks(format)) split_reasoning(parts, format, prompt, options);
  return parts;
}

}  // namespace tulle::serve
