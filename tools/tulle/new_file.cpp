// SPDX-License-Identifier: Apache-2.0
#include "new_file.hpp"

#include <cerrno>
#include <cstring>
#include <tulle/core/error.hpp>
#include <utility>

NewFile::NewFile(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) tulle::fail(tulle::ErrorCode::io, "cannot create ", path_, ": ", std::strerror(errno));
}

void NewFile::write(const std::string& text) {
  if (!file_) return;
  const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (std::fclose(file_.release()) != 0 || !written)
    tulle::fail(tulle::ErrorCode::io, "cannot write ", path_, ": ", std::strerror(errno));
}
