// SPDX-License-Identifier: Apache-2.0
/// \file The configuration file of `tulle serve`, which may change while it runs.
#pragma once

#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "tools/tulle/streams.hpp"

class ConfigFile {
 public:
  /// An empty path: no file. Errors: not_found, io.
  explicit ConfigFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    time_ = written();
    text_ = read_file(path_);
  }

  const std::string& text() const noexcept { return text_; }

  /// Whether the file holds another text than before, which `text` then gives. False while it cannot be read.
  bool changed() {
    const auto time = written();
    if (path_.empty() || time == time_) return false;
    try {
      const std::string before = std::exchange(text_, read_file(path_));
      time_ = time;
      return text_ != before;
    } catch (const std::exception&) {
      return false;
    }
  }

 private:
  std::filesystem::file_time_type written() const noexcept {
    std::error_code error;
    return std::filesystem::last_write_time(path_, error);
  }

  std::string path_, text_;
  std::filesystem::file_time_type time_;
};
