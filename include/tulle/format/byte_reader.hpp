// SPDX-License-Identifier: Apache-2.0
/// \file Little-endian values read from bytes one after the other, never past their end (L3).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <tulle/core/error.hpp>
#include <tulle/core/input_file.hpp>

namespace tulle::detail {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read in place");

/// Thrown by reads that need more of a file than its head, to `parse_head` alone.
struct HeadTooShort {
  std::uint64_t needed;  ///< bytes from the file's start
};

/// A position in the bytes of a file. `where` names the file in messages, `what` the thing that is read.
/// Errors: malformed from every read that would pass the end of the file.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view where) : ByteReader(bytes, bytes.size(), where) {}

  /// The first bytes of a file of `file_size`.
  ByteReader(std::span<const std::byte> head, std::uint64_t file_size, std::string_view where)
      : bytes_(head), file_size_(file_size), where_(where) {}

  std::size_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return file_size_ - position_; }
  std::string_view where() const noexcept { return where_; }

  /// The next `size` bytes. `size` is 64 bits wide, as in files, also where std::size_t is not.
  std::span<const std::byte> take(std::uint64_t size, std::string_view what) {
    if (size > remaining()) {
      fail(ErrorCode::malformed, where_, ": ", what, " at byte ", position_, " needs ", size, " bytes, the file has ",
           remaining(), " left; is the file complete?");
    }
    if (size > bytes_.size() - position_) throw HeadTooShort{position_ + size};
    const auto taken = bytes_.subspan(position_, static_cast<std::size_t>(size));
    position_ += taken.size();
    return taken;
  }

  template <class T>
    requires std::is_arithmetic_v<T>
  T read(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  std::string_view text(std::uint64_t size, std::string_view what) {
    const auto taken = take(size, what);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  /// A count from a file, accepted only when so many elements of at least `smallest` bytes can follow.
  std::size_t count(std::uint64_t claimed, std::size_t smallest, std::string_view what) const {
    if (claimed > remaining() / smallest) {
      fail(ErrorCode::malformed, where_, ": ", what, " is ", claimed, ", more than the ", remaining(),
           " bytes that follow can hold; is the file complete?");
    }
    return static_cast<std::size_t>(claimed);
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t file_size_;
  std::string_view where_;
  std::size_t position_ = 0;
};

/// What `parse(head)` makes of a file's first bytes, as many as it turns out to need; they stay in memory.
template <class Parse>
auto parse_head(const InputFile& file, Parse&& parse) {
  constexpr std::uint64_t first = std::uint64_t{1} << 20;
  std::uint64_t size = file.in_memory() ? file.size() : std::min(file.size(), first);
  while (true) {
    const std::span<const std::byte> head = file.view(0, size);
    try {
      return parse(head);
    } catch (const HeadTooShort& short_head) {
      file.release(head);
      size = std::min(file.size(), std::max(short_head.needed, 2 * size));
    }
  }
}

}  // namespace tulle::detail
