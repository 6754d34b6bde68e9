// SPDX-License-Identifier: Apache-2.0
/// \file An opened model: a Hugging Face directory or a GGUF file, behind one set of names (L3).
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/lora/adapter_path.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// Config and tensors of a model, with Hugging Face's names, spelling and order of rows whatever the file's format is.
/// Files on disk stay mapped as long as the object lives, lent files are read when a tensor is; nothing is decoded.
/// Threads: immutable once opened.
class Checkpoint final : public TensorSource {
 public:
  /// `path`: a directory with config.json and safetensors or pytorch_model.bin (one file, or shards with an index), a
  /// .safetensors file in one, a GGUF file (known by its first bytes), or a directory that holds exactly one .gguf file.
  /// Of a model in parts (gguf-split) the first one; the others lie beside it.
  /// Errors: not_found, io, malformed, unsupported.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

  /// The same with adapters merged into the weights as they are read: see format/README.md. Floats stay of their type,
  /// matrices of codes become F32 where an adapter changes them.
  /// Errors: those of `open`; invalid_argument, and not_found or malformed for an adapter of another model.
  static std::shared_ptr<const Checkpoint> open(const std::string& path, const std::vector<AdapterPath>& adapters);

  /// The same files lent by the caller, who keeps what they are read with for as long as the checkpoint lives.
  static std::shared_ptr<const Checkpoint> open(const ModelFiles& files);

  /// A GGUF file that is already in memory. `where` names it in messages.
  static std::shared_ptr<const Checkpoint> from_gguf_bytes(std::vector<std::byte> bytes, const std::string& where);

  /// The same over bytes that the caller keeps for as long as the checkpoint lives.
  static std::shared_ptr<const Checkpoint> over_gguf_bytes(std::span<const std::byte> bytes, const std::string& where);

  const std::string& path() const noexcept { return parts_.path; }
  std::string_view format_name() const noexcept { return parts_.format; }
  const Json& config() const noexcept { return parts_.config; }
  const Json& generation_config() const noexcept { return parts_.generation_config; }      ///< {} where there is none
  const GgufFile* gguf() const noexcept { return parts_.gguf ? &*parts_.gguf : nullptr; }  ///< nullptr for safetensors
  std::size_t size_bytes() const noexcept { return parts_.tensors.size_bytes(); }  ///< of all tensors, as encoded

  const std::vector<AdapterPath>& adapters() const noexcept { return adapters_; }  ///< those that are merged

  /// Whether an adapter changes the matrix of a layer.
  bool is_adapted(const std::string& name) const noexcept { return adapted_.contains(name); }

  const EncodedTensor* find(std::string_view name) const override { return tensors().find(name); }
  std::vector<std::string> names() const override { return parts_.tensors.names(); }
  std::shared_ptr<const WeightSource> matrix(const std::string& name) const override { return tensors().matrix(name); }
  std::span<const std::byte> read(const EncodedTensor& tensor) const override { return tensors().read(tensor); }
  void release(std::span<const std::byte> bytes) const noexcept override { tensors().release(bytes); }

 private:
  explicit Checkpoint(std::string path) { parts_.path = std::move(path); }

  const TensorSource& tensors() const noexcept { return merged_ == nullptr ? parts_.tensors : *merged_; }

  void open_path();
  void open_first(const ModelFiles& files);
  void open_with(const CheckpointOpener& opener, const ModelFiles& files, const std::string& name);
  void open_bytes(std::span<const std::byte> bytes);

  std::vector<std::byte> memory_;
  CheckpointParts parts_;
  std::vector<AdapterPath> adapters_;
  std::set<std::string> adapted_;               // layers
  std::shared_ptr<const TensorSource> merged_;  // over `parts_`, where there are adapters
};

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/format/checkpoint_inline.hpp>
#endif
