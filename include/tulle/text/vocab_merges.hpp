// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers from vocab.json and merges.txt, the older form of the GPT-2 family (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
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
  std::vector<std::string> special = special_contents(config, where);
  if (special.empty()) special.emplace_back("<|endoftext|>");  // GPT-2's one
  AddedTokenList list = configured_added_tokens(config, added_tokens, special, where);
  list.add_special(special, vocabulary);
  std::vector<AddedToken> added = list.take();

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
