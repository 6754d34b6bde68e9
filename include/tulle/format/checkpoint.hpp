// SPDX-License-Identifier: Apache-2.0
/// \file An opened model: a Hugging Face directory or a GGUF file, behind one set of names (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/compressed_tensors.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_llama.hpp>
#include <tulle/format/gguf_parts.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/safetensors.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// Config and tensors of a model, with Hugging Face's names and spelling whatever the file's format is. Files on disk
/// stay mapped as long as the object lives, lent files are read when a tensor is; nothing is decoded.
/// Threads: immutable once opened.
class Checkpoint final : public TensorSource {
 public:
  /// `path`: a directory with config.json and safetensors (one file, or shards with an index), a .safetensors file in
  /// one, a GGUF file (known by its first bytes), or a directory that holds exactly one .gguf file. Of a model in parts
  /// (gguf-split) the first one; the others lie beside it.
  /// Errors: not_found, io, malformed, unsupported.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

  /// The same files lent by the caller, who keeps what they are read with for as long as the checkpoint lives.
  static std::shared_ptr<const Checkpoint> open(const ModelFiles& files);

  /// A GGUF file that is already in memory. `where` names it in messages.
  static std::shared_ptr<const Checkpoint> from_gguf_bytes(std::vector<std::byte> bytes, const std::string& where);

  /// The same over bytes that the caller keeps for as long as the checkpoint lives.
  static std::shared_ptr<const Checkpoint> over_gguf_bytes(std::span<const std::byte> bytes, const std::string& where);

  const std::string& path() const noexcept { return path_; }
  std::string_view format_name() const noexcept { return gguf_ ? "gguf" : "safetensors"; }
  const Json& config() const noexcept { return config_; }
  const Json& generation_config() const noexcept { return generation_config_; }  ///< {} where there is none
  const GgufFile* gguf() const noexcept { return gguf_ ? &*gguf_ : nullptr; }    ///< nullptr for safetensors
  std::size_t size_bytes() const noexcept { return size_bytes_; }                ///< of all tensors, as encoded

  /// True when the rows of every head of q_proj and k_proj come in the order of adjacent-pair rotary (GGUF llama): row
  /// 2i + j of a head is row j * head_dim / 2 + i in Hugging Face's order (i < head_dim / 2, j = 0, 1).
  bool rotary_interleaved() const noexcept { return gguf_.has_value(); }

  const EncodedTensor* find(std::string_view name) const override;
  std::vector<std::string> names() const override;
  std::span<const std::byte> read(const EncodedTensor& tensor) const override;
  void release(std::span<const std::byte> bytes) const noexcept override;

 private:
  using File = std::shared_ptr<const InputFile>;
  struct Entry {
    EncodedTensor tensor;
    const InputFile* file;
  };

  explicit Checkpoint(std::string path) : path_(std::move(path)) {}

  void open_directory(const ModelFiles& files);
  void open_shards(const ModelFiles& files, const std::string& index_name);
  const InputFile* open_safetensors(const ModelFiles& files, const std::string& name);
  void open_gguf(File file, const ModelFiles* files, const std::string& name);
  void add(EncodedTensor tensor, const InputFile& file);

  std::string path_;
  std::vector<std::byte> memory_;
  std::vector<File> files_;
  std::optional<GgufFile> gguf_;
  Json config_ = Json::object();
  Json generation_config_ = Json::object();
  std::map<std::string, Entry, std::less<>> tensors_;
  std::size_t size_bytes_ = 0;
};

inline std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path) {
  const detail::ModelPath model = detail::resolve_model_path(path);
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(path));
  if (model.gguf_file.empty()) {
    checkpoint->open_directory(DirectoryFiles(model.directory));
  } else {
    const auto [files, name] = detail::split_path(model.gguf_file);
    checkpoint->open_gguf(files.open(name), &files, name);
  }
  return checkpoint;
}

inline std::shared_ptr<const Checkpoint> Checkpoint::open(const ModelFiles& files) {
  const std::string gguf = files.has("config.json") ? "" : files.only_gguf();
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(gguf.empty() ? files.where() : files.path(gguf)));
  if (gguf.empty()) {
    checkpoint->open_directory(files);
  } else {
    checkpoint->open_gguf(files.open(gguf), &files, gguf);
  }
  return checkpoint;
}

inline std::shared_ptr<const Checkpoint> Checkpoint::from_gguf_bytes(std::vector<std::byte> bytes,
                                                                     const std::string& where) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
  checkpoint->memory_ = std::move(bytes);
  checkpoint->open_gguf(std::make_shared<const InputFile>(checkpoint->memory_), nullptr, "");
  return checkpoint;
}

inline std::shared_ptr<const Checkpoint> Checkpoint::over_gguf_bytes(std::span<const std::byte> bytes,
                                                                     const std::string& where) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
  checkpoint->open_gguf(std::make_shared<const InputFile>(bytes), nullptr, "");
  return checkpoint;
}

