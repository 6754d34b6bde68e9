// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for render_chat.hpp (L2, text).
#pragma once

#include <optional>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/text/chat_template.hpp>
#include <tulle/text/render_chat.hpp>

namespace tulle {

TULLE_INLINE std::string render_chat(const std::string& source, const Tokenizer& tokenizer,
                                     std::span<const ChatMessage> messages, bool add_generation_prompt) {
  if (source.empty()) fail(ErrorCode::unsupported, "this model has no chat template; use plain prompts");
  const auto content = [&](std::optional<Token> token) { return token ? tokenizer.piece(*token) : std::string(); };
  return ChatTemplate(source).render(messages, add_generation_prompt, content(tokenizer.bos_token()),
                                     content(tokenizer.eos_token()));
}

}  // namespace tulle
