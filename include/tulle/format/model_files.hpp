// SPDX-License-Identifier: Apache-2.0
/// \file The files of one model by name, in a directory or lent by the caller (L3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>
#include <tulle/core/json.hpp>
#include <tulle/format/gguf_part_name.hpp>
#include <tulle/format/json_file.hpp>
#include <tulle/format/model_path.hpp>
#include <tulle/format/quoted_name.hpp>

namespace tulle {

/// The files of one model, for the readers of its parts.
class ModelFiles {
 public:
  virtual ~ModelFiles() = default;

  virtual bool has(const std::string& name) const = 0;

  /// Errors: not_found, io.
  virtual std::shared_ptr<const InputFile> open(const std::string& name) const = 0;

  /// The only .gguf file, or the first part of the only model in parts; "" when there is none.
  /// Errors: invalid_argument when there are several models.
  virtual std::string only_gguf() const = 0;

  /// Whether two files that are there lie in one directory once links are followed.
  virtual bool lies_beside(const std::string& name, const std::string& other) const = 0;

  /// Names a file in messages.
  virtual std::string path(const std::string& name) const = 0;

  /// Names the whole in messages.
  virtual std::string where() const = 0;

  /// The object that a file holds. Errors: not_found, io, malformed.
  Json json(const std::string& name) const { return detail::parse_json_object(open(name)->text(), path(name)); }

  /// The same of a file that may be missing: null then.
  Json optional_json(const std::string& name) const { return has(name) ? json(name) : Json(); }
};

/// The files of a directory; "" is the current one.
class DirectoryFiles final : public ModelFiles {
 public:
  explicit DirectoryFiles(std::string directory) : directory_(std::move(directory)) {}

  bool has(const std::string& name) const override { return detail::is_file(path(name)); }
  std::shared_ptr<const InputFile> open(const std::string& name) const override {
    return std::make_shared<const InputFile>(path(name));
  }
  std::string only_gguf() const override {
    return std::filesystem::path(detail::only_gguf_file(where())).filename().string();
  }
  bool lies_beside(const std::string& name, const std::string& other) const override {
    std::error_code error, other_error;
    const auto file = std::filesystem::canonical(path(name), error);
    const auto other_file = std::filesystem::canonical(path(other), other_error);
    return !error && !other_error && file.parent_path() == other_file.parent_path();
  }
  std::string path(const std::string& name) const override { return detail::join_path(directory_, name); }
  std::string where() const override { return directory_.empty() ? "." : directory_; }

 private:
  std::string directory_;
};

namespace detail {

/// A path to a file as the files beside it, and its name.
inline std::pair<DirectoryFiles, std::string> split_path(const std::string& path) {
  const std::filesystem::path parts(path);
  return {DirectoryFiles(parts.parent_path().string()), parts.filename().string()};
}

}  // namespace detail

/// Files that are read by functions of the caller.
class GivenFiles final : public ModelFiles {
 public:
  struct File {
    std::string name;
    std::uint64_t size;
    InputFile::Read read;
  };

  /// Errors: invalid_argument for a name that is given twice, or is no plain file name.
  explicit GivenFiles(std::vector<File> files) : files_(std::move(files)) {
    for (const File& file : files_) {
      const auto same = [&](const File& other) { return other.name == file.name; };
      if (!detail::is_plain_file_name(file.name)) {
        fail(ErrorCode::invalid_argument, detail::quoted_name(file.name), " is no plain file name; leave folders out");
      }
      if (std::count_if(files_.begin(), files_.end(), same) != 1) {
        fail(ErrorCode::invalid_argument, "the file ", detail::quoted_name(file.name), " is given twice");
      }
    }
  }

  bool has(const std::string& name) const override { return find(name) != nullptr; }
  std::shared_ptr<const InputFile> open(const std::string& name) const override {
    const File* file = find(name);
    if (file == nullptr) fail(ErrorCode::not_found, "the files that were given lack ", detail::quoted_name(name));
    return std::make_shared<const InputFile>(file->size, file->read);
  }
  std::string only_gguf() const override {
    if (files_.size() == 1) return files_.front().name;  // what is downloaded may be called anything
    std::vector<std::string> names;
    for (const File& file : files_) {
      if (file.name.ends_with(".gguf")) names.push_back(file.name);
    }
    const auto only = detail::only_gguf_model(names);
    if (!only) fail(ErrorCode::invalid_argument, "several .gguf files were given; give one of them");
    return *only;
  }
  bool lies_beside(const std::string&, const std::string&) const override { return true; }
  std::string path(const std::string& name) const override { return name; }
  std::string where() const override { return "the files that were given"; }

 private:
  const File* find(const std::string& name) const {
    const auto found = std::find_if(files_.begin(), files_.end(), [&](const File& file) { return file.name == name; });
    return found == files_.end() ? nullptr : &*found;
  }

  std::vector<File> files_;
};

}  // namespace tulle
