// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for checkpoint.hpp: the table of the file formats (L3).
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/format/checkpoint.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/gguf_checkpoint.hpp>
#include <tulle/format/lora/adapted_tensors.hpp>
#include <tulle/format/lora/lora_adapter.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/onnx/onnx_checkpoint.hpp>
#include <tulle/format/pytorch/pytorch_checkpoint.hpp>
#include <tulle/format/safetensors_checkpoint.hpp>

namespace tulle {

namespace detail {

/// The first that finds its kind of model opens it. Adding a file format is adding a line here and the header it needs.
inline constexpr std::array checkpoint_openers{safetensors_opener,    shards_opener, pytorch_opener,
                                               pytorch_shards_opener, onnx_opener,   gguf_opener};

}  // namespace detail

TULLE_INLINE std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(path));
  checkpoint->open_path();
  return checkpoint;
}

TULLE_INLINE std::shared_ptr<const Checkpoint> Checkpoint::open(const std::string& path,
                                                                const std::vector<AdapterPath>& adapters) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(path));
  checkpoint->open_path();
  if (adapters.empty()) return checkpoint;
  const CheckpointParts& parts = checkpoint->parts_;
  auto merged = std::make_shared<AdaptedTensors>(&parts.tensors, parts.config);
  for (const AdapterPath& adapter : adapters) {
    if (!std::isfinite(adapter.scale)) {
      fail(ErrorCode::invalid_argument, "the scale of the adapter ", adapter.path, " is no finite number");
    }
    merged->add(std::make_shared<const LoraAdapter>(DirectoryFiles(adapter.path)), adapter.scale);
  }
  checkpoint->adapters_ = adapters;
  checkpoint->adapted_ = merged->modules();
  checkpoint->merged_ = std::move(merged);
  return checkpoint;
}

TULLE_INLINE std::shared_ptr<const Checkpoint> Checkpoint::open(const ModelFiles& files) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(files.where()));
  checkpoint->open_first(files);
  if (checkpoint->gguf() != nullptr) checkpoint->parts_.path = checkpoint->gguf()->where;
  return checkpoint;
}

TULLE_INLINE std::shared_ptr<const Checkpoint> Checkpoint::from_gguf_bytes(std::vector<std::byte> bytes,
                                                                           const std::string& where) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
  checkpoint->memory_ = std::move(bytes);
  checkpoint->open_bytes(checkpoint->memory_);
  return checkpoint;
}

TULLE_INLINE std::shared_ptr<const Checkpoint> Checkpoint::over_gguf_bytes(std::span<const std::byte> bytes,
                                                                           const std::string& where) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint(where));
  checkpoint->open_bytes(bytes);
  return checkpoint;
}

TULLE_INLINE void Checkpoint::open_path() {
  const detail::ModelPath model = detail::resolve_model_path(parts_.path);
  if (model.gguf_file.empty()) return open_first(DirectoryFiles(model.directory));
  const auto [files, name] = detail::split_path(model.gguf_file);
  open_with(gguf_opener, files, name);
}

TULLE_INLINE void Checkpoint::open_first(const ModelFiles& files) {
  for (const CheckpointOpener& opener : detail::checkpoint_openers) {
    if (const std::string name = opener.find(files); !name.empty()) return open_with(opener, files, name);
  }
  if (files.has("config.json")) {
    fail(ErrorCode::not_found, files.where(), " has a config.json but no weights; looked for model.safetensors, ",
         "model.safetensors.index.json, pytorch_model.bin, model.onnx, and for one .gguf file");
  }
  fail(ErrorCode::not_found, files.where(),
       " holds no model; looked for config.json with *.safetensors, and for one .gguf file");
}

TULLE_INLINE void Checkpoint::open_with(const CheckpointOpener& opener, const ModelFiles& files,
                                        const std::string& name) {
  parts_.format = opener.format;
  opener.open(files, name, parts_);
}

TULLE_INLINE void Checkpoint::open_bytes(std::span<const std::byte> bytes) {
  parts_.format = gguf_opener.format;
  open_gguf(std::make_shared<const InputFile>(bytes), nullptr, "", parts_);
}

}  // namespace tulle
