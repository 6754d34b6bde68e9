// SPDX-License-Identifier: Apache-2.0
/// \file A file that is opened before the work begins, so that it can be, and written when it is done.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

class NewFile {
 public:
  /// An empty path is no file: writing to it does nothing. Errors: io.
  explicit NewFile(std::string path);

  /// Writes the whole of it, once. Errors: io.
  void write(const std::string& text);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};
