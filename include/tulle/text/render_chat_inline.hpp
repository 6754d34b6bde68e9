// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for render_chat.hpp (L2, text).
#pragma once

#include <optional>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/chat_template.hpp>
#include <tulle/text/render_chat.hpp>

namespace tulle {

TULLE_INLINE std::string render_chat(const std::string& source, const Tokenizer& tokenizer,
                                     std::span<const ChatMessage> messages, bool add_generation_prompt,
                                     const std::string& variables) {
  if (source.empty()) fail(ErrorCode::unsupported, "this model has no chat template; use plain prompts");
  const auto content = [&](std::optional<Token> token) { return token ? tokenizer.piece(*token) : std::string(); };
  Json context = parse_json(variables, "variables of a chat template");
  if (!context.is_object()) fail(ErrorCode::invalid_argument, "variables of a chat template: not a JSON object");
  context["add_generation_prompt"] = add_generation_prompt;
  context["bos_token"] = content(tokenizer.bos_token());
  context["eos_token"] = content(tokenizer.eos_token());
  return ChatTemplate(source).render(messages, context);
}

}  // namespace tulle
