// SPDX-License-Identifier: Apache-2.0
/// \file A file to read from: whole in memory, or read in parts by a function of the caller (L0).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/mapped_file.hpp>

namespace tulle {

/// Bytes of a file, loaded on demand and released by the user.
/// Threads: const.
class InputFile {
 public:
  /// Fills `out` with the bytes from `offset` on; throws where it cannot.
  using Read = std::function<void(std::uint64_t offset, std::span<std::byte> out)>;

  /// Maps a file. Errors: those of `MappedFile`.
  explicit InputFile(const std::string& path) : mapped_(path), bytes_(mapped_.bytes()), size_(bytes_.size()) {}

  /// Bytes that the caller keeps alive as long as this object.
  explicit InputFile(std::span<const std::byte> bytes) : bytes_(bytes), size_(bytes.size()) {}

  InputFile(std::uint64_t size, Read read) : size_(size), read_(std::move(read)) {}

  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::uint64_t size() const noexcept { return size_; }

  /// True when a view needs no copy.
  bool in_memory() const noexcept { return !read_; }

  /// `size` bytes from `offset` on, which must lie inside the file. Lifetime: until they are released.
  /// Errors: what reading throws; memory.
  std::span<const std::byte> view(std::uint64_t offset, std::uint64_t size) const {
    if (offset > size_ || size > size_ - offset) {
      fail(ErrorCode::io, size, " bytes at ", offset, " are outside of a file of ", size_);
    }
    if (in_memory()) return bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
    if (size == 0) return {};
    if (size > SIZE_MAX / 2) fail(ErrorCode::memory, "a piece of ", size, " bytes does not fit into memory");
    AlignedBuffer<std::byte> piece(static_cast<std::size_t>(size), Uninitialized{});
    constexpr std::size_t max_bytes = std::size_t{1} << 20;  // at once: a reader may need a buffer of its own
    for (std::size_t at = 0; at < piece.size(); at += max_bytes) {
      read_(offset + at, piece.span().subspan(at, std::min(max_bytes, piece.size() - at)));
    }
    const std::span<const std::byte> bytes = piece.span();
    const std::lock_guard lock(mutex_);
    pieces_.emplace(bytes.data(), std::move(piece));
    return bytes;
  }

  /// The whole file.
  std::span<const std::byte> view() const { return view(0, size_); }
  std::string_view text() const {
    const std::span<const std::byte> bytes = view();
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  /// Releases what `view` returned; bytes of another file are ignored. A file in memory stays valid; its pages may
  /// leave physical memory until they are read again.
  void release(std::span<const std::byte> bytes) const noexcept {
    const std::byte* end = bytes_.data() + bytes_.size();
    if (in_memory()) {
      const bool inside =
          std::less_equal<>()(bytes_.data(), bytes.data()) && std::less_equal<>()(bytes.data() + bytes.size(), end);
      if (inside) mapped_.release(bytes);
      return;
    }
    const std::lock_guard lock(mutex_);
    pieces_.erase(bytes.data());
  }

 private:
  MappedFile mapped_;
  std::span<const std::byte> bytes_;
  std::uint64_t size_ = 0;
  Read read_;
  mutable std::mutex mutex_;
  mutable std::map<const std::byte*, AlignedBuffer<std::byte>> pieces_;  // of a file that is read
};

}  // namespace tulle
