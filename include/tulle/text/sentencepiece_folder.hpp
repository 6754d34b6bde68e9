// SPDX-License-Identifier: Apache-2.0
/// \file The files beside a sentencepiece .model file: tokens that it lacks, and their roles (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <tulle/text/sentencepiece_options.hpp>
#include <tulle/text/vocab_merges.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {

/// `config` is tokenizer_config.json, `added_tokens` added_tokens.json; both may be null. Errors: malformed.
inline SentencePieceOptions sentencepiece_options(const Json& config, const Json& added_tokens,
                                                  std::string_view where) {
  const Json known = config.is_object() ? config : Json::object();
  SentencePieceOptions options;
  options.add_bos = json_value(known, "add_bos_token", true, where);
  options.add_eos = json_value(known, "add_eos_token", false, where);
  options.bos = detail::configured_token(known, "bos_token", where);
  options.eos = detail::configured_token(known, "eos_token", where);
  options.added_tokens =
      detail::configured_added_tokens(known, added_tokens, detail::special_contents(known, where), where).take();
  return options;
}

/// Gives the vocabulary of a .model file what the options say. Its control and unknown pieces stay what they are.
/// Errors: malformed for ids that are too large.
inline void apply_options(const SentencePieceOptions& options, VocabularySpec& spec) {
  spec.add_bos = options.add_bos;
  spec.add_eos = options.add_eos;
  spec.model_tokens = spec.tokens.size();
  for (const AddedToken& token : options.added_tokens) {
    const auto id = static_cast<std::size_t>(token.id);
    if (id >= Vocabulary::largest_size)
      fail(ErrorCode::malformed, spec.where, ": an added token has the id ", token.id);
    if (id >= spec.tokens.size()) {
      spec.tokens.resize(id + 1);
      spec.scores.resize(id + 1);
      spec.types.resize(id + 1, VocabularySpec::unused);
    }
    if (spec.types[id] == VocabularySpec::control || spec.types[id] == VocabularySpec::unknown) continue;
    spec.tokens[id] = token.content;
    spec.types[id] = token.special ? VocabularySpec::control : VocabularySpec::user_defined;
    detail::add_flags(spec, token);
  }
  const auto choose = [&](std::optional<Token>& role, const std::optional<std::string>& content) {
    const auto found = content ? std::find(spec.tokens.begin(), spec.tokens.end(), *content) : spec.tokens.end();
    if (found != spec.tokens.end()) role = static_cast<Token>(found - spec.tokens.begin());
  };
  choose(spec.bos, options.bos);
  choose(spec.eos, options.eos);
}

}  // namespace tulle
