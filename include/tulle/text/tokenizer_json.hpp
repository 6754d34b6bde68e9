// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers from Hugging Face's tokenizer.json (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/pipeline_json.hpp>
#include <tulle/text/pipeline_tokenizer.hpp>

namespace tulle {
namespace detail {

/// The string of "bos_token" and the like in tokenizer_config.json: a string, or an object with "content".
inline std::optional<std::string> configured_token(const Json& config, const char* key, std::string_view where) {
  if (!config.is_object() || !config.contains(key) || config[key].is_null()) return std::nullopt;
  const Json& value = config[key];
  if (value.is_string()) return value.get<std::string>();
  return required<std::string>(value, "content", where);
}

/// One element of "added_tokens".
inline AddedToken added_token_from_json(const Json& json, Token id, std::string_view where) {
  AddedToken token;
  token.content = required<std::string>(json, "content", where);
  token.id = id;
  token.special = json_value(json, "special", false, where);
  token.normalized = json_value(json, "normalized", !token.special, where);
  token.lstrip = json_value(json, "lstrip", false, where);
  token.rstrip = json_value(json, "rstrip", false, where);
  token.single_word = json_value(json, "single_word", false, where);
  if (id < 0 || static_cast<std::size_t>(id) >= Vocabulary::largest_size) {
    fail(ErrorCode::malformed, where, ": added token \"", token.content, "\" has the impossible id ", id);
  }
  return token;
}

inline std::vector<std::pair<std::string, Token>> vocabulary_entries(const Json& vocabulary, std::string_view where) {
  if (!vocabulary.is_object()) fail(ErrorCode::malformed, where, ": \"vocab\" is not an object of token: id");
  std::vector<std::pair<std::string, Token>> entries;
  entries.reserve(vocabulary.size());
  for (const auto& [content, id] : vocabulary.items()) {
    entries.emplace_back(content, to_token(id, where));
  }
  return entries;
}

/// "merges": each "a b" or ["a", "b"]; the rank is the place in the list.
inline std::vector<BytePairEncoder::Merge> merges_from_json(const Json& merges, std::string_view where) {
  if (!merges.is_array()) fail(ErrorCode::malformed, where, ": \"merges\" is not an array");
  std::vector<BytePairEncoder::Merge> result;
  result.reserve(merges.size());
  for (const Json& merge : merges) {
    const auto rank = static_cast<std::uint32_t>(result.size());
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      result.push_back({merge[0].get<std::string>(), merge[1].get<std::string>(), rank});
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : std::string();
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      fail(ErrorCode::malformed, where, ": merge ", rank, " is not two tokens");
    }
    result.push_back({text.substr(0, space), text.substr(space + 1), rank});
  }
  return result;
}

/// "model": only byte-pair encoding.
inline BytePairEncoder encoder_from_json(const Json& model, const Vocabulary& vocabulary, std::string_view where) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!json_value(model, key, std::string(), where).empty()) {
      fail(ErrorCode::unsupported, where, ": \"", key, "\" of the model is not supported");
    }
  }
  if (json_value(model, "dropout", 0.0, where) != 0.0) {
    fail(ErrorCode::unsupported, where,
         ": a tokenizer with dropout gives other tokens each time; set \"dropout\" to null");
  }
  BytePairOptions options;
  options.byte_fallback = json_value(model, "byte_fallback", false, where);
  options.fuse_unknown = json_value(model, "fuse_unk", false, where);
  options.ignore_merges = json_value(model, "ignore_merges", false, where);
  const std::string unknown = json_value(model, "unk_token", std::string(), where);
  if (!unknown.empty()) {
    options.unknown = vocabulary.find(unknown);
    if (!options.unknown) fail(ErrorCode::malformed, where, ": unk_token \"", unknown, "\" is not in the vocabulary");
  }
  return BytePairEncoder(vocabulary, merges_from_json(member(model, "merges", where), where), options, where);
}

/// The tokens that tokenizer_config.json gives a role, and its lists of special tokens.
inline std::vector<std::string> special_contents(const Json& config, std::string_view where) {
  std::vector<std::string> contents;
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    if (std::optional<std::string> content = configured_token(config, key, where)) {
      contents.push_back(std::move(*content));
    }
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    for (const Json& each : section(config, key)) {
      const Json& content = each.is_object() ? section(each, "content") : each;
      if (content.is_string()) contents.push_back(content.get<std::string>());
    }
  }
  return contents;
}

