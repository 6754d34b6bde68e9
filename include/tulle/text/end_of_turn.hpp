// SPDX-License-Identifier: Apache-2.0
/// \file The token that ends an assistant's turn in a conversation (L2, text).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/chat_message.hpp>
#include <tulle/text/render_chat.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// The special token with which a chat template ends an assistant's turn, which need not be the model's end of text;
/// that of ChatML for an empty template. None for a template that refuses a question and an answer.
inline std::optional<Token> end_of_turn(const std::string& chat_template, const Tokenizer& tokenizer) {
  const std::string answer = "end of turn";
  std::string end = "<|im_end|>";
  if (!chat_template.empty()) {
    const std::vector<ChatMessage> messages{{"user", "?"}, {"assistant", answer}};
    try {
      end = render_chat(chat_template, tokenizer, messages, false);
    } catch (const Error&) {
      return std::nullopt;
    }
    const std::size_t at = end.rfind(answer);
    if (at == std::string::npos) return std::nullopt;
    end.erase(0, at + answer.size());
  }
  for (const Token token : tokenizer.encode(end)) {
    if (tokenizer.is_special(token)) return token;
  }
  return std::nullopt;
}

}  // namespace tulle
