// SPDX-License-Identifier: Apache-2.0
/// \file Which files of a repository a model needs: those that its readers open (L4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/gguf_part_name.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/hub/hub_model.hpp>

namespace tulle {

namespace detail {

/// The files of a repository, or those of them that are in the cache.
using HubNames = std::set<std::string, std::less<>>;

/// What to download and what to open.
struct HubChoice {
  std::vector<std::string> small;    ///< configuration, tokenizer, chat template, the index of shards
  std::vector<std::string> weights;  ///< without the shards that `index` names
  std::string index;                 ///< one of `small`, or ""
  std::string opened;                ///< a GGUF file; "": the folder
  bool has_tokenizer = false;        ///< a part that a model may lack
  std::string problem;               ///< why there is no model, or ""
};

inline constexpr std::array<std::string_view, 12> small_file_names{"config.json",
                                                                   "generation_config.json",
                                                                   "tokenizer.json",
                                                                   "tokenizer.model",
                                                                   "tokenizer_config.json",
                                                                   "special_tokens_map.json",
                                                                   "added_tokens.json",
                                                                   "vocab.json",
                                                                   "merges.txt",
                                                                   "chat_template.jinja",
                                                                   "chat_template.json",
                                                                   "additional_chat_templates/tool_use.jinja"};

inline void add_present(const HubNames& names, std::string_view name, std::vector<std::string>& list) {
  if (names.contains(name)) list.emplace_back(name);
}

/// A GGUF file and, where it is a part of a model, the other parts; the first part is opened.
inline void choose_gguf(const HubNames& names, const std::string& file, HubChoice& choice) {
  const std::optional<GgufPartName> part = parse_gguf_part_name(file);
  const std::uint64_t count = part ? part->count : 1;
  choice.opened = part ? gguf_part_file(part->stem, 1, count) : file;
  for (std::uint64_t number = 1; number <= count; ++number) {
    choice.weights.push_back(part ? gguf_part_file(part->stem, number, count) : file);
    if (!names.contains(choice.weights.back())) {
      choice.problem = "there is no file " + quoted_name(choice.weights.back());
      return;
    }
  }
  choice.has_tokenizer = true;
}

/// "; it has hf:a/b:x.gguf, hf:a/b:y.gguf": every model of a repository of GGUF files, by its first part.
inline std::string list_gguf_models(const HubModel& model, const std::vector<std::string>& files) {
  constexpr std::size_t max_shown = 50;
  std::string list;
  std::size_t shown = 0, more = 0;
  for (const std::string& file : files) {
    const std::optional<GgufPartName> part = parse_gguf_part_name(file);
    if (part && part->number != 1) continue;
    if (shown == max_shown) {
      ++more;
      continue;
    }
    list += (shown++ == 0 ? " " : ", ") + model.text_of(file);
  }
  return more == 0 ? list : list + " and " + std::to_string(more) + " more";
}

/// Chooses as the readers do: safetensors before pytorch_model.bin before the only GGUF model; the files of an adapter
/// where there is no model.
inline HubChoice choose_hub_files(const HubModel& model, const HubNames& names, HubPart part) {
  HubChoice choice;
  if (!model.file.empty()) {
    choose_gguf(names, model.file, choice);
    return choice;
  }
  for (const std::string_view name : small_file_names) add_present(names, name, choice.small);
  if (!names.contains("tokenizer.json")) add_present(names, "tekken.json", choice.small);  // 15 MB
  choice.has_tokenizer = names.contains("tokenizer.json") || names.contains("tokenizer.model") ||
                         names.contains("tekken.json") ||
                         (names.contains("vocab.json") && names.contains("merges.txt"));
  if (part == HubPart::tokenizer && choice.has_tokenizer) return choice;
  if (names.contains("config.json")) {
    for (const std::string_view name : {"model.safetensors", "pytorch_model.bin"}) {
      const std::string index = std::string(name) + ".index.json";
      add_present(names, name, choice.weights);
      if (choice.weights.empty() && names.contains(index)) {
        choice.small.push_back(index);
        choice.index = index;
      }
      if (!choice.weights.empty() || !choice.index.empty()) return choice;
    }
  }
  std::vector<std::string> gguf_files;
  for (const std::string& name : names) {
    if (name.ends_with(".gguf")) gguf_files.push_back(name);
  }
  const std::optional<std::string> only = only_gguf_model(gguf_files);
  if (only && !only->empty()) {
    choose_gguf(names, *only, choice);
    choice.small.clear();
  } else if (!only) {
    choice.problem = "it holds several GGUF models; give one of them:" + list_gguf_models(model, gguf_files);
  } else if (names.contains("adapter_config.json")) {
    choice.small.emplace_back("adapter_config.json");
    add_present(names, "adapter_model.safetensors", choice.weights);
    if (choice.weights.empty()) add_present(names, "adapter_model.bin", choice.weights);
    choice.has_tokenizer = true;  // an adapter needs none
  }
  if (choice.weights.empty() && choice.problem.empty()) {
    choice.problem = "it holds no model; looked for config.json with model.safetensors or pytorch_model.bin, and .gguf";
  }
  return choice;
}

/// The files that an index of shards names. Errors: malformed.
inline std::vector<std::string> shards_of_index(const Json& index, std::string_view where) {
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) fail(ErrorCode::malformed, where, " has no \"weight_map\"");
  std::set<std::string> shards;
  for (const Json& file : *map) {
    const std::string name = file.is_string() ? file.get<std::string>() : std::string();
    if (!is_safe_path(name) || name.find('/') != std::string::npos) {
      fail(ErrorCode::malformed, where, ": ", quoted_name(name), " is no plain file name");
    }
    shards.insert(name);
  }
  return {shards.begin(), shards.end()};
}

}  // namespace detail

}  // namespace tulle
