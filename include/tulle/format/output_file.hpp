// SPDX-License-Identifier: Apache-2.0
/// \file A file that takes its name only when it is complete (L3).
#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <tulle/core/error.hpp>
#include <tulle/core/huge_pages.hpp>

namespace tulle {

/// The path of the file behind symbolic links, the last of which may name none yet. `OutputFile` puts a file in place of
/// a link, as caches of downloads need it; this is for files that a user names.
inline std::string behind_links(const std::string& path) {
  std::filesystem::path found = path;
  std::error_code error;
  constexpr int most_links = 40;  // as the system has it
  for (int links = 0; links < most_links && std::filesystem::is_symlink(found, error); ++links) {
    found = found.parent_path() / std::filesystem::read_symlink(found, error);
  }
  return found.string();
}

/// Refuses to replace a file that is not empty and does not begin with `magic`: it is not ours. Errors: invalid_argument,
/// and io where the folder is missing.
inline void require_replaceable(const std::string& path, const std::array<char, 8>& magic) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code ignored;
  if (!folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    fail(ErrorCode::io, "cannot write ", path, ": its folder does not exist");
  }
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(ErrorCode::invalid_argument, path, " is no file; choose another name");
  }
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return;
  std::array<char, 8> found = magic;
  const std::size_t count = std::fread(found.data(), 1, found.size(), file);
  std::fclose(file);
  if (count != 0 && (count < found.size() || found != magic)) {
    fail(ErrorCode::invalid_argument, path, " is a file of another kind; it is left as it is, choose another name");
  }
}

/// Removes the parts of files in a directory whose writers (`OutputFile`) were ended before they were done.
inline void remove_left_parts(const std::string& directory) {
  std::error_code ignored;
  std::vector<std::filesystem::path> left;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t dash = name.rfind('-'), digits = name.find_first_not_of("0123456789", dash + 1);
    if (dash == std::string::npos || digits == dash + 1 || digits == std::string::npos) continue;
    const int process = std::atoi(name.c_str() + dash + 1);
    const bool is_part = name.substr(digits) == ".part" && entry.is_regular_file(ignored);
    if (is_part && process > 0 && ::kill(process, 0) != 0 && errno == ESRCH) left.push_back(entry.path());
  }
  for (const std::filesystem::path& path : left) std::filesystem::remove(path, ignored);
}

/// Written under a name of its own, PATH.TIME-PROCESS.part, so that two writers of one path do not disturb each other.
/// `finish` waits for the disk and renames it to PATH. Without it the file is removed with the object, so that a full
/// disk leaves nothing half written.
///
/// Bytes are passed on in aligned pieces of several huge pages: then file systems that can keep the file in huge pages,
/// and a mapping of it reads as fast as other memory.
class OutputFile {
 public:
  enum class Readers { all, owner };  ///< who may read it, as far as the process allows

  /// Errors: io; memory.
  explicit OutputFile(std::string path, Readers readers = Readers::all)
      : path_(std::move(path)),
        part_(path_ + "." + std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "-" +
              std::to_string(::getpid()) + ".part"),
        piece_(std::make_unique_for_overwrite<char[]>(piece_bytes)) {
    const int number =
        ::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, readers == Readers::owner ? 0600 : 0666);
    if (number < 0) fail_io("create");
    file_.reset(::fdopen(number, "wb"));
    if (!file_) fail_io("create");
    std::setvbuf(file_.get(), piece_.get(), _IOFBF, piece_bytes);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (finished_) return;
    file_.reset();
    ::unlink(part_.c_str());
  }

  std::uint64_t size() const noexcept { return size_; }  ///< written so far

  /// Errors: io.
  void write(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;  // an empty span may have no data, which fwrite wants
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail_io("write");
    size_ += bytes.size();
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

  /// Zeros up to a multiple of `alignment`. Errors: io.
  void pad(std::size_t alignment) {
    while (size_ % alignment != 0) write(std::string_view("\0", 1));
  }

  /// The file is complete, and on the disk. Errors: io.
  void finish() {
    if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) fail_io("write");
    if (std::fclose(file_.release()) != 0) fail_io("write");
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail_io("rename");
    finished_ = true;
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (directory < 0) return;
    (void)::fsync(directory);  // the name; not all file systems can
    ::close(directory);
  }

 private:
  static constexpr std::size_t piece_bytes = 4 * HugePages::page_bytes;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void fail_io(const char* what) const {
    fail(ErrorCode::io, "cannot ", what, " ", part_, ": ", std::strerror(errno));
  }

  std::string path_, part_;
  std::unique_ptr<char[]> piece_;
  std::unique_ptr<std::FILE, Close> file_;  // closed before its buffer goes
  std::uint64_t size_ = 0;
  bool finished_ = false;
};

/// A whole file at once. Errors: io.
inline void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace tulle
