// SPDX-License-Identifier: Apache-2.0
/// \file A large file that is on the disk before it takes its name (L3).
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/error.hpp>

namespace tulle {

/// Refuses to replace a file that is not empty and does not begin with `magic`: it is not ours. Errors: invalid_argument.
inline void require_replaceable(const std::string& path, const std::array<char, 8>& magic) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return;
  std::array<char, 8> found = magic;
  const std::size_t count = std::fread(found.data(), 1, found.size(), file);
  std::fclose(file);
  if (count != 0 && (count < found.size() || found != magic)) {
    fail(ErrorCode::invalid_argument, path, " is a file of another kind; it is left as it is, choose another name");
  }
}

/// Written under a name of its own, PATH.TIME-PROCESS.part, so that several writers do not meet. `finish` waits for the
/// disk and renames it to PATH; without it the file is removed with the object. Only its owner may read it.
///
/// Bytes are passed on in aligned pieces of several huge pages: then file systems that can keep the file in huge pages,
/// and a mapping of it reads as fast as other memory.
class DurableFile {
 public:
  /// Errors: io; memory.
  explicit DurableFile(std::string path)
      : path_(std::move(path)),
        part_(path_ + "." + std::to_string(std::chrono::system_clock::now().time_since_epoch().count()) + "-" +
              std::to_string(::getpid()) + ".part"),
        piece_(4 * HugePages::page_bytes, Uninitialized{}),
        file_(::open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    if (file_ < 0) fail_io("create");
  }
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;
  ~DurableFile() {
    if (file_ < 0) return;
    ::close(file_);
    ::unlink(part_.c_str());
  }

  /// Errors: io.
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t count = std::min(bytes.size(), piece_.size() - held_);
      std::memcpy(piece_.data() + held_, bytes.data(), count);
      held_ += count;
      bytes = bytes.subspan(count);
      if (held_ == piece_.size()) flush();
    }
  }

  /// `count` zeros. Errors: io.
  void write_zeros(std::size_t count) {
    constexpr std::byte zeros[64] = {};
    for (; count > 0; count -= std::min<std::size_t>(count, 64)) {
      write(std::span(zeros).first(std::min<std::size_t>(count, 64)));
    }
  }

  /// Errors: io.
  void finish() {
    flush();
    if (::fsync(file_) != 0) fail_io("write");
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail_io("rename");
    ::close(std::exchange(file_, -1));
    std::string folder = std::filesystem::path(path_).parent_path().string();
    const int directory = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC);
    if (directory < 0) return;
    (void)::fsync(directory);  // the name; not all file systems can
    ::close(directory);
  }

 private:
  void flush() {
    for (std::size_t at = 0; at < held_;) {
      const ssize_t count = ::write(file_, piece_.data() + at, held_ - at);
      if (count < 0 && errno != EINTR) fail_io("write");
      if (count > 0) at += static_cast<std::size_t>(count);
    }
    held_ = 0;
  }

  [[noreturn]] void fail_io(const char* what) const {
    fail(ErrorCode::io, "cannot ", what, " ", part_, ": ", std::strerror(errno));
  }

  std::string path_, part_;
  AlignedBuffer<std::byte> piece_;
  std::size_t held_ = 0;
  int file_ = -1;
};

}  // namespace tulle
