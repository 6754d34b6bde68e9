// SPDX-License-Identifier: Apache-2.0
/// \file Hugging Face's tokenizer.json as the lists of a GGUF file (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/named_pre_tokenizers.hpp>
#include <tulle/text/pipeline_json.hpp>
#include <tulle/text/tokenizer_json.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {

namespace detail {

/// The patterns by which the steps before byte-level BPE split. Errors: unsupported for a step that no GGUF file names.
inline std::vector<std::string> split_patterns(const Json& pre_tokenizer, std::string_view where) {
  std::vector<std::string> patterns;
  for_each_step(pre_tokenizer, "pretokenizers", where, [&](const Json& step, const std::string& type) {
    if (type == "ByteLevel" && !json_value(step, "add_prefix_space", true, where)) {
      if (json_value(step, "use_regex", true, where)) patterns.emplace_back(gpt2_pattern);
    } else if (type == "Digits" && json_value(step, "individual_digits", false, where)) {
      patterns.emplace_back(R"(\p{N})");
    } else if (type == "Split" && json_value(step, "behavior", std::string(), where) == "Isolated") {
      patterns.push_back(required<std::string>(member(step, "pattern", where), "Regex", where));
    } else {
      reject_step("pre-tokenizer in a GGUF file", type, where);
    }
  });
  return patterns;
}

/// The name that llama.cpp gives to a pre-tokenizer. Errors: unsupported for one without a name.
inline std::string pre_tokenizer_name(const Json& tokenizer, bool ignores_merges, std::string_view where) {
  const std::vector<std::string> patterns = split_patterns(section(tokenizer, "pre_tokenizer"), where);
  bool composes = false;
  for_each_step(section(tokenizer, "normalizer"), "normalizers", where,
                [&](const Json&, const std::string& type) { composes = composes || type == "NFC"; });
  const NamedPreTokenizer* similar = nullptr;
  for (const NamedPreTokenizer& named : named_pre_tokenizers()) {
    if (!std::equal(patterns.begin(), patterns.end(), named.patterns.begin(), named.patterns.end())) continue;
    if (named.ignore_merges == ignores_merges && named.composes == composes) return std::string(named.names.front());
    similar = &named;
  }
  if (similar != nullptr && !ignores_merges) return std::string(similar->names.front());
  fail(ErrorCode::unsupported, where, ": llama.cpp has no name for this pre-tokenizer");
}

/// The content of an id that no text has, as llama.cpp's converter writes it.
inline std::string unused_token(std::size_t id) {
  return "[PAD" + std::to_string(id) + "]";
}

/// Puts a token in its place; ids before it that are not set are unused. Errors: malformed for an impossible id.
inline void set_token(VocabularySpec& spec, std::size_t id, const std::string& content, int type) {
  if (id >= Vocabulary::largest_size) fail(ErrorCode::malformed, spec.where, ": a token has the impossible id ", id);
  for (std::size_t unused = spec.tokens.size(); unused <= id; ++unused) {
    spec.tokens.push_back(unused_token(unused));
    spec.types.push_back(VocabularySpec::unused);
  }
  spec.tokens[id] = content;
  spec.types[id] = type;
}

inline std::optional<Token> token_named(const VocabularySpec& spec, const std::optional<std::string>& content) {
  const auto found = content ? std::find(spec.tokens.begin(), spec.tokens.end(), *content) : spec.tokens.end();
  if (found == spec.tokens.end()) return std::nullopt;
  return static_cast<Token>(found - spec.tokens.begin());
}

/// Whether the template puts a special token before the text.
inline bool begins_with_special(const Json& post_processor, std::string_view where) {
  bool begins = false;
  for_each_step(post_processor, "processors", where, [&](const Json& step, const std::string& type) {
    const auto single = step.find("single");
    begins = begins || (type == "TemplateProcessing" && single != step.end() && single->is_array() &&
                        !single->empty() && single->front().contains("SpecialToken"));
  });
  return begins;
}

/// Scores by which SentencePiece merges as the list does: that of a merge's result is minus its place.
inline std::vector<float> scores_of(const VocabularySpec& spec, const std::vector<BytePairEncoder::Merge>& merges) {
  std::vector<float> scores(spec.tokens.size(), 0);
  std::map<std::string, std::size_t> ids;
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) ids.emplace(spec.tokens[id], id);
  for (const BytePairEncoder::Merge& merge : merges) {
    const auto found = ids.find(merge.left + merge.right);
    if (found == ids.end() || scores[found->second] != 0) continue;
    scores[found->second] = -static_cast<float>(merge.rank + 1);
  }
  for (std::size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] == 0 && spec.types[id] == VocabularySpec::normal) {
      scores[id] = -static_cast<float>(merges.size() + 1 + id);  // characters: no merge gives them
    }
  }
  return scores;
}

}  // namespace detail

