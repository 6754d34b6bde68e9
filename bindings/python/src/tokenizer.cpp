// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include <tulle/text/render_chat.hpp>
#include <tulle/text/tokenizer.hpp>

#include "bindings.hpp"
#include "gil.hpp"

namespace tulle::python {

namespace {

std::vector<Token> encode(const Tokenizer& tokenizer, const std::string& text, bool add_special_tokens) {
  const WithoutGil released;
  return tokenizer.encode(text, {.add_special_tokens = add_special_tokens});
}

std::string decode(const Tokenizer& tokenizer, const std::vector<Token>& tokens, bool skip_special_tokens) {
  const WithoutGil released;
  return tokenizer.decode(tokens, skip_special_tokens);
}

/// Messages are pairs of role and content.
std::string chat_prompt(const Tokenizer& tokenizer, const std::string& source,
                        const std::vector<std::pair<std::string, std::string>>& messages, bool add_generation_prompt) {
  std::vector<ChatMessage> conversation;
  for (const auto& [role, content] : messages) conversation.push_back({role, content});
  return render_chat(source, tokenizer, conversation, add_generation_prompt);
}

}  // namespace

void bind_tokenizer(nb::module_& module) {
  nb::class_<Tokenizer>(module, "Tokenizer")
      .def("encode", &encode, nb::arg("text"), nb::arg("add_special_tokens"))
      .def("decode", &decode, nb::arg("tokens"), nb::arg("skip_special_tokens"))
      .def("chat_prompt", &chat_prompt, nb::arg("source"), nb::arg("messages"), nb::arg("add_generation_prompt"))
      .def(
          "find", [](const Tokenizer& tokenizer, const std::string& text) { return tokenizer.find(text); },
          nb::arg("text"))
      .def(
          "piece",
          [](const Tokenizer& tokenizer, Token token) {
            const std::string bytes = tokenizer.piece(token);
            return nb::bytes(bytes.data(), bytes.size());
          },
          nb::arg("token"))
      .def_prop_ro("vocabulary_size", &Tokenizer::vocabulary_size)
      .def_prop_ro("bos_token_id", &Tokenizer::bos_token)
      .def_prop_ro("eos_token_id", &Tokenizer::eos_token);
}

}  // namespace tulle::python
