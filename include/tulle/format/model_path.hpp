// SPDX-License-Identifier: Apache-2.0
/// \file From the path that a user gave to the files of a model (L3).
#pragma once

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/format/gguf_part_name.hpp>

namespace tulle::detail {

/// Where a model lies: a GGUF file (the first of its parts), or (where that is empty) a directory.
struct ModelPath {
  std::string gguf_file;
  std::string directory;
};

inline std::string join_path(const std::string& directory, std::string_view name) {
  return (std::filesystem::path(directory) / name).string();
}

/// Also true for symbolic links to files, as model caches hold them.
inline bool is_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

inline bool is_directory(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

inline std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

/// False for anything that could lead out of its directory.
inline bool is_plain_file_name(std::string_view name) {
  using std::string_view_literals::operator""sv;
  return !name.empty() && name != "." && name != ".." && name.find_first_of("/\\:\0"sv) == std::string_view::npos;
}

/// Known by the first bytes, not by the name. Errors: not_found when the file cannot be opened, memory.
inline bool is_gguf_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) fail(errno == ENOMEM ? ErrorCode::memory : ErrorCode::not_found, "cannot open ", path);
  char magic[4] = {};
  const std::size_t count = std::fread(magic, 1, sizeof magic, file);
  std::fclose(file);
  return std::string_view(magic, count) == "GGUF";
}

/// The only .gguf file of a directory, or the first part of the only model in parts; "" when there is none.
/// Errors: invalid_argument when there are several models.
inline std::string only_gguf_file(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    if (entry->path().extension() != ".gguf" || !is_file(entry->path().string())) continue;
    names.push_back(entry->path().filename().string());
  }
  if (error) fail(ErrorCode::io, "cannot list ", directory, ": ", error.message());
  const std::optional<std::string> only = only_gguf_model(names);
  if (!only) fail(ErrorCode::invalid_argument, directory, " holds several .gguf files; give the path of one of them");
  return only->empty() ? "" : join_path(directory, *only);
}

/// Of a path that is neither a file nor a directory. `wanted`: what to give instead. Errors: not_found, always.
[[noreturn]] inline void fail_no_file(const std::string& path, std::string_view wanted) {
  std::error_code error;
  const bool is_there = std::filesystem::exists(std::filesystem::symlink_status(path, error));
  fail(ErrorCode::not_found, path, is_there ? " is no regular file and no directory" : ": no such file or directory",
       "; give ", wanted);
}

/// Errors: not_found, unsupported; each names what was looked for.
inline ModelPath resolve_model_path(const std::string& path) {
  if (is_directory(path)) return {"", path};
  if (!is_file(path)) {
    fail_no_file(path, path.starts_with("hf:") ? "what tulle::resolve_model makes of it, the path of a model of the hub"
                                               : "a model directory or a GGUF file");
  }
  if (is_gguf_file(path)) return {path, ""};
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json")) return {"", directory_of(path)};
  if (std::filesystem::path(path).filename() == "model.onnx") return {"", directory_of(path)};
  fail(ErrorCode::unsupported, path, " is neither a GGUF nor a .safetensors file, nor called model.onnx");
}

}  // namespace tulle::detail
