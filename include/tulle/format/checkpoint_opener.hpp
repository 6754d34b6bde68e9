// SPDX-License-Identifier: Apache-2.0
/// \file One way in which a model lies in files, and what is found there (L3).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <tulle/core/json.hpp>
#include <tulle/format/gguf_file.hpp>
#include <tulle/format/model_files.hpp>
#include <tulle/format/tensor_files.hpp>

namespace tulle {

/// Config and tensors with Hugging Face's names, spelling and order of rows.
struct CheckpointParts {
  std::string path;         ///< names the model in messages
  std::string_view format;  ///< that of the opener
  Json config = Json::object();
  Json generation_config = Json::object();  ///< {} where there is none
  std::optional<GgufFile> gguf;
  TensorFiles tensors;
};

struct CheckpointOpener {
  std::string_view format;

  /// The file to begin with where `files` hold a model of this kind, else "".
  /// Errors: invalid_argument where there are several models.
  std::string (*find)(const ModelFiles& files);

  /// Opens the model whose first file is `name`. Errors: those of reading, malformed, unsupported, not_found.
  void (*open)(const ModelFiles& files, const std::string& name, CheckpointParts& parts);
};

}  // namespace tulle
