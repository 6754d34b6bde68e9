// SPDX-License-Identifier: Apache-2.0
/// \file Definitions for export_model.hpp (L3).
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tulle/core/compiled.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/json.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/format/export/bitmask_form.hpp>
#include <tulle/format/export/compressed_tensors_form.hpp>
#include <tulle/format/export/export_model.hpp>
#include <tulle/format/export/export_notes.hpp>
#include <tulle/format/export/gguf_form.hpp>
#include <tulle/format/gguf_writer.hpp>
#include <tulle/format/output_file.hpp>
#include <tulle/format/safetensors_writer.hpp>

namespace tulle {

namespace detail {

/// Files of one directory. What was written is removed with the object unless it is kept.
class ExportFolder {
 public:
  /// What an interrupted export left of a file is removed.
  /// Errors: invalid_argument for one that is not empty, unless it may be replaced; io.
  ExportFolder(const std::string& path, bool replace) : path_(path) {
    std::error_code error;
    const std::filesystem::path folder(path);
    if (std::filesystem::exists(folder, error) && !std::filesystem::is_directory(folder, error)) {
      fail(ErrorCode::invalid_argument, path, " is no directory");
    }
    remove_left_parts(path);
    if (!replace && std::filesystem::is_directory(folder, error) && !std::filesystem::is_empty(folder, error)) {
      fail(ErrorCode::invalid_argument, path, " is not empty; give another directory");
    }
    created_ = std::filesystem::create_directories(folder, error);
    if (error) fail(ErrorCode::io, "cannot create ", path, ": ", error.message());
  }
  ExportFolder(const ExportFolder&) = delete;
  ExportFolder& operator=(const ExportFolder&) = delete;
  ~ExportFolder() {
    if (kept_) return;
    std::error_code ignored;
    for (const std::string& name : names_) std::filesystem::remove(std::filesystem::path(path_) / name, ignored);
    if (created_) std::filesystem::remove(path_, ignored);
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

  bool has(const char* name) const { return std::filesystem::exists(std::filesystem::path(path_) / name); }

  /// Removes the parts of a model that was written here in several files before: readers follow its index.
  void remove_replaced_parts() const {
    const std::filesystem::path index = std::filesystem::path(path_) / "model.safetensors.index.json";
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(index, ignored)) return;
    Json parts;
    try {
      const Json json = parse_json(MappedFile(index.string()).text(), index.string());
      if (json.is_object()) parts = json.value("weight_map", Json());
    } catch (const Error&) {  // it names nothing
    }
    for (const Json& part : parts) {
      const std::string name = part.is_string() ? part.get<std::string>() : "";
      const bool is_own = std::find(names_.begin(), names_.end(), name) != names_.end();
      if (is_own || !name.ends_with(".safetensors") || name.find('/') != std::string::npos) continue;
      std::filesystem::remove(std::filesystem::path(path_) / name, ignored);
    }
    std::filesystem::remove(index, ignored);
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
  bool created_ = false, kept_ = false;
};

}  // namespace detail

TULLE_INLINE ExportReport export_model(const TensorSource& tensors, const ModelDescription& model,
                                       const std::string& directory, const ExportOptions& options) {
  detail::ExportFolder folder(directory, options.replace);
  ExportReport report;
  report.notes = model.notes;
  const auto keep = [&](const ExportNotes& notes) {
    const std::vector<std::string> lines = notes.lines();
    report.notes.insert(report.notes.end(), lines.begin(), lines.end());
    folder.keep(report);
    return report;
  };
  if (options.form == ExportForm::gguf) {
    const GgufForm form = gguf_form(tensors, model, options.gguf_type);
    folder.add("model.gguf",
               [&](const std::string& path) { write_gguf(path, form.metadata, form.tensors, options.progress); });
    if (folder.has("model.safetensors") || folder.has("model.safetensors.index.json")) {
      report.notes.push_back(
          "the directory holds a model in safetensors too, which is read where the directory is named: "
          "name model.gguf");
    }
    return keep(form.notes);
  }
  ExportedForm form = options.form == ExportForm::bitmask ? bitmask_form(tensors, model.config)
                                                          : compressed_tensors_form(tensors, model.config);
  folder.add("model.safetensors",
             [&](const std::string& path) { write_safetensors(path, std::move(form.tensors), options.progress); });
  for (const auto& [name, content] : model.files) folder.add_text(name, content);
  if (!model.generation_config.empty()) {
    folder.add_text("generation_config.json", model.generation_config.dump(2) + "\n");
  }
  folder.add_text("config.json", form.config.dump(2) + "\n");
  folder.remove_replaced_parts();
  return keep(form.notes);
}

}  // namespace tulle
