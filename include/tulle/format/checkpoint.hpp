// SPDX-License-Identifier: Apache-2.0
/// \file An opened model: a Hugging Face directory or a GGUF file, behind one set of names (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/format/compressed_tensors.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_llama.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/quoted_name.hpp>
#include <tulle/format/safetensors.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// Config and tensors of a model, with Hugging Face's names and spelling whatever the file's format is. Files stay
/// mapped as long as the object lives; nothing is decoded.
/// Threads: immutable once opened.
class Checkpoint final : public TensorSource {
 public:
  /// `path`: a directory with config.json and safetensors (one file, or shards with an index), a .safetensors file in
  /// one, a GGUF file (known by its first bytes), or a directory that holds exactly one .gguf file.
  /// Errors: not_found, io, malformed, unsupported.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

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
  void release(std::span<const std::byte> bytes) const noexcept override;

 private:
  explicit Checkpoint(std::string path) : path_(std::move(path)) {}

  void open_directory(const std::string& directory);
  void open_shards(const std::string& directory, const std::string& index_path);
  void open_safetensors(const std::string& file_path);
  void open_gguf(std::span<const std::byte> bytes);
  void add(EncodedTensor tensor);

  std::string path_;
  std::vector<MappedFile> files_;
  std::vector<std::byte> memory_;
  std::optional<GgufFile> gguf_;
  Json config_ = Json::object();
  Json generation_config_ = Json::object();
  std::map<std::string, EncodedTensor, std::less<>> tensors_;
  std::size_t size_bytes_ = 0;
};

inline std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path) {
  const detail::ModelPath model = detail::resolve_model_path(path);
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(path));
  if (model.gguf_file.empty()) {
    checkpoint->open_directory(model.directory);
  } else {
    checkpoint->files_.emplace_back(model.gguf_file);
    checkpoint->open_gguf(checkpoint->files_.back().bytes());
  }
  return checkpoint;
}

inline std::shared_ptr<const Checkpoint> Checkpoint::from_gguf_bytes(std::vector<std::byte> bytes,
                                                                     const std::string& where) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
  checkpoint->memory_ = std::move(bytes);
  checkpoint->open_gguf(checkpoint->memory_);
  return checkpoint;
}

inline std::shared_ptr<const Checkpoint> Checkpoint::over_gguf_bytes(std::span<const std::byte> bytes,
                                                                     const std::string& where) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
  checkpoint->open_gguf(bytes);
  return checkpoint;
}

inline void Checkpoint::open_directory(const std::string& directory) {
  const auto file = [&](const char* name) { return detail::join_path(directory, name); };
  config_ = detail::read_json_object(file("config.json"));
  check_quantization_config(config_, file("config.json"));
  if (detail::is_file(file("generation_config.json"))) {
    generation_config_ = detail::read_json_object(file("generation_config.json"));
  }
  if (detail::is_file(file("model.safetensors"))) {
    open_safetensors(file("model.safetensors"));
  } else if (detail::is_file(file("model.safetensors.index.json"))) {
    open_shards(directory, file("model.safetensors.index.json"));
  } else if (detail::has_weight_files(directory)) {
    fail(ErrorCode::unsupported, directory,
         " holds pytorch_model.bin, which is not read; save the model as safetensors");
  } else {
    fail(ErrorCode::not_found, directory, " has neither model.safetensors nor model.safetensors.index.json");
  }
  check_int8_tensors(*this, directory);
}

inline void Checkpoint::open_shards(const std::string& directory, const std::string& index_path) {
  const Json index = detail::read_json_object(index_path);
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
    open_safetensors(detail::join_path(directory, name));
    const std::span<const std::byte> shard = files_.back().bytes();
    for (const std::string& tensor : tensors) {
      const EncodedTensor* found = find(tensor);
      const auto inside = [&](const std::byte* byte) {
        return !std::less<>()(byte, shard.data()) && !std::less<>()(shard.data() + shard.size(), byte);
      };
      if (found == nullptr || !inside(found->bytes.data())) {
        fail(ErrorCode::malformed, index_path, ": tensor ", detail::quoted_name(tensor), " is not in ",
             detail::quoted_name(name));
      }
    }
  }
}

inline void Checkpoint::open_safetensors(const std::string& file_path) {
  files_.emplace_back(file_path);
  for (EncodedTensor& tensor : parse_safetensors(files_.back().bytes(), file_path)) add(std::move(tensor));
}

inline void Checkpoint::open_gguf(std::span<const std::byte> bytes) {
  gguf_ = parse_gguf(bytes, path_);
  config_ = llama_config(*gguf_);
  for (const EncodedTensor& tensor : gguf_->tensors) {
    if (tensor.name == "rope_freqs.weight") continue;  // is "rope_scaling" in the config
    EncodedTensor renamed = tensor;
    renamed.name = huggingface_tensor_name(tensor.name);
    add(std::move(renamed));
  }
}

inline void Checkpoint::add(EncodedTensor tensor) {
  size_bytes_ += tensor.bytes.size();
  std::string name = tensor.name;
  const auto [place, added] = tensors_.try_emplace(std::move(name), std::move(tensor));
  if (!added) fail(ErrorCode::malformed, path_, ": tensor ", detail::quoted_name(place->first), " appears twice");
}

inline const EncodedTensor* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

inline std::vector<std::string> Checkpoint::names() const {
  std::vector<std::string> all;
  all.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) all.push_back(name);
  return all;
}

inline void Checkpoint::release(std::span<const std::byte> bytes) const noexcept {
  for (const MappedFile& file : files_) {
    const std::byte* begin = file.bytes().data();
    const std::byte* end = begin + file.bytes().size();
    if (std::less_equal<>()(begin, bytes.data()) && std::less_equal<>()(bytes.data() + bytes.size(), end))
      file.release(bytes);
  }
}

}  // namespace tulle
