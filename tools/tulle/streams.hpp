// SPDX-License-Identifier: Apache-2.0
/// \file Standard input by lines, standard output with its errors noticed.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

inline constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

bool is_terminal(int file) noexcept;

/// Everything that can still be read from a file descriptor. Errors: io, which calls it `name`.
std::string read_all(int file, const std::string& name);

/// A whole file, which may be a pipe. Errors: not_found, io.
std::string read_file(const std::string& path);

/// Errors: invalid_argument with the offset of the first byte that is not UTF-8; `what` names the text.
void require_utf8(std::string_view text, const std::string& what);

/// Writes to standard output. Text is buffered until `flush`, or until the buffer is full.
/// Errors: io when the text cannot be written.
class Output {
 public:
  void write(std::string_view text);
  void flush();

 private:
  std::string buffer_;
};

/// Lines of standard input, without their '\n'; a '\r' is part of its line. The last line may lack its '\n'.
class LineReader {
 public:
  /// The next line, or nothing at the end of input and when `stop` becomes true meanwhile. Before it waits for more
  /// input it flushes `output`, so that another program can use this one interactively. Errors: io.
  std::optional<std::string> next(Output& output, const std::atomic<bool>* stop = nullptr);

  std::size_t lines() const noexcept { return lines_; }  ///< read so far

 private:
  std::string buffer_;
  std::size_t begin_ = 0, searched_ = 0, lines_ = 0;
};
