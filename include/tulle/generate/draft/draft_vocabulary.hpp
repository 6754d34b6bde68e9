// SPDX-License-Identifier: Apache-2.0
/// \file Which models can draft for a model: those with its tokens and without parts of its own for that (L4).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/tokenizer.hpp>

namespace tulle {

/// Tokens are passed on by their ids, so each id must be the same text in both models. Special tokens may differ (a
/// base model and its chat version), and padding at the end of the vocabulary, up to 128 ids.
/// Errors: invalid_argument, with the first difference; `draft_name` names the draft model.
inline void require_same_vocabulary(const Tokenizer& target, const Tokenizer& draft, std::string_view draft_name) {
  constexpr std::size_t max_padding = 128;
  const std::size_t ours = target.vocabulary_size(), theirs = draft.vocabulary_size();
  const std::size_t common = std::min(ours, theirs);
  for (std::size_t id = 0; id < common; ++id) {
    const auto token = static_cast<Token>(id);
    if (target.is_special(token) && draft.is_special(token)) continue;
    const std::string ours_text = target.piece(token), theirs_text = draft.piece(token);
    if (ours_text == theirs_text) continue;
    const auto shown = [](const std::string& text) {  // which may be a part of a code point
      return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
    };
    fail(ErrorCode::invalid_argument, "the draft model ", draft_name, " has another vocabulary: token ", id, " is ",
         shown(theirs_text), " there and ", shown(ours_text),
         " in the model; take a draft model of the same family, \"ngram\" or \"self:KERNEL\"");
  }
  if (std::max(ours, theirs) - common > max_padding) {
    fail(ErrorCode::invalid_argument, "the draft model ", draft_name, " has another vocabulary: it has ", theirs,
         " tokens and the model ", ours, "; take a draft model of the same family, \"ngram\" or \"self:KERNEL\"");
  }
}

/// Errors: unsupported for a config of draft heads (EAGLE, Medusa, MTP and the like): they read hidden states of their
/// target and are no models of text.
inline void refuse_draft_heads(const Json& config, std::string_view where) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kinds{
      {{"eagle", "an EAGLE head"},
       {"medusa", "Medusa heads"},
       {"mlp_speculator", "an MLP speculator"},
       {"mtp", "a multi-token prediction head"},
       {"hydra", "Hydra heads"}}};
  const auto refuse = [&](std::string_view what) {
    fail(ErrorCode::unsupported, where, " is ", what, ", which reads the hidden states of its model; this library ",
         "drafts with whole models: give a smaller model of the family, \"ngram\" or \"self:KERNEL\"");
  };
  const auto check = [&](const Json& value) {
    if (!value.is_string()) return;
    std::string name = value.get<std::string>();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    for (const auto& [part, what] : kinds) {
      if (name.find(part) != std::string::npos) refuse(what);
    }
  };
  if (!config.is_object()) return;
  if (config.contains("model_type")) check(config["model_type"]);
  if (config.contains("architectures") && config["architectures"].is_array()) {
    for (const Json& name : config["architectures"]) check(name);
  }
  if (config.contains("speculators_model_type")) refuse("a speculator");
  if (config.contains("medusa_num_heads")) refuse("Medusa heads");
}

}  // namespace tulle
