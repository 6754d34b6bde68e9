// SPDX-License-Identifier: Apache-2.0
/// \file A file that takes its name only when it is complete (L3).
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <tulle/core/error.hpp>

namespace tulle {

/// Written under the name PATH.part, which `finish` changes to PATH. Without it the file is removed with the object, so
/// that a full disk leaves nothing half written.
class OutputFile {
 public:
  /// Errors: io.
  explicit OutputFile(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
    file_.reset(std::fopen(part_.c_str(), "wb"));
    if (!file_) fail_io("create");
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (finished_) return;
    const bool was_created = file_ != nullptr || closed_;
    file_.reset();
    std::error_code ignored;
    if (was_created) std::filesystem::remove(part_, ignored);
  }

  std::uint64_t size() const noexcept { return size_; }  ///< written so far

  /// Errors: io.
  void write(std::span<const std::byte> bytes) {
    if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size()) fail_io("write");
    size_ += bytes.size();
  }
  void write(std::string_view text) { write(std::as_bytes(std::span(text.data(), text.size()))); }

  /// Zeros up to a multiple of `alignment`. Errors: io.
  void pad(std::size_t alignment) {
    while (size_ % alignment != 0) write(std::string_view("\0", 1));
  }

  /// The file is complete. Errors: io.
  void finish() {
    closed_ = true;
    if (std::fclose(file_.release()) != 0) fail_io("write");
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail_io("rename");
    finished_ = true;
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  [[noreturn]] void fail_io(const char* what) const {
    fail(ErrorCode::io, "cannot ", what, " ", part_, ": ", std::strerror(errno));
  }

  std::string path_, part_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t size_ = 0;
  bool closed_ = false, finished_ = false;
};

/// A whole file at once. Errors: io.
inline void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.finish();
}

}  // namespace tulle
