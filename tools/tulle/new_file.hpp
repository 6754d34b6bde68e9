// SPDX-License-Identifier: Apache-2.0
/// \file A file that a user names: checked before the work begins, and written when it is done.
#pragma once

#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tulle/format/output_file.hpp>

/// What a file must hold to be replaced: an array of NumPy, an object or a list of JSON, a page of HTML.
enum class FileKind { any, npy, json, html };

/// Where a file for `path` is put: `path`, or the file behind its links. Empty for what is written in place: a device,
/// a pipe, or a file that is already open, such as /dev/stdout. Errors: invalid_argument for a file that is not empty
/// and of another kind; io.
std::string replaceable_path(const std::string& path, FileKind kind);

/// A regular file takes its name when it is finished, and what had the name before stays until then. Everything else is
/// written in place. Errors of all members: io.
class NewFile {
 public:
  /// Finds out whether the file can be written; creates nothing yet. An empty path is no file: the other members do
  /// nothing. Errors: those of `replaceable_path` too.
  explicit NewFile(std::string path, FileKind kind = FileKind::any);

  void append(std::span<const std::byte> bytes);
  void finish();

  /// Writes the whole of it, once.
  void write(const std::string& text);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_, target_;  // `target_` is empty in place
  std::unique_ptr<std::FILE, Close> in_place_;
  std::optional<tulle::OutputFile> part_;  // from the first bytes on: an interrupt before them leaves no part behind
};
