// SPDX-License-Identifier: Apache-2.0
/// \file Hugging Face directories: config.json and weights, one file or shards with an index; safetensors (L3).
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/compressed_tensors.hpp>
#include <tulle/format/gptq_config.hpp>
#include <tulle/format/hub_names.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/safetensors.hpp>
#include <tulle/format/sparse_vectors.hpp>

namespace tulle {

namespace detail {

/// `CheckpointOpener::find` of a directory whose weights begin with the file `Name`.
template <const char* Name>
std::string find_huggingface(const ModelFiles& files) {
  return files.has("config.json") && files.has(Name) ? Name : "";
}

inline void open_configs(const ModelFiles& files, CheckpointParts& parts) {
  parts.config = files.json("config.json");
  check_quantization_config(parts.config, files.path("config.json"));
  if (files.has("generation_config.json")) parts.generation_config = files.json("generation_config.json");
}

inline void open_safetensors(const ModelFiles& files, const std::string& name, CheckpointParts& parts) {
  const InputFile& file = parts.tensors.keep(files.open(name));
  const std::string where = files.path(name);
  auto tensors = parse_head(file, [&](std::span<const std::byte> head) {
    auto list = parse_safetensors_head(head, file.size(), where);
    file.release(head);
    return list;
  });
  for (EncodedTensor& tensor : tensors) parts.tensors.replace(std::move(tensor), file, parts.path);
}

/// Adds the tensors of a file to the parts; those of a later shard take the place of an earlier one's.
using OpenWeights = void (*)(const ModelFiles& files, const std::string& name, CheckpointParts& parts);

/// What other files and versions name, shape and store in another way.
inline void complete_tensors(const ModelFiles& files, CheckpointParts& parts) {
  complete_hub_names(parts.config, parts.tensors, parts.path);
  expand_sparse_vectors(parts.tensors, parts.path);
  if (constexpr const char* apart = "quantize_config.json";  // of AutoGPTQ and GPTQModel
      has_gptq_tensors(parts.tensors) && !parts.config.contains("quantization_config") && files.has(apart)) {
    Json settings = files.json(apart);
    if (settings.is_object()) settings.emplace("quant_method", "gptq");
    parts.config["quantization_config"] = std::move(settings);
    check_quantization_config(parts.config, files.path(apart));
  }
  complete_gptq_zero_points(parts.config, parts.tensors, parts.path);
  check_quantized_tensors(parts.tensors, parts.config, files.where());
}

template <OpenWeights Open>
void open_one_file(const ModelFiles& files, const std::string& name, CheckpointParts& parts) {
  open_configs(files, parts);
  Open(files, name, parts);
  complete_tensors(files, parts);
}

template <OpenWeights Open>
void open_shards(const ModelFiles& files, const std::string& index_name, CheckpointParts& parts) {
  open_configs(files, parts);
  const Json index = files.json(index_name);
  const std::string index_path = files.path(index_name);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) fail(ErrorCode::malformed, index_path, " has no \"weight_map\"");
  // Only the names of the files count, as for transformers: indices list tensors that are elsewhere or nowhere.
  std::set<std::string> shards;
  for (const auto& entry : map->items()) {
    const std::string name = entry.value().is_string() ? entry.value().get<std::string>() : std::string();
    if (!is_plain_file_name(name)) {
      fail(ErrorCode::malformed, index_path, ": the file of tensor ", quoted_name(entry.key()),
           " is no plain file name");
    }
    shards.insert(name);
  }
  for (const std::string& name : shards) Open(files, name, parts);
  complete_tensors(files, parts);
}

inline void refuse_model(const ModelFiles& files, const std::string& name, CheckpointParts&) {
  fail(ErrorCode::unsupported, files.where(), " holds ", name,
       ", which is not read here; save the model as safetensors");
}

/// `CheckpointOpener::open` of a format that modules for the web, which are to be small, leave out.
constexpr auto native_only([[maybe_unused]] decltype(CheckpointOpener::open) open) noexcept {
#if defined(__EMSCRIPTEN__)
  return refuse_model;
#else
  return open;
#endif
}

inline constexpr char safetensors_name[] = "model.safetensors", shards_name[] = "model.safetensors.index.json";

}  // namespace detail

inline constexpr CheckpointOpener safetensors_opener{"safetensors", detail::find_huggingface<detail::safetensors_name>,
                                                     detail::open_one_file<detail::open_safetensors>};
inline constexpr CheckpointOpener shards_opener{"safetensors", detail::find_huggingface<detail::shards_name>,
                                                detail::open_shards<detail::open_safetensors>};

}  // namespace tulle
