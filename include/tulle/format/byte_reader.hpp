// SPDX-License-Identifier: Apache-2.0
/// \file Little-endian values read from bytes one after the other, never past their end (L3).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <tulle/core/error.hpp>

namespace tulle::detail {

static_assert(std::endian::native == std::endian::little, "files are little-endian and read in place");

/// A position in the bytes of a file. `where` names the file in messages, `what` the thing that is read.
/// Errors: malformed from every read that would pass the end.
class ByteReader {
 public:
  ByteReader(std::span<const std::byte> bytes, std::string_view where) : bytes_(bytes), where_(where) {}

  std::size_t position() const noexcept { return position_; }
  std::size_t remaining() const noexcept { return bytes_.size() - position_; }
  std::string_view where() const noexcept { return where_; }

  /// The next `size` bytes. `size` is 64 bits wide, as in files, also where std::size_t is not.
  std::span<const std::byte> take(std::uint64_t size, std::string_view what) {
    if (size > remaining()) {
      fail(ErrorCode::malformed, where_, ": ", what, " at byte ", position_, " needs ", size, " bytes, the file has ",
           remaining(), " left; is the file complete?");
    }
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

  /// A count that a file claims, believed only when so many things of at least `smallest` bytes can follow.
  std::size_t count(std::uint64_t claimed, std::size_t smallest, std::string_view what) const {
    if (claimed > remaining() / smallest) {
      fail(ErrorCode::malformed, where_, ": ", what, " is ", claimed, ", more than the ", remaining(),
           " bytes that follow can hold; is the file complete?");
    }
    return static_cast<std::size_t>(claimed);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
  std::size_t position_ = 0;
};

}  // namespace tulle::detail
