// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers from vocab.json and merges.txt, the older form of the GPT-2 family (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/tokenizer_json.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {
namespace detail {

/// One merge a line, after an optional "#version" line.
inline std::vector<std::string> merge_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with("#version")) lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The tokens that tokenizer_config.json gives a role; without it, GPT-2's one.
inline std::set<std::string> special_contents(const Json& config, std::string_view where) {
  std::set<std::string> contents;
  for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    if (std::optional<std::string> content = configured_token(config, key, where)) contents.insert(std::move(*content));
  }
  if (contents.empty()) contents.insert("<|endoftext|>");
  return contents;
}

/// "added_tokens_decoder" of tokenizer_config.json, then added_tokens.json (content to id): of equal contents the first has
/// the most flags, so it is kept.
inline std::vector<AddedToken> configured_added_tokens(const Json& config, const Json& added_tokens,
                                                       const std::set<std::string>& special, std::string_view where) {
  std::vector<AddedToken> added;
  const auto add = [&added](AddedToken token) {
    const auto is_same = [&token](const AddedToken& other) { return other.content == token.content; };
    if (std::none_of(added.begin(), added.end(), is_same)) added.push_back(std::move(token));
  };
  if (const Json& list = section(config, "added_tokens_decoder"); list.is_object()) {
    for (const auto& [id, json] : list.items()) {
      const bool is_number = !id.empty() && id.size() < 9 && id.find_first_not_of("0123456789") == std::string::npos;
      if (!is_number) fail(ErrorCode::malformed, where, ": \"added_tokens_decoder\" has the key \"", id, "\"");
      add(added_token_from_json(json, std::stoi(id), where));
    }
  }
  if (added_tokens.is_object()) {
    for (const auto& [content, id] : added_tokens.items()) {
      const bool is_special = special.contains(content);
      add({content, to_token(id, where), is_special, !is_special});
    }
  }
  return added;
}

}  // namespace detail

/// `vocab` is vocab.json, `merges` the text of merges.txt; `added_tokens` (added_tokens.json: content to id) and
/// `tokenizer_config` (tokenizer_config.json, with "added_tokens_decoder" in newer folders) may be null.
/// Errors: malformed; unsupported for a "tokenizer_class" of another family; `where` names the folder.
inline std::unique_ptr<Tokenizer> tokenizer_from_vocab_merges(const Json& vocab, std::string_view merges,
                                                              const Json& added_tokens, const Json& tokenizer_config,
                                                              std::string_view where) {
  using namespace detail;
  const Json config = tokenizer_config.is_object() ? tokenizer_config : Json::object();
  std::string family = json_value(config, "tokenizer_class", std::string("GPT2Tokenizer"), where);
  if (family.ends_with("Fast")) family.resize(family.size() - 4);
  if (family != "GPT2Tokenizer" && family != "CodeGenTokenizer" && family != "Qwen2Tokenizer") {
    fail(ErrorCode::unsupported, where, ": vocab.json and merges.txt of a ", family, " need its tokenizer.json");
  }
  if (json_value(config, "add_prefix_space", false, where)) {
    fail(ErrorCode::unsupported, where, ": \"add_prefix_space\" without a tokenizer.json");
  }

  Vocabulary vocabulary(vocabulary_entries(vocab, where), where);
  const std::set<std::string> special = special_contents(config, where);
  std::vector<AddedToken> added = configured_added_tokens(config, added_tokens, special, where);
  for (const std::string& content : special) {
    const auto is_same = [&content](const AddedToken& other) { return other.content == content; };
    if (std::any_of(added.begin(), added.end(), is_same)) continue;
    if (const std::optional<Token> id = vocabulary.find(content)) added.push_back({content, *id, true, false});
  }

  const auto role = [&](const char* key) -> std::optional<Token> {
    const std::string content = configured_token(config, key, where).value_or("<|endoftext|>");
    const auto found = std::find_if(added.begin(), added.end(),
                                    [&content](const AddedToken& token) { return token.content == content; });
    return found == added.end() ? std::nullopt : std::optional(found->id);
  };
  const std::optional<Token> bos = role("bos_token"), eos = role("eos_token");
  Pipeline pipeline =
      byte_level_pipeline(std::move(vocabulary), split_merges(merge_lines(merges), where), std::move(added),
                          find_pre_tokenizer(family == "Qwen2Tokenizer" ? "qwen2" : "gpt-2", where), where);
  pipeline.bos = bos;
  pipeline.eos = eos;
  if (bos && json_value(config, "add_bos_token", false, where)) pipeline.prefix.push_back(*bos);
  return std::make_unique<PipelineTokenizer>(std::move(pipeline));
}

}  // namespace tulle
