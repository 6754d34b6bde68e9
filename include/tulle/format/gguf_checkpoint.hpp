// SPDX-License-Identifier: Apache-2.0
/// \file GGUF models, in one file or in parts, put into Hugging Face's names and order of rows (L3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/input_file.hpp>
#include <tulle/format/byte_reader.hpp>
#include <tulle/format/checkpoint_opener.hpp>
#include <tulle/format/gguf.hpp>
#include <tulle/format/gguf_config.hpp>
#include <tulle/format/gguf_model.hpp>
#include <tulle/format/gguf_parts.hpp>
#include <tulle/format/gguf_rotary.hpp>
#include <tulle/format/gguf_tensor_names.hpp>

namespace tulle {

/// `file`: the file `name` of `files`, which is nullptr for bytes in memory.
inline void open_gguf(std::shared_ptr<const InputFile> opened, const ModelFiles* files, const std::string& name,
                      CheckpointParts& parts) {
  const InputFile& file = parts.tensors.keep(std::move(opened));
  const std::string where = files == nullptr ? parts.path : files->path(name);
  parts.gguf = detail::parse_head(file, [&](std::span<const std::byte> head) {
    return parse_gguf_head(head, file.size(), where);  // its arrays are views, so the head stays
  });
  std::vector<EncodedTensor>& tensors = parts.gguf->tensors;
  std::vector<const InputFile*> sources(tensors.size(), &file);  // of each tensor
  for (detail::OpenGgufPart& part : detail::open_other_gguf_parts(*parts.gguf, files, name)) {
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(tensors));
    sources.resize(tensors.size(), &parts.tensors.keep(std::move(part.file)));
  }
  const auto is_in_config = [](const EncodedTensor& tensor) {
    const auto& names = detail::gguf_config_tensors;
    return std::find(names.begin(), names.end(), tensor.name) != names.end();
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!sources[i]->in_memory() && !is_in_config(tensors[i])) continue;
    tensors[i].bytes = sources[i]->view(tensors[i].file_offset, tensors[i].size_bytes());
  }
  const GgufModel model = gguf_model(*parts.gguf);
  parts.config = gguf_config(*parts.gguf, model);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (is_in_config(tensors[i])) continue;
    for (EncodedTensor& each : huggingface_tensors(tensors[i], model, where)) {
      parts.tensors.add(std::move(each), *sources[i], where);
    }
  }
}

namespace detail {

/// A directory with weights of Hugging Face's kind was opened by another opener; its config.json alone is no GGUF file.
inline std::string find_gguf(const ModelFiles& files) {
  const std::string name = files.only_gguf();
  return name == "config.json" ? "" : name;
}

inline void open_gguf_file(const ModelFiles& files, const std::string& name, CheckpointParts& parts) {
  open_gguf(files.open(name), &files, name, parts);
}

}  // namespace detail

inline constexpr CheckpointOpener gguf_opener{"gguf", detail::find_gguf, detail::open_gguf_file};

}  // namespace tulle
