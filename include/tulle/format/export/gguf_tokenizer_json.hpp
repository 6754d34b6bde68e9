// SPDX-License-Identifier: Apache-2.0
/// \file The vocabulary of a GGUF file as Hugging Face's tokenizer.json and tokenizer_config.json (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/text/named_pre_tokenizers.hpp>
#include <tulle/text/vocabulary.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle {

namespace detail {

inline Json byte_level_json() {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
}

inline Json added_tokens_json(const VocabularySpec& spec) {
  Json list = Json::array();
  for (const AddedToken& token : added_tokens_of(spec)) {
    list.push_back({{"id", token.id},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", false},
                    {"special", token.special}});
  }
  return list;
}

/// {token: id}; of equal tokens the first counts.
inline Json vocabulary_json(const VocabularySpec& spec) {
  Json vocabulary = Json::object();
  for (std::size_t id = 0; id < spec.tokens.size(); ++id) vocabulary.emplace(spec.tokens[id], id);
  return vocabulary;
}

inline Json bpe_json(const VocabularySpec& spec, Json merges) {
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocabulary_json(spec)},
          {"merges", std::move(merges)}};
}

inline Json byte_level_tokenizer_json(const VocabularySpec& spec) {
  const NamedPreTokenizer& named = find_pre_tokenizer(spec.pre.empty() ? "default" : spec.pre, spec.where);
  Json steps = Json::array();
  for (const std::string_view pattern : named.patterns) {
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  steps.push_back(byte_level_json());
  Json merges = Json::array();
  for (const BytePairEncoder::Merge& merge : split_merges(spec.merges, spec.where)) {
    merges.push_back({merge.left, merge.right});
  }
  Json model = bpe_json(spec, std::move(merges));
  model["ignore_merges"] = named.ignore_merges;
  return {{"normalizer", named.composes ? Json{{"type", "NFC"}} : Json()},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}},
          {"decoder", byte_level_json()},
          {"model", std::move(model)}};
}

/// As transformers converts a SentencePiece model: the merges that the scores stand for, best first.
inline Json scored_tokenizer_json(const VocabularySpec& spec) {
  std::vector<BytePairEncoder::Merge> ordered = merges_by_score(spec, vocabulary_of(spec));
  std::sort(ordered.begin(), ordered.end(), [](const BytePairEncoder::Merge& a, const BytePairEncoder::Merge& b) {
    return std::tie(a.rank, a.left, a.right) < std::tie(b.rank, b.left, b.right);
  });
  Json merges = Json::array();
  for (const BytePairEncoder::Merge& merge : ordered) merges.push_back({merge.left, merge.right});
  Json model = bpe_json(spec, std::move(merges));
  model["byte_fallback"] = std::count(spec.types.begin(), spec.types.end(), VocabularySpec::byte) > 0;
  model["fuse_unk"] = true;
  if (spec.unk) model["unk_token"] = spec.tokens[static_cast<std::size_t>(*spec.unk)];
  const std::string space(SpaceRules::symbol);
  Json normalizers = Json::array();
  if (spec.spaces.adds_one) normalizers.push_back({{"type", "Prepend"}, {"prepend", space}});
  normalizers.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}});
  Json decoders = {{{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}},
                   {{"type", "ByteFallback"}},
                   {{"type", "Fuse"}}};
  if (spec.spaces.adds_one) decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"normalizer", {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}}},
          {"pre_tokenizer", nullptr},
          {"decoder", {{"type", "Sequence"}, {"decoders", std::move(decoders)}}},
          {"model", std::move(model)}};
}

/// Puts `spec.bos` before a text and `spec.eos` after it, where they are to be added.
inline Json template_json(const VocabularySpec& spec) {
  Json single = Json::array(), special = Json::object();
  const auto add = [&](Token id) {
    const std::string& content = spec.tokens[static_cast<std::size_t>(id)];
    single.push_back({{"SpecialToken", {{"id", content}, {"type_id", 0}}}});
    special[content] = {{"id", content}, {"ids", Json::array({id})}, {"tokens", Json::array({content})}};
  };
  if (spec.add_bos && spec.bos) add(*spec.bos);
  single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
  if (spec.add_eos && spec.eos) add(*spec.eos);
  if (special.empty()) return nullptr;
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", single}, {"special_tokens", special}};
}

}  // namespace detail

/// tokenizer.json of a vocabulary of the kinds "gpt2" and "llama".
/// Errors: those of `tokenizer_from_vocabulary`; unsupported for another kind.
inline Json tokenizer_json_of(const VocabularySpec& spec) {
  detail::check(spec);
  if (spec.model != "gpt2" && spec.model != "llama") {
    fail(ErrorCode::unsupported, spec.where, ": a tokenizer.json is not written for the tokenizer model \"", spec.model,
         "\"");
  }
  Json json = spec.model == "gpt2" ? detail::byte_level_tokenizer_json(spec) : detail::scored_tokenizer_json(spec);
  json["version"] = "1.0";
  json["truncation"] = nullptr;
  json["padding"] = nullptr;
  json["added_tokens"] = detail::added_tokens_json(spec);
  json["post_processor"] = detail::template_json(spec);
  return json;
}

/// tokenizer_config.json beside it. `context`: tokens that the model can read.
inline Json tokenizer_config_of(const VocabularySpec& spec, const Json& context) {
  Json config{{"tokenizer_class", "PreTrainedTokenizerFast"}, {"clean_up_tokenization_spaces", false}};
  const auto set = [&](const char* key, std::optional<Token> id) {
    if (id) config[key] = spec.tokens[static_cast<std::size_t>(*id)];
  };
  set("bos_token", spec.bos);
  set("eos_token", spec.eos);
  set("pad_token", spec.eos);
  set("unk_token", spec.unk);
  if (!context.is_null()) config["model_max_length"] = context;
  return config;
}

}  // namespace tulle
