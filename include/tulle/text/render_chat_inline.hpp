// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for render_chat.hpp (L2, text).
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/chat_template.hpp>
#include <tulle/text/render_chat.hpp>

namespace tulle {

namespace detail {

template <class AnyJson>
AnyJson template_variables(const std::string& text) {
  constexpr const char* where = "variables of a chat template";
  if constexpr (std::is_same_v<AnyJson, Json>)
    return parse_json(text, where);
  else
    return parse_ordered_json(text, where);
}

template <class AnyJson>
std::string render_chat_of(const std::string& source, const Tokenizer& tokenizer, const AnyJson& messages,
                           bool add_generation_prompt, AnyJson variables) {
  if (source.empty()) fail(ErrorCode::unsupported, "this model has no chat template; use plain prompts");
  if (!variables.is_object()) fail(ErrorCode::invalid_argument, "variables of a chat template: not a JSON object");
  const auto content = [&](std::optional<Token> token) { return token ? tokenizer.piece(*token) : std::string(); };
  variables["add_generation_prompt"] = add_generation_prompt;
  variables["bos_token"] = content(tokenizer.bos_token());
  variables["eos_token"] = content(tokenizer.eos_token());
  return ChatTemplate(source).render(messages, variables);
}

}  // namespace detail

TULLE_INLINE std::string render_json_chat(const std::string& source, const Tokenizer& tokenizer,
                                          const OrderedJson& messages, bool add_generation_prompt,
                                          OrderedJson variables) {
  return detail::render_chat_of(source, tokenizer, messages, add_generation_prompt, std::move(variables));
}

TULLE_INLINE std::string render_chat(const std::string& source, const Tokenizer& tokenizer,
                                     std::span<const ChatMessage> messages, bool add_generation_prompt,
                                     const std::string& variables) {
  using AnyJson = std::conditional_t<is_web, Json, OrderedJson>;  // the second kind costs WebAssembly's modules 4 kB
  AnyJson list = AnyJson::array();
  for (const ChatMessage& message : messages) list.push_back({{"role", message.role}, {"content", message.content}});
  return detail::render_chat_of(source, tokenizer, list, add_generation_prompt,
                                detail::template_variables<AnyJson>(variables));
}

}  // namespace tulle
