// SPDX-License-Identifier: Apache-2.0
/// \file The text of a dataset's file, packed by gzip or not, a block at a time (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/mapped_file.hpp>
#include <tulle/format/dataset/gzip_reader.hpp>

namespace tulle {

namespace detail {

[[noreturn]] inline void fail_parquet(const std::string& path) {
  fail(ErrorCode::unsupported, path,
       ": Parquet is not read; convert it to JSON lines first: python3 -c \"import pandas; ",
       "pandas.read_parquet('data.parquet').to_json('data.jsonl', orient='records', lines=True)\"");
}

}  // namespace detail

/// Gives a file's text once, from its beginning to its end, without a byte order mark.
/// Threads: one at a time.
class DatasetInput {
 public:
  /// A file that unpacks to more than `max_bytes` is an error. Errors: not_found, io, memory.
  DatasetInput(const std::string& path, std::uint64_t max_bytes) : path_(path), file_(path), max_bytes_(max_bytes) {
    if (file_.text().starts_with("\x1F\x8B") || path.ends_with(".gz")) gzip_.emplace(file_.text(), path);
  }

  const std::string& path() const noexcept { return path_; }

  /// The next block, valid until the next call; empty at the end.
  /// Errors: malformed for a damaged gzip file, capacity for one that is too large, unsupported for a text that is not
  /// UTF-8 and for Parquet.
  std::string_view next() {
    std::string_view block = gzip_ ? unpacked(*gzip_) : bytes_ == 0 ? file_.text() : std::string_view();
    const bool first = bytes_ == 0;
    bytes_ += block.size();
    if (first) block.remove_prefix(check_beginning(block));
    return block;
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  std::string_view unpacked(GzipReader& gzip) {
    block_.resize(block_bytes);
    const std::string_view block(block_.data(), gzip.read(block_));
    if (block.size() > max_bytes_ - bytes_) {
      fail(ErrorCode::capacity, path_, ": unpacks to more than ", max_bytes_,
           " bytes; read fewer rows, or give a smaller file");
    }
    return block;
  }

  /// The length of the byte order mark.
  std::size_t check_beginning(std::string_view text) const {
    if (text.starts_with("PAR1")) detail::fail_parquet(path_);
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
      fail(ErrorCode::unsupported, path_, ": the text is UTF-16; save it as UTF-8");
    }
    constexpr std::string_view mark = "\xEF\xBB\xBF";
    return text.starts_with(mark) ? mark.size() : 0;
  }

  std::string path_;
  MappedFile file_;
  std::optional<GzipReader> gzip_;
  std::vector<char> block_;  // of a packed file
  std::uint64_t max_bytes_;
  std::uint64_t bytes_ = 0;  // that were given
};

}  // namespace tulle