/// `tokenizer`: tokenizer.json with BPE; `tokenizer_config`: tokenizer_config.json, or null.
/// Errors: unsupported for a tokenizer that llama.cpp has no name for; malformed.
inline VocabularySpec vocabulary_of_json(const Json& tokenizer, const Json& tokenizer_config, std::string_view where) {
  using namespace detail;
  VocabularySpec spec;
  spec.where = where;
  const Json& model = member(tokenizer, "model", where);
  if (json_value(model, "type", std::string("BPE"), where) != "BPE") {
    fail(ErrorCode::unsupported, where, ": only BPE is written to GGUF files");
  }
  const bool byte_fallback = json_value(model, "byte_fallback", false, where);
  for (const auto& [content, id] : vocabulary_entries(member(model, "vocab", where), where)) {
    const bool is_byte = byte_fallback && content.size() == 6 && content.starts_with("<0x") && content.ends_with(">");
    set_token(spec, static_cast<std::size_t>(id), content, is_byte ? VocabularySpec::byte : VocabularySpec::normal);
  }
  const Json& added = section(tokenizer, "added_tokens");
  for (const Json& each : added.is_array() ? added : Json::array()) {
    const AddedToken token = added_token_from_json(each, to_token(member(each, "id", where), where), where);
    set_token(spec, static_cast<std::size_t>(token.id), token.content,
              token.special ? VocabularySpec::control : VocabularySpec::user_defined);
    add_flags(spec, token);
  }
  spec.unk = token_named(spec, json_value(model, "unk_token", std::string(), where));
  if (byte_fallback && spec.unk) spec.types[static_cast<std::size_t>(*spec.unk)] = VocabularySpec::unknown;
  spec.bos = token_named(spec, configured_token(tokenizer_config, "bos_token", where));
  spec.eos = token_named(spec, configured_token(tokenizer_config, "eos_token", where));
  spec.add_bos = begins_with_special(section(tokenizer, "post_processor"), where);

  const std::vector<BytePairEncoder::Merge> merges = merges_from_json(member(model, "merges", where), where);
  if (byte_fallback) {
    spec.model = "llama";
    spec.scores = scores_of(spec, merges);
    spec.spaces.adds_one = false;
    for_each_step(section(tokenizer, "normalizer"), "normalizers", where,
                  [&](const Json&, const std::string& type) { spec.spaces.adds_one |= type == "Prepend"; });
    for_each_step(section(tokenizer, "pre_tokenizer"), "pretokenizers", where,
                  [&](const Json& step, const std::string& type) {
                    if (type == "Metaspace") spec.spaces.adds_one |= metaspace_from_json(step, where).scheme != "never";
                  });
    return spec;
  }
  spec.pre = pre_tokenizer_name(tokenizer, json_value(model, "ignore_merges", false, where), where);
  for (const BytePairEncoder::Merge& merge : merges) spec.merges.push_back(merge.left + " " + merge.right);
  return spec;
}

}  // namespace tulle
