// SPDX-License-Identifier: Apache-2.0
/// \file An opened model: a Hugging Face directory or a GGUF file, behind one set of names (L3).
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/gguf_checkpoint.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/safetensors_checkpoint.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// The first that finds its kind of model opens it. Adding a file format is adding a line here and the header it needs.
inline constexpr std::array checkpoint_openers{safetensors_opener, shards_opener, pytorch_refusal,
                                               pytorch_shards_refusal, gguf_opener};

/// Config and tensors of a model, with Hugging Face's names, spelling and order of rows whatever the file's format is.
/// Files on disk stay mapped as long as the object lives, lent files are read when a tensor is; nothing is decoded.
/// Threads: immutable once opened.
class Checkpoint final : public TensorSource {
 public:
  /// `path`: a directory with config.json and safetensors (one file, or shards with an index), a .safetensors file in
  /// one, a GGUF file (known by its first bytes), or a directory that holds exactly one .gguf file. Of a model in parts
  /// (gguf-split) the first one; the others lie beside it.
  /// Errors: not_found, io, malformed, unsupported.
  static std::shared_ptr<const Checkpoint> open(const std::string& path) {
    const detail::ModelPath model = detail::resolve_model_path(path);
    std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(path));
    if (model.gguf_file.empty()) {
      checkpoint->open_first(DirectoryFiles(model.directory));
    } else {
      const auto [files, name] = detail::split_path(model.gguf_file);
      checkpoint->open_with(gguf_opener, files, name);
    }
    return checkpoint;
  }

  /// The same files lent by the caller, who keeps what they are read with for as long as the checkpoint lives.
  static std::shared_ptr<const Checkpoint> open(const ModelFiles& files) {
    std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(files.where()));
    checkpoint->open_first(files);
    if (checkpoint->gguf() != nullptr) checkpoint->parts_.path = checkpoint->gguf()->where;
    return checkpoint;
  }

  /// A GGUF file that is already in memory. `where` names it in messages.
  static std::shared_ptr<const Checkpoint> from_gguf_bytes(std::vector<std::byte> bytes, const std::string& where) {
    std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
    checkpoint->memory_ = std::move(bytes);
    checkpoint->open_bytes(checkpoint->memory_);
    return checkpoint;
  }

  /// The same over bytes that the caller keeps for as long as the checkpoint lives.
  static std::shared_ptr<const Checkpoint> over_gguf_bytes(std::span<const std::byte> bytes, const std::string& where) {
    std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
    checkpoint->open_bytes(bytes);
    return checkpoint;
  }

  const std::string& path() const noexcept { return parts_.path; }
  std::string_view format_name() const noexcept { return parts_.format; }
  const Json& config() const noexcept { return parts_.config; }
  const Json& generation_config() const noexcept { return parts_.generation_config; }      ///< {} where there is none
  const GgufFile* gguf() const noexcept { return parts_.gguf ? &*parts_.gguf : nullptr; }  ///< nullptr for safetensors
  std::size_t size_bytes() const noexcept { return parts_.tensors.size_bytes(); }  ///< of all tensors, as encoded

  const EncodedTensor* find(std::string_view name) const override { return parts_.tensors.find(name); }
  std::vector<std::string> names() const override { return parts_.tensors.names(); }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override {
    return parts_.tensors.matrix(name);
  }
  std::span<const std::byte> read(const EncodedTensor& tensor) const override { return parts_.tensors.read(tensor); }
  void release(std::span<const std::byte> bytes) const noexcept override { parts_.tensors.release(bytes); }

 private:
  explicit Checkpoint(std::string path) { parts_.path = std::move(path); }

  void open_first(const ModelFiles& files) {
    for (const CheckpointOpener& opener : checkpoint_openers) {
      if (const std::string name = opener.find(files); !name.empty()) return open_with(opener, files, name);
    }
    if (files.has("config.json")) {
      fail(ErrorCode::not_found, files.where(), " has a config.json but no weights; looked for model.safetensors, ",
           "model.safetensors.index.json, and for one .gguf file");
    }
    fail(ErrorCode::not_found, files.where(),
         " holds no model; looked for config.json with *.safetensors, and for one .gguf file");
  }

  void open_with(const CheckpointOpener& opener, const ModelFiles& files, const std::string& name) {
    parts_.format = opener.format;
    opener.open(files, name, parts_);
  }

  void open_bytes(std::span<const std::byte> bytes) {
    parts_.format = gguf_opener.format;
    open_gguf(std::make_shared<const InputFile>(bytes), nullptr, "", parts_);
  }

  std::vector<std::byte> memory_;
  CheckpointParts parts_;
};

}  // namespace tulle
