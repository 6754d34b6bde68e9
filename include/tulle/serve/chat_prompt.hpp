// SPDX-License-Identifier: Apache-2.0
/// \file The messages of a chat request as the tokens of a prompt (L6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/serve/api_error.hpp>
#include <tulle/serve/reply.hpp>
#include <tulle/serve/request_fields.hpp>
#include <tulle/text/chat_message.hpp>
#include <tulle/text/render_chat.hpp>

namespace tulle::serve {

namespace detail {

/// A text, or a list of parts of which each is a text. Errors: ApiError 400 for anything else, such as images.
inline std::string content_text(const Json& content, const std::string& field) {
  if (content.is_null()) return {};
  if (content.is_string()) return content.get<std::string>();
  const auto refuse = [&](const std::string& why) { throw ApiError(400, "\"" + field + "\" " + why, field); };
  if (!content.is_array()) refuse("must be a text or a list of parts");
  std::string text;
  for (const Json& part : content) {
    if (part.is_string()) {
      text += part.get_ref<const std::string&>();
      continue;
    }
    if (!part.is_object() || !part.contains("text") || !part["text"].is_string()) {
      refuse("holds a part that is no text; this model reads text alone");
    }
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

inline ChatMessage chat_message(const Json& message, const std::string& field) {
  if (!message.is_object())
    throw ApiError(400, "\"" + field + "\" must hold objects with \"role\" and \"content\"", field);
  const RequestFields fields(message);
  ChatMessage result{fields.text("role", ""), {}};
  if (result.role.empty()) throw ApiError(400, "a message of \"" + field + "\" has no \"role\"", field);
  if (result.role == "developer") result.role = "system";  // OpenAI's newer name
  const Json* content = fields.find("content");
  result.content = content_text(content == nullptr ? Json(nullptr) : *content, field);
  return result;
}

}  // namespace detail

/// The messages in `field`: a list, one message, or a text, which is the user's. Errors: ApiError 400.
inline std::vector<ChatMessage> read_messages(const RequestFields& fields, const std::string& field) {
  const Json* messages = fields.find(field);
  if (messages == nullptr) throw ApiError(400, "\"" + field + "\" is missing", field);
  std::vector<ChatMessage> result;
  if (messages->is_string()) {
    result.push_back({"user", messages->get<std::string>()});
  } else if (messages->is_object()) {
    result.push_back(detail::chat_message(*messages, field));
  } else if (messages->is_array()) {
    for (const Json& message : *messages) result.push_back(detail::chat_message(message, field));
  }
  if (result.empty()) throw ApiError(400, "\"" + field + "\" must be a list of messages, and not empty", field);
  return result;
}

struct ChatPrompt {
  std::string text;
  std::vector<Token> tokens;
  bool continues = false;  ///< it ends within a message
};

/// The prompt that the model's chat template makes of messages and further variables, a JSON object as text; ChatML
/// where it has none. Errors: those of `render_chat`.
inline ChatPrompt chat_prompt(const ServedModel& model, const std::vector<ChatMessage>& messages,
                              bool add_generation_prompt, const std::string& variables = "{}") {
  std::string text;
  if (!model.chat_template.empty()) {
    text = render_chat(model.chat_template, model.tokenizer, messages, add_generation_prompt, variables);
    return {text, model.tokenizer.encode(text)};
  }
  for (const ChatMessage& message : messages) {
    text += "<|im_start|>" + message.role + "\n" + message.content + "<|im_end|>\n";
  }
  if (add_generation_prompt) text += "<|im_start|>assistant\n";
  return {text, model.tokenizer.encode(text, {.add_special_tokens = true})};
}

/// The prompt that ends within its last message, which the text goes on with. Errors: those of `chat_prompt`; ApiError
/// 400 for a template that does not show the message as it is.
inline ChatPrompt continued_prompt(const ServedModel& model, std::vector<ChatMessage> messages,
                                   const std::string& variables = "{}") {
  std::string& last = messages.back().content;  // templates may take white space around it away
  last.erase(last.find_last_not_of(" \t\r\n") + 1);
  last.erase(0, last.find_first_not_of(" \t\r\n"));
  if (last.empty()) {
    messages.pop_back();
    return chat_prompt(model, messages, true, variables);
  }
  // What a template writes behind the message may hold the message's own text too: "<".
  static constexpr std::string_view mark = "end-of-the-message-that-goes-on";
  const std::string begun = last;
  last += mark;
  ChatPrompt prompt = chat_prompt(model, messages, false, variables);
  const std::size_t at = prompt.text.rfind(mark);
  if (at == std::string::npos || !std::string_view(prompt.text).substr(0, at).ends_with(begun)) {
    throw ApiError(
        400, "the chat template of this model does not show the last message as it is, so no text can continue it",
        "messages");
  }
  prompt.text.resize(at);
  prompt.continues = true;
  prompt.tokens = model.tokenizer.encode(prompt.text, {.add_special_tokens = model.chat_template.empty()});
  return prompt;
}

}  // namespace tulle::serve