inline void Checkpoint::open_directory(const ModelFiles& files) {
  config_ = files.json("config.json");
  check_quantization_config(config_, files.path("config.json"));
  if (files.has("generation_config.json")) generation_config_ = files.json("generation_config.json");
  if (files.has("model.safetensors")) {
    open_safetensors(files, "model.safetensors");
  } else if (files.has("model.safetensors.index.json")) {
    open_shards(files, "model.safetensors.index.json");
  } else if (files.has("pytorch_model.bin") || files.has("pytorch_model.bin.index.json")) {
    fail(ErrorCode::unsupported, files.where(),
         " holds pytorch_model.bin, which is not read; save the model as safetensors");
  } else {
    fail(ErrorCode::not_found, files.where(), " has neither model.safetensors nor model.safetensors.index.json");
  }
  check_int8_tensors(*this, files.where());
}

inline void Checkpoint::open_shards(const ModelFiles& files, const std::string& index_name) {
  const Json index = files.json(index_name);
  const std::string index_path = files.path(index_name);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object()) fail(ErrorCode::malformed, index_path, " has no \"weight_map\"");
  std::map<std::string, std::vector<std::string>> shards;  // file name -> tensors
  for (const auto& entry : map->items()) {
    const std::string name = entry.value().is_string() ? entry.value().get<std::string>() : std::string();
    if (!detail::is_plain_file_name(name)) {
      fail(ErrorCode::malformed, index_path, ": the file of tensor ", detail::quoted_name(entry.key()),
           " is no plain file name");
    }
    shards[name].push_back(entry.key());
  }
  for (const auto& [name, tensors] : shards) {
    const InputFile* shard = open_safetensors(files, name);
    for (const std::string& tensor : tensors) {
      const auto found = tensors_.find(tensor);
      if (found == tensors_.end() || found->second.file != shard) {
        fail(ErrorCode::malformed, index_path, ": tensor ", detail::quoted_name(tensor), " is not in ",
             detail::quoted_name(name));
      }
    }
  }
}

inline const InputFile* Checkpoint::open_safetensors(const ModelFiles& files, const std::string& name) {
  files_.push_back(files.open(name));
  const InputFile& file = *files_.back();
  const std::string where = files.path(name);
  auto tensors = detail::parse_head(file, [&](std::span<const std::byte> head) {
    auto list = parse_safetensors_head(head, file.size(), where);
    file.release(head);
    return list;
  });
  for (EncodedTensor& tensor : tensors) add(std::move(tensor), file);
  return &file;
}

/// `file`: the file `name` of `files`, which is nullptr for bytes in memory.
inline void Checkpoint::open_gguf(File file, const ModelFiles* files, const std::string& name) {
  gguf_ = detail::parse_head(*file, [&](std::span<const std::byte> head) {
    return parse_gguf_head(head, file->size(), path_);  // its arrays are views, so the head stays
  });
  std::vector<EncodedTensor>& tensors = gguf_->tensors;
  std::vector<const InputFile*> sources(tensors.size(), file.get());  // of each tensor
  files_.push_back(std::move(file));
  for (detail::OpenGgufPart& part : detail::open_other_gguf_parts(*gguf_, files, name)) {
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(tensors));
    sources.resize(tensors.size(), part.file.get());
    files_.push_back(std::move(part.file));
  }
  const std::string_view part_of_config = "rope_freqs.weight";
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!sources[i]->in_memory() && tensors[i].name != part_of_config) continue;
    tensors[i].bytes = sources[i]->view(tensors[i].file_offset, tensors[i].size_bytes());
  }
  config_ = llama_config(*gguf_);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == part_of_config) continue;  // is "rope_scaling" in the config
    EncodedTensor renamed = tensors[i];
    renamed.name = huggingface_tensor_name(renamed.name);
    add(std::move(renamed), *sources[i]);
  }
}

inline void Checkpoint::add(EncodedTensor tensor, const InputFile& file) {
  const std::size_t bytes = tensor.size_bytes();
  size_bytes_ += bytes;
  if (file.in_memory()) tensor.bytes = file.view(tensor.file_offset, bytes);  // those of lent files: `read`
  std::string name = tensor.name;
  const auto [place, added] = tensors_.try_emplace(std::move(name), Entry{std::move(tensor), &file});
  if (!added) fail(ErrorCode::malformed, path_, ": tensor ", detail::quoted_name(place->first), " appears twice");
}

inline const EncodedTensor* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second.tensor;
}

inline std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> all;
  all.reserve(tensors_.size());
  for (const auto& [name, entry] : tensors_) all.push_back(name);
  return all;
}

inline std::span<const std::byte> Checkpoint::read(const EncodedTensor& tensor) const {
  const auto found = tensors_.find(tensor.name);
  if (found == tensors_.end() || found->second.file->in_memory()) return tensor.bytes;
  return found->second.file->view(tensor.file_offset, tensor.size_bytes());
}

inline void Checkpoint::release(std::span<const std::byte> bytes) const noexcept {
  for (const File& file : files_) file->release(bytes);
}

}  // namespace tulle
