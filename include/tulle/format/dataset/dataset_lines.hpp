// SPDX-License-Identifier: Apache-2.0
/// \file The lines of a dataset's file (L3).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/format/dataset/dataset_input.hpp>

namespace tulle {

/// Bytes that a row of a dataset may have.
inline constexpr std::size_t max_row_bytes = std::size_t{64} << 20;

/// Lines end at "\n" or "\r\n"; the last one may lack it.
/// Lifetime: `input` must outlive it. Threads: one at a time.
class DatasetLines {
 public:
  explicit DatasetLines(DatasetInput& input) : input_(input) {}

  /// The next line without its end, valid until the next call; nothing at the end of the file.
  /// Errors: capacity for a line of more than `max_row_bytes`; those of `DatasetInput::next`.
  std::optional<std::string_view> next() {
    line_.clear();
    bool begun = false;
    while (true) {
      if (block_.empty()) {
        block_ = input_.next();
        if (block_.empty()) {
          if (!begun) return std::nullopt;
          ++number_;
          return without_return(line_);
        }
      }
      const std::size_t end = block_.find('\n');
      const std::string_view piece = block_.substr(0, end);
      if (piece.size() > max_row_bytes - line_.size()) {
        fail(ErrorCode::capacity, input_.path(), ": line ", number_ + 1, " has more than ", max_row_bytes, " bytes");
      }
      block_.remove_prefix(end == std::string_view::npos ? block_.size() : end + 1);
      if (end != std::string_view::npos) {
        ++number_;
        if (!begun) return without_return(piece);
        line_ += piece;
        return without_return(line_);
      }
      line_ += piece;
      begun = true;
    }
  }

  std::size_t number() const noexcept { return number_; }  ///< of the last line, from 1

  /// "data.jsonl, line 7", for messages about the last line.
  std::string where() const { return input_.path() + ", line " + std::to_string(number_); }

 private:
  static std::string_view without_return(std::string_view line) noexcept {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  DatasetInput& input_;
  std::string_view block_;  // what was not read yet
  std::string line_;        // one that lies in two blocks
  std::size_t number_ = 0;
};

}  // namespace tulle
