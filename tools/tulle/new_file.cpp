// SPDX-License-Identifier: Apache-2.0
#include "new_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <tulle/core/error.hpp>
#include <utility>

namespace {

/// Whether the first bytes of a file, of which there is at least one, are those of a file of this kind.
bool begins_as(std::string_view bytes, FileKind kind) {
  if (kind == FileKind::any) return true;
  if (kind == FileKind::npy) return bytes.starts_with("\x93NUMPY");
  if (bytes.find('\0') != std::string_view::npos) return false;  // no text
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return true;
  const char first = bytes[begin];
  return kind == FileKind::html ? first == '<' : first == '{' || first == '[';
}

void require_kind(const std::string& path, FileKind kind) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) tulle::fail(tulle::ErrorCode::io, "cannot read ", path, ": ", std::strerror(errno));
  char bytes[4096];
  const std::size_t count = std::fread(bytes, 1, sizeof bytes, file);
  std::fclose(file);
  if (count != 0 && !begins_as({bytes, count}, kind)) {
    tulle::fail(tulle::ErrorCode::invalid_argument, path,
                " is a file of another kind; it is left as it is, choose another name");
  }
}

/// A name of a file that this process has open: a new file of that name would not be the open one.
bool names_open_file(std::string_view path) {
  return path.starts_with("/dev/std") || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

[[noreturn]] void fail_to(const char* what, const std::string& path) {
  tulle::fail(tulle::ErrorCode::io, "cannot ", what, " ", path, ": ", std::strerror(errno));
}

}  // namespace

std::string replaceable_path(const std::string& path, FileKind kind) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  const bool is_there = std::filesystem::exists(status);
  if (names_open_file(path) || (is_there && !std::filesystem::is_regular_file(status))) return "";
  std::string target = tulle::behind_links(path);
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    tulle::fail(tulle::ErrorCode::io, "cannot create ", path, ": its folder does not exist");
  }
  if (std::filesystem::is_symlink(target, ignored)) {
    tulle::fail(tulle::ErrorCode::io, "cannot create ", path, ": it is a link that leads back to itself");
  }
  if (is_there && kind != FileKind::any) require_kind(target, kind);
  return target;
}

NewFile::NewFile(std::string path, FileKind kind) : path_(std::move(path)) {
  if (path_.empty()) return;
  target_ = replaceable_path(path_, kind);
  if (target_.empty()) {
    in_place_.reset(std::fopen(path_.c_str(), "wb"));
    if (!in_place_) fail_to("create", path_);
  } else {
    const tulle::OutputFile trial(target_);  // removed at once
  }
}

void NewFile::append(std::span<const std::byte> bytes) {
  if (path_.empty()) return;
  if (in_place_) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), in_place_.get()) != bytes.size()) fail_to("write", path_);
    return;
  }
  if (!part_) part_.emplace(target_);
  part_->write(bytes);
}

void NewFile::finish() {
  if (path_.empty()) return;
  if (in_place_) {
    if (std::fclose(in_place_.release()) != 0) fail_to("write", path_);
  } else if (part_) {
    part_->finish();
  }
}

void NewFile::write(const std::string& text) {
  append(std::as_bytes(std::span(text)));
  finish();
}
