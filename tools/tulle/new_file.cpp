// SPDX-License-Identifier: Apache-2.0
#include "new_file.hpp"

#include <cerrno>
#include <cstring>
#include <tulle/core/error.hpp>
#include <utility>

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  file_.reset(std::fopen(path_.c_str(), "ab"));  // keeps what is there
  if (!file_) tulle::fail(tulle::ErrorCode::io, "cannot create ", path_, ": ", std::strerror(errno));
}

void NewFile::write(const std::string& text) {
  if (!file_) return;
  file_.reset(std::freopen(path_.c_str(), "wb", file_.release()));
  const bool written = file_ && std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (!written || std::fclose(file_.release()) != 0)
    tulle::fail(tulle::ErrorCode::io, "cannot write ", path_, ": ", std::strerror(errno));
}
