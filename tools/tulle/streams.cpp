// SPDX-License-Identifier: Apache-2.0
#include "streams.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <tulle/core/error.hpp>
#include <tulle/text/utf8.hpp>
#include <utility>

using tulle::ErrorCode;

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 16;

/// Appends up to a block; returns how many bytes came, 0 at the end.
std::size_t read_block(int file, std::string& text, const std::string& name) {
  const std::size_t size = text.size();
  text.resize(size + block_bytes);
  ssize_t count;
  do {
    count = ::read(file, text.data() + size, block_bytes);
  } while (count < 0 && errno == EINTR);
  if (count < 0) tulle::fail(ErrorCode::io, "cannot read ", name, ": ", std::strerror(errno));
  text.resize(size + static_cast<std::size_t>(count));
  return static_cast<std::size_t>(count);
}

/// True when something can be read (or the end is reached) before `stop` is set.
bool wait_for_input(int file, const std::atomic<bool>& stop) noexcept {
  constexpr int look_every_ms = 100;
  while (!stop.load()) {
    pollfd waited{file, POLLIN, 0};
    if (::poll(&waited, 1, look_every_ms) > 0) return true;
  }
  return false;
}

}  // namespace

bool is_terminal(int file) noexcept {
  return ::isatty(file) == 1;
}

std::string read_all(int file, const std::string& name) {
  std::string text;
  while (read_block(file, text, name) != 0) {
  }
  return text;
}

std::string read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    tulle::fail(errno == ENOENT ? ErrorCode::not_found : ErrorCode::io, "cannot open ", path, ": ",
                std::strerror(errno));
  }
  try {
    std::string text = read_all(file, path);
    ::close(file);
    return text;
  } catch (...) {
    ::close(file);
    throw;
  }
}

void require_utf8(std::string_view text, const std::string& what) {
  for (std::size_t at = 0; at < text.size();) {
    const tulle::Utf8Step step = tulle::decode_utf8(text, at);
    if (step.kind != tulle::Utf8Step::Kind::valid) {
      tulle::fail(ErrorCode::invalid_argument, what, " is not valid UTF-8 at byte ", at, "; convert it to UTF-8");
    }
    at += step.length;
  }
}

void Output::write(std::string_view text) {
  buffer_ += text;
  if (buffer_.size() >= block_bytes) flush();
}

void Output::flush() {
  std::size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t count = ::write(standard_output, buffer_.data() + written, buffer_.size() - written);
    if (count < 0 && errno != EINTR) {
      buffer_.clear();
      tulle::fail(ErrorCode::io, "cannot write to standard output: ", std::strerror(errno));
    }
    if (count > 0) written += static_cast<std::size_t>(count);
  }
  buffer_.clear();
}

std::optional<std::string> LineReader::next(Output& output, const std::atomic<bool>* stop) {
  for (;;) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      std::string line = buffer_.substr(begin_, end - begin_);
      begin_ = searched_ = end + 1;
      ++lines_;
      return line;
    }
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched_ = buffer_.size();
    output.flush();
    if (stop != nullptr && !wait_for_input(standard_input, *stop)) return std::nullopt;
    if (read_block(standard_input, buffer_, "standard input") != 0) continue;
    if (buffer_.empty()) return std::nullopt;
    searched_ = 0;
    ++lines_;
    return std::exchange(buffer_, {});
  }
}
