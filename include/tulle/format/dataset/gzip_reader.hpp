// SPDX-License-Identifier: Apache-2.0
/// \file The only include of zlib: unpacks a gzip file a block at a time (L3).
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/error.hpp>

namespace tulle {

/// Reads the members of a gzip file (RFC 1952) one after the other; zero bytes may follow the last one. Memory does not
/// depend on the file's size.
/// Lifetime: `packed` must outlive the reader. Threads: one at a time.
class GzipReader {
 public:
  /// `where` names the file in messages. Errors: memory.
  GzipReader(std::string_view packed, std::string where) : packed_(packed), where_(std::move(where)) {
    constexpr int gzip_alone = 16 + MAX_WBITS;  // no zlib or raw streams
    if (inflateInit2(&stream_, gzip_alone) != Z_OK) fail(ErrorCode::memory, where_, ": no memory to unpack it");
  }
  ~GzipReader() { inflateEnd(&stream_); }
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Fills `out` from its beginning and returns how many bytes there were: fewer than `out` holds only at the end.
  /// Errors: malformed for bytes that are not gzip, were changed or end too early.
  std::size_t read(std::span<char> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !finished_) {
      const std::size_t room = std::min(out.size() - filled, max_step);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + filled);
      stream_.avail_out = static_cast<uInt>(room);
      step();
      filled += room - stream_.avail_out;
    }
    return filled;
  }

 private:
  static constexpr std::size_t max_step = std::size_t{1} << 30;  // zlib counts in 32 bits
  static_assert(max_step <= std::numeric_limits<uInt>::max());

  void step() {
    const std::size_t given = std::min(packed_.size(), max_step);
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed_.data()));  // zlib only reads it
    stream_.avail_in = static_cast<uInt>(given);
    const uInt room = stream_.avail_out;
    const int status = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t taken = given - stream_.avail_in;
    packed_.remove_prefix(taken);
    if (status == Z_STREAM_END) return end_member();
    if (status == Z_MEM_ERROR) fail(ErrorCode::memory, where_, ": no memory to unpack it");
    if (status != Z_OK && status != Z_BUF_ERROR) {
      fail(ErrorCode::malformed, where_, ": not a valid gzip file (", stream_.msg == nullptr ? "zlib" : stream_.msg,
           "); is the file complete?");
    }
    if (packed_.empty() && taken == 0 && stream_.avail_out == room) {
      fail(ErrorCode::malformed, where_, ": the gzip file ends too early; is the file complete?");
    }
  }

  void end_member() {
    const std::size_t next = packed_.find_first_not_of('\0');
    finished_ = next == std::string_view::npos;
    if (finished_) return;
    packed_.remove_prefix(next);
    if (inflateReset(&stream_) != Z_OK) fail(ErrorCode::memory, where_, ": no memory to unpack it");
  }

  z_stream stream_{};
  std::string_view packed_;  // what was not read yet
  std::string where_;
  bool finished_ = false;
};

}  // namespace tulle
