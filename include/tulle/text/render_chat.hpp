// SPDX-License-Identifier: Apache-2.0
/// \file A conversation as the text that a model was trained on (L2, text).
#pragma once

#include <span>
#include <string>

#include <tulle/core/json.hpp>
#include <tulle/text/chat_message.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// The prompt that a model's chat template `source` makes of messages, with its tokenizer's special tokens.
/// `variables`: further variables of the template, a JSON object as text ({"enable_thinking": false}). Templates see the
/// members of objects in the order in which they were written, as in Python; in WebAssembly in that of their names.
/// Errors: unsupported for an empty template, malformed for one that cannot be read, invalid_argument for messages or
/// variables it refuses.
std::string render_chat(const std::string& source, const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                        bool add_generation_prompt, const std::string& variables = "{}");

/// The same of messages with any fields, a JSON array of objects, and of variables as an object.
std::string render_json_chat(const std::string& source, const Tokenizer& tokenizer, const OrderedJson& messages,
                             bool add_generation_prompt, OrderedJson variables);

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/text/render_chat_inline.hpp>
#endif
