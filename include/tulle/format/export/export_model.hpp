// SPDX-License-Identifier: Apache-2.0
/// \file Writes a model as a directory that other programs read (L3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tulle/core/progress.hpp>
#include <tulle/format/export/model_description.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

enum class ExportForm {
  compressed_tensors,  ///< for transformers and vLLM
  bitmask,             ///< the small form of Tulle (format/README.md)
  gguf,                ///< for llama.cpp: Llama models
};

struct ExportOptions {
  ExportForm form = ExportForm::compressed_tensors;
  DType gguf_type = DType::q8_0;  ///< of the layers' matrices in a GGUF file: Q8_0, Q4_0 or F16
  bool replace = false;           ///< write into a directory that is not empty
  Progress progress{};
};

struct ExportReport {
  std::vector<std::string> files;  ///< that were written, in the directory
  std::uint64_t bytes = 0;         ///< of all of them
  std::vector<std::string> notes;  ///< what differs from the model, one sentence each
};

/// Writes model.safetensors, the tokenizer's files, generation_config.json and config.json to `directory`, which is
/// created; or model.gguf, which holds all of them. config.json comes last, so that what is interrupted is no model.
/// Memory: a few rows of a matrix, and what the source holds of it. `tensors` may be any source, such as one whose
/// matrices are computed; every matrix is opened two or three times.
/// Errors: invalid_argument for a directory that is not empty; io, after which what was written is removed; unsupported
/// for a model that the form cannot hold; those of the source.
ExportReport export_model(const TensorSource& tensors, const ModelDescription& model, const std::string& directory,
                          const ExportOptions& options = {});

}  // namespace tulle

#ifndef TULLE_COMPILED
#include <tulle/format/export/export_model_inline.hpp>
#endif
