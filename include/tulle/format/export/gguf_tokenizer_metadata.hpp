// SPDX-License-Identifier: Apache-2.0
/// \file A model's tokenizer and chat template as metadata of a GGUF file (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/core/types.hpp>
#include <tulle/format/configured_chat_template.hpp>
#include <tulle/format/export/export_notes.hpp>
#include <tulle/format/export/model_description.hpp>
#include <tulle/format/export/vocabulary_of_json.hpp>
#include <tulle/format/gguf_writer.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/text/sentencepiece_folder.hpp>
#include <tulle/text/sentencepiece_vocabulary.hpp>
#include <tulle/text/vocabulary_spec.hpp>

namespace tulle::detail {

/// The content of a file of the model as JSON, or null.
inline Json described_json(const ModelDescription& model, const char* name) {
  const auto found = model.files.find(name);
  return found == model.files.end() ? Json() : parse_json(found->second, name);
}

/// Nothing where the model has no tokenizer. Errors: those of `vocabulary_of_json`.
inline std::optional<VocabularySpec> vocabulary_for_gguf(const ModelDescription& model) {
  if (model.vocabulary) return model.vocabulary;
  const Json config = described_json(model, "tokenizer_config.json");
  if (const auto file = model.files.find("tokenizer.model"); file != model.files.end()) {
    VocabularySpec spec = sentencepiece_vocabulary(file->second, "tokenizer.model");
    if (spec.model == "llama") {
      apply_options(sentencepiece_options(config, described_json(model, "added_tokens.json"), "tokenizer_config.json"),
                    spec);
      return spec;
    }
  }
  const Json tokenizer = described_json(model, "tokenizer.json");
  if (tokenizer.is_null()) return std::nullopt;
  return vocabulary_of_json(tokenizer, config, "tokenizer.json");
}

/// A token of config.json: an id, or a list of which the first is taken.
inline std::optional<Token> config_token(const Json& config, const char* key, std::size_t tokens) {
  Json value = config.value(key, Json());
  if (value.is_array() && !value.empty()) value = Json(value.front());
  if (!value.is_number_integer() || value < 0 || value.get<std::uint64_t>() >= tokens) return std::nullopt;
  return static_cast<Token>(value.get<std::uint64_t>());
}

/// Leaves out the tokens that the embedding has no row for: llama.cpp takes the length of the list for the embedding's. Of
/// merges those are left that make one of the others.
inline void cut_tokens(std::size_t size, VocabularySpec& spec, ExportNotes& notes) {
  if (size == 0 || spec.tokens.size() <= size) return;
  notes.add("the tokens from " + quoted_name(spec.tokens[size]) + " (" + std::to_string(size) +
            ") on have no row in the embedding and are left out");
  spec.tokens.resize(size);
  spec.types.resize(size);
  const std::set<std::string_view> left(spec.tokens.begin(), spec.tokens.end());
  std::erase_if(spec.merges, [&](const std::string& merge) {
    const std::size_t space = merge.find(' ', 1);
    return space != std::string::npos && !left.contains(merge.substr(0, space) + merge.substr(space + 1));
  });
  for (std::optional<Token>* role : {&spec.bos, &spec.eos, &spec.unk}) {
    if (*role && static_cast<std::size_t>(**role) >= size) role->reset();
  }
}

/// GGUF files have no flags of tokens.
inline void note_flags(const VocabularySpec& spec, ExportNotes& notes) {
  const auto found = std::find_if(spec.flags.begin(), spec.flags.end(), [](auto flags) { return flags != 0; });
  if (found == spec.flags.end()) return;
  notes.add("what " + quoted_name(spec.tokens[static_cast<std::size_t>(found - spec.flags.begin())]) +
            " does to the text beside it (lstrip, rstrip, single_word) has no place in a GGUF file");
}

/// `size`: tokens of the embedding, which may have rows that the tokenizer knows nothing of; 0: not known.
inline void add_tokenizer(const ModelDescription& model, std::size_t size, GgufMetadata& metadata, ExportNotes& notes) {
  std::optional<VocabularySpec> spec = vocabulary_for_gguf(model);
  if (!spec) {
    notes.add("the model has no tokenizer, so llama.cpp reads the file for its tensors alone");
    return;
  }
  if (spec->types.empty()) spec->types.assign(spec->tokens.size(), VocabularySpec::normal);
  note_flags(*spec, notes);
  cut_tokens(size, *spec, notes);
  for (std::size_t id = spec->tokens.size(); id < size; ++id)
    set_token(*spec, id, unused_token(id), VocabularySpec::unused);
  if (!spec->scores.empty()) spec->scores.resize(spec->tokens.size());
  if (!spec->bos) spec->bos = config_token(model.config, "bos_token_id", spec->tokens.size());
  if (!spec->eos) spec->eos = config_token(model.config, "eos_token_id", spec->tokens.size());
  metadata.string("tokenizer.ggml.model", spec->model);
  metadata.string("tokenizer.ggml.pre", spec->model == "gpt2" ? spec->pre : "default");
  metadata.strings("tokenizer.ggml.tokens", spec->tokens);
  if (!spec->scores.empty()) metadata.floats("tokenizer.ggml.scores", spec->scores);
  metadata.integers("tokenizer.ggml.token_type", spec->types);
  if (!spec->merges.empty()) metadata.strings("tokenizer.ggml.merges", spec->merges);
  const auto token = [&](const char* key, const std::optional<Token>& id) {
    if (id) metadata.u32(key, static_cast<std::uint32_t>(*id));
  };
  token("tokenizer.ggml.bos_token_id", spec->bos);
  token("tokenizer.ggml.eos_token_id", spec->eos);
  token("tokenizer.ggml.unknown_token_id", spec->unk);
  metadata.boolean("tokenizer.ggml.add_bos_token", spec->add_bos);
  metadata.boolean("tokenizer.ggml.add_eos_token", spec->add_eos);
  if (spec->model != "gpt2") metadata.boolean("tokenizer.ggml.add_space_prefix", spec->spaces.adds_one);

  const auto jinja = model.files.find("chat_template.jinja");
  const std::string chat_template =
      jinja != model.files.end()
          ? jinja->second
          : configured_chat_template(described_json(model, "tokenizer_config.json"), "tokenizer_config.json");
  if (!chat_template.empty()) metadata.string("tokenizer.chat_template", chat_template);
}

}  // namespace tulle::detail