/// Of tokens with equal contents the first stays.
class AddedTokenList {
 public:
  void add(AddedToken token) {
    if (contents_.insert(token.content).second) tokens_.push_back(std::move(token));
  }
  /// Special tokens of the vocabulary.
  void add_special(const std::vector<std::string>& contents, const Vocabulary& vocabulary) {
    for (const std::string& content : contents) {
      if (const std::optional<Token> id = vocabulary.find(content)) add({content, *id, true, false});
    }
  }
  std::vector<AddedToken> take() { return std::move(tokens_); }

 private:
  std::vector<AddedToken> tokens_;
  std::set<std::string> contents_;
};

/// "added_tokens_decoder" of tokenizer_config.json, whose tokens have the most flags, then added_tokens.json (content to id),
/// where `special` says which are special.
inline AddedTokenList configured_added_tokens(const Json& config, const Json& added_tokens,
                                              const std::vector<std::string>& special, std::string_view where) {
  AddedTokenList added;
  if (const Json& list = section(config, "added_tokens_decoder"); list.is_object()) {
    for (const auto& [id, json] : list.items()) {
      const bool is_number = !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number) fail(ErrorCode::malformed, where, ": \"added_tokens_decoder\" has the key \"", id, "\"");
      added.add(added_token_from_json(json, std::stoi(id), where));
    }
  }
  if (added_tokens.is_object()) {
    for (const auto& [content, id] : added_tokens.items()) {
      const bool is_special = std::find(special.begin(), special.end(), content) != special.end();
      added.add({content, to_token(id, where), is_special, !is_special});
    }
  }
  return added;
}

}  // namespace detail

/// Builds the pipeline that the file describes. `tokenizer_config` is tokenizer_config.json, or null: it names the
/// tokens that begin and end a text. "truncation" and "padding" are not applied.
/// Errors: malformed; unsupported, with the kind that is supported; `where` names the file.
inline std::unique_ptr<Tokenizer> tokenizer_from_json(const Json& tokenizer_json, const Json& tokenizer_config,
                                                      std::string_view where) {
  using namespace detail;
  const Json& model = member(tokenizer_json, "model", where);
  const std::string kind = json_value(model, "type", std::string("BPE"), where);
  if (kind != "BPE") {
    fail(ErrorCode::unsupported, where, ": the model is ", kind, "; only BPE is supported here (for Unigram, give the ",
         "sentencepiece .model file)");
  }
  Vocabulary vocabulary(vocabulary_entries(member(model, "vocab", where), where), where);

  AddedTokenList added;
  // As in `tokenizers`: an added token that is in the vocabulary has the vocabulary's id.
  const auto add = [&](AddedToken token) {
    token.id = vocabulary.find(token.content).value_or(token.id);
    if (!token.content.empty()) added.add(std::move(token));
  };
  if (const Json& list = section(tokenizer_json, "added_tokens"); !list.is_null()) {
    if (!list.is_array()) fail(ErrorCode::malformed, where, ": \"added_tokens\" is not an array");
    for (const Json& json : list) {
      add(added_token_from_json(json, to_token(member(json, "id", where), where), where));
    }
  }
  // As in transformers: those that only tokenizer_config.json knows are found in the text too.
  for (AddedToken& token : configured_added_tokens(tokenizer_config, Json(), {}, where).take()) add(std::move(token));
  added.add_special(special_contents(tokenizer_config, where), vocabulary);

  BytePairEncoder encoder = encoder_from_json(model, vocabulary, where);
  Pipeline pipeline{std::move(vocabulary),
                    added.take(),
                    normalizer_from_json(section(tokenizer_json, "normalizer"), where),
                    pre_tokenizer_from_json(section(tokenizer_json, "pre_tokenizer"), where),
                    std::move(encoder),
                    token_decoder_from_json(section(tokenizer_json, "decoder"), where)};
  add_template(section(tokenizer_json, "post_processor"), pipeline, where);

  const auto configured = [&](const char* key) -> std::optional<Token> {
    const std::optional<std::string> content = configured_token(tokenizer_config, key, where);
    if (!content) return std::nullopt;
    for (const AddedToken& token : pipeline.added_tokens) {
      if (token.content == *content) return token.id;
    }
    return pipeline.vocabulary.find(*content);
  };
  pipeline.bos = configured("bos_token");
  pipeline.eos = configured("eos_token");
  return std::make_unique<PipelineTokenizer>(std::move(pipeline));
}

}  // namespace tulle
