// SPDX-License-Identifier: Apache-2.0
/// \file Writes a model as a directory that other programs read (L3).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/progress.hpp>
#include <tulle/format/export/bitmask_form.hpp>
#include <tulle/format/export/compressed_tensors_form.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/format/safetensors_writer.hpp>
#include <tulle/tensor/encoded_tensor.hpp>

namespace tulle {

/// What belongs to a model beside its tensors.
struct ModelDescription {
  Json config = Json::object();
  Json generation_config = Json::object();   ///< {}: the model has none
  std::map<std::string, std::string> files;  ///< tokenizer and chat template: content by name
};

enum class ExportForm {
  compressed_tensors,  ///< for transformers and vLLM
  bitmask,             ///< the small form of Tulle (format/README.md)
};

struct ExportOptions {
  ExportForm form = ExportForm::compressed_tensors;
  bool replace = false;  ///< write into a directory that is not empty
  Progress progress{};
};

struct ExportReport {
  std::vector<std::string> files;  ///< that were written, in the directory
  std::uint64_t bytes = 0;         ///< of all of them
  std::vector<std::string> notes;  ///< what differs from the model, one sentence each
};

namespace detail {

/// Files of one directory. What was written is removed with the object unless it is kept.
class ExportFolder {
 public:
  /// Errors: invalid_argument for one that is not empty, unless it may be replaced; io.
  ExportFolder(const std::string& path, bool replace) : path_(path) {
    std::error_code error;
    const std::filesystem::path folder(path);
    if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
      fail(ErrorCode::invalid_argument, path, " is no directory");
    }
    if (!replace && std::filesystem::is_directory(folder, error) && !std::filesystem::is_empty(folder, error)) {
      fail(ErrorCode::invalid_argument, path, " is not empty; give another directory");
    }
    std::filesystem::create_directories(folder, error);
    if (error) fail(ErrorCode::io, "cannot create ", path, ": ", error.message());
  }
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;
  ~ExportFolder() {
    if (kept_) return;
    std::error_code ignored;
    for (const std::string& name : names_) std::filesystem::remove(std::filesystem::path(path_) / name, ignored);
  }

  /// Calls write(path of the file). Errors: those of `write`.
  template <class Write>
  void add(const std::string& name, Write write) {
    write((std::filesystem::path(path_) / name).string());
    names_.push_back(name);
  }
  void add_text(const std::string& name, std::string_view text) {
    add(name, [&](const std::string& path) { write_file(path, text); });
  }

  void keep(ExportReport& report) {
    kept_ = true;
    report.files = names_;
    for (const std::string& name : names_)
      report.bytes += std::filesystem::file_size(std::filesystem::path(path_) / name);
  }

 private:
  std::string path_;
  std::vector<std::string> names_;
  bool kept_ = false;
};

}  // namespace detail

/// Writes config.json, generation_config.json, the tokenizer's files and model.safetensors to `directory`, which is
/// created. config.json comes last, so that what is interrupted is no model. Memory: a few rows of a matrix, and what
/// the source holds of it. `tensors` may be any source, such as one whose matrices are computed.
/// Errors: invalid_argument for a directory that is not empty; io, after which what was written is removed; those of
/// the source.
inline ExportReport export_model(const TensorSource& tensors, const ModelDescription& model,
                                 const std::string& directory, const ExportOptions& options = {}) {
  detail::ExportFolder folder(directory, options.replace);
  ExportedForm form = options.form == ExportForm::bitmask ? bitmask_form(tensors, model.config)
                                                          : compressed_tensors_form(tensors, model.config);
  folder.add("model.safetensors",
             [&](const std::string& path) { write_safetensors(path, std::move(form.tensors), options.progress); });
  for (const auto& [name, content] : model.files) folder.add_text(name, content);
  if (!model.generation_config.empty()) {
    folder.add_text("generation_config.json", model.generation_config.dump(2) + "\n");
  }
  folder.add_text("config.json", form.config.dump(2) + "\n");
  ExportReport report;
  report.notes = std::move(form.notes);
  folder.keep(report);
  return report;
}

}  // namespace tulle
