// SPDX-License-Identifier: Apache-2.0
/// \file Text to tokens and back, and chat prompts.
#include <span>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "guard.hpp"
#include "model.hpp"

using namespace tulle;
using namespace tulle::capi;

extern "C" {

int32_t tulle_encode(const tulle_model* model, const char* text, size_t text_size, uint32_t flags, int32_t* tokens,
                     size_t capacity, size_t* size, tulle_error* error) {
  return guarded(error, [&] {
    const auto loaded = model_of(model);
    check_flags(flags, TULLE_ADD_SPECIAL_TOKENS | TULLE_PLAIN_TEXT);
    EncodeOptions options;
    options.add_special_tokens = (flags & TULLE_ADD_SPECIAL_TOKENS) != 0;
    options.parse_special_tokens = (flags & TULLE_PLAIN_TEXT) == 0;
    const std::vector<Token> encoded = loaded->tokenizer->encode(read_text(text, text_size, "the text"), options);
    return write_array(std::span(encoded), tokens, capacity, size);
  });
}

int32_t tulle_decode(const tulle_model* model, const int32_t* tokens, size_t count, uint32_t flags, char* text,
                     size_t capacity, size_t* size, tulle_error* error) {
  return guarded(error, [&] {
    const auto loaded = model_of(model);
    check_flags(flags, TULLE_SKIP_SPECIAL_TOKENS);
    const std::size_t vocabulary = loaded->model->architecture().vocabulary;
    const auto ids = read_array(tokens, count, "tokens");
    for (const Token id : ids) {
      if (id < 0 || static_cast<std::size_t>(id) >= vocabulary) {
        fail(ErrorCode::invalid_argument, "token ", id, " is outside the model's vocabulary of ", vocabulary);
      }
    }
    return write_text(loaded->tokenizer->decode(ids, (flags & TULLE_SKIP_SPECIAL_TOKENS) != 0), text, capacity, size);
  });
}

int32_t tulle_chat_prompt(const tulle_model* model, const tulle_message* messages, size_t count, uint32_t flags,
                          char* text, size_t capacity, size_t* size, tulle_error* error) {
  return guarded(error, [&] {
    const auto loaded = model_of(model);
    check_flags(flags, TULLE_ADD_GENERATION_PROMPT);
    std::vector<ChatMessage> conversation;
    for (const tulle_message& message : read_array(messages, count, "messages")) {
      conversation.push_back({std::string(read_text(message.role, "a message's role")),
                              std::string(read_text(message.content, "a message's content"))});
    }
    return write_text(render_chat(loaded->chat_template, *loaded->tokenizer, conversation,
                                  (flags & TULLE_ADD_GENERATION_PROMPT) != 0),
                      text, capacity, size);
  });
}

}  // extern "C"
