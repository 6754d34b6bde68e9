// SPDX-License-Identifier: Apache-2.0
/// \file Tokenizers from Mistral's tekken.json (L2).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/byte_level.hpp>
#include <tulle/text/pipeline_json.hpp>
#include <tulle/text/pipeline_tokenizer.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {
namespace detail {

/// Errors: malformed for text that is not base64 with its padding.
inline std::string from_base64(std::string_view text, std::string_view where) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits_of_text = text.substr(0, text.size() - padding);
  if (text.size() % 4 != 0 || digits_of_text.find_first_not_of(digits) != std::string_view::npos) {
    fail(ErrorCode::malformed, where, ": \"", text, "\" is not base64");
  }
  std::string bytes;
  std::uint32_t bits = 0;
  for (std::size_t at = 0; at < digits_of_text.size(); ++at) {
    const std::size_t digit = digits.find(text[at]);
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    if (at % 4 != 0) bytes += static_cast<char>(bits >> (6 - 2 * (at % 4)) & 0xFF);
  }
  return bytes;
}

/// The special tokens of files that list none (versions up to v7), as mistral_common has them.
inline constexpr std::array<std::string_view, 20> tekken_special_tokens{"<unk>",
                                                                        "<s>",
                                                                        "</s>",
                                                                        "[INST]",
                                                                        "[/INST]",
                                                                        "[AVAILABLE_TOOLS]",
                                                                        "[/AVAILABLE_TOOLS]",
                                                                        "[TOOL_RESULTS]",
                                                                        "[/TOOL_RESULTS]",
                                                                        "[TOOL_CALLS]",
                                                                        "[IMG]",
                                                                        "<pad>",
                                                                        "[IMG_BREAK]",
                                                                        "[IMG_END]",
                                                                        "[PREFIX]",
                                                                        "[MIDDLE]",
                                                                        "[SUFFIX]",
                                                                        "[SYSTEM_PROMPT]",
                                                                        "[/SYSTEM_PROMPT]",
                                                                        "[TOOL_CONTENT]"};

/// The tokens of a tekken.json by id: special ones, then bytes in the byte alphabet with minus their rank as score.
/// Errors: malformed.
inline VocabularySpec tekken_vocabulary(const Json& tekken, std::string_view where) {
  const Json& config = member(tekken, "config", where);
  const Json& vocabulary = member(tekken, "vocab", where);
  const auto size = required<std::size_t>(config, "default_vocab_size", where);
  const auto num_special = required<std::size_t>(config, "default_num_special_tokens", where);
  constexpr std::size_t max_special = 65536;  // real files have 1000, of which they list some
  if (!vocabulary.is_array() || num_special > std::min(size, max_special) || size - num_special > vocabulary.size() ||
      size > Vocabulary::largest_size) {
    fail(ErrorCode::malformed, where, ": ", vocabulary.size(), " entries in \"vocab\" for ", size, " tokens, ",
         num_special, " of them special");
  }
  VocabularySpec spec;
  spec.where = where;
  spec.model = "tekken";
  spec.types.assign(size, VocabularySpec::normal);
  std::fill_n(spec.types.begin(), num_special, VocabularySpec::control);
  spec.scores.assign(num_special, 0);
  const Json& special = section(tekken, "special_tokens");
  for (std::size_t id = 0; id < num_special; ++id) {
    const bool is_listed = special.is_array() ? id < special.size() : id < tekken_special_tokens.size();
    spec.tokens.push_back(!is_listed           ? "<SPECIAL_" + std::to_string(id) + ">"
                          : special.is_array() ? required<std::string>(special[id], "token_str", where)
                                               : std::string(tekken_special_tokens[id]));
  }
  for (std::size_t rank = 0; rank < size - num_special; ++rank) {
    if (required<std::size_t>(vocabulary[rank], "rank", where) != rank) {
      fail(ErrorCode::malformed, where, ": entry ", rank, " of \"vocab\" has another rank");
    }
    const std::string bytes = from_base64(required<std::string>(vocabulary[rank], "token_bytes", where), where);
    spec.tokens.push_back(to_byte_level(bytes));
    spec.scores.push_back(-static_cast<float>(rank));  // exact: below 2^24
  }
  return spec;
}

}  // namespace detail

/// Bytes merge as in tiktoken: the adjacent pair that is the token of lowest rank, leftmost first; a word that is a
/// token is taken whole.
/// Errors: malformed; `where` names the file.
inline std::unique_ptr<Tokenizer> tokenizer_from_tekken(const Json& tekken, std::string_view where) {
  using namespace detail;
  const VocabularySpec spec = tekken_vocabulary(tekken, where);
  check(spec);
  std::vector<std::pair<std::string, Token>> entries;  // a special token may have the text of another
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) {
    if (spec.types[id] == VocabularySpec::normal) entries.emplace_back(spec.tokens[id], static_cast<Token>(id));
  }
  Vocabulary vocabulary(entries, where);
  const std::vector<BytePairEncoder::Merge> merges = merges_by_score(spec, vocabulary);
  const auto pattern = required<std::string>(member(tekken, "config", where), "pattern", where);
  Pipeline pipeline = byte_level_pipeline(std::move(vocabulary), merges, added_tokens_of(spec),
                                          {.names = {}, .patterns = {pattern}, .ignore_merges = true}, where);
  for (const AddedToken& token : pipeline.added_tokens) {
    if (token.content == "<s>") pipeline.bos = token.id;
    if (token.content == "</s>") pipeline.eos = token.id;
  }
  if (pipeline.bos) pipeline.prefix.push_back(*pipeline.bos);
  return std::make_unique<PipelineTokenizer>(std::move(pipeline));
}

}  // namespace tulle
