// SPDX-License-Identifier: Apache-2.0
/// \file A disk that is full.
#pragma once

#include <csignal>

#include <sys/resource.h>

namespace tulle::test {

/// While it lives, the process cannot write files of more bytes.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) noexcept : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace tulle::test
