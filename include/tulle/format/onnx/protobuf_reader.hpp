// SPDX-License-Identifier: Apache-2.0
/// \file The fields of a protobuf message, read one after the other, never past its end (L3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <tulle/core/error.hpp>
#include <tulle/format/byte_reader.hpp>

namespace tulle::detail {

/// Protobuf's wire format (protobuf.dev/programming-guides/encoding). A message inside of another is a reader of its own,
/// so nothing recurses unless the caller does. Groups, which proto3 has no more, are refused.
/// Lifetime: that of the bytes. Errors: malformed for what breaks the format, and for a field of another kind than asked.
class ProtobufReader {
 public:
  /// `where` names the file in messages.
  ProtobufReader(std::span<const std::byte> message, std::string_view where) : reader_(message, where) {}

  /// Reads the next field, whatever it is; false at the end.
  bool next() {
    if (reader_.remaining() == 0) return false;
    const std::uint64_t key = varint();
    field_ = key >> 3;
    kind_ = static_cast<Kind>(key & 7);
    switch (kind_) {
      case Kind::varint: number_ = varint(); return true;
      case Kind::eight_bytes: bytes_ = reader_.take(8, "a field"); return true;
      case Kind::bytes: bytes_ = reader_.take(varint(), "a field"); return true;
      case Kind::four_bytes: bytes_ = reader_.take(4, "a field"); return true;
    }
    fail(ErrorCode::malformed, reader_.where(), " is no protobuf: a field of kind ", key & 7);
  }

  /// The number of the field that was read.
  std::uint64_t field() const noexcept { return field_; }

  std::uint64_t number() const { return (require(Kind::varint), number_); }
  std::span<const std::byte> bytes() const { return (require(Kind::bytes), bytes_); }
  std::string_view text() const {
    const std::span<const std::byte> text = bytes();
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  ProtobufReader message() const { return {bytes(), reader_.where()}; }
  float real() const {
    require(Kind::four_bytes);
    float value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    return value;
  }

  /// Calls work(number) for the numbers of a repeated field: one, or all of them packed.
  template <class Work>
  void for_each_number(Work&& work) const {
    if (kind_ == Kind::varint) return work(number_);
    ProtobufReader packed = message();
    while (packed.reader_.remaining() != 0) work(packed.varint());
  }

  /// The bytes of a repeated field of numbers of `width` bytes (4 or 8): one, or all of them packed.
  std::span<const std::byte> fixed(std::size_t width) const {
    if (kind_ != Kind::bytes) require(width == 4 ? Kind::four_bytes : Kind::eight_bytes);
    return bytes_;
  }

 private:
  enum class Kind : std::uint8_t { varint = 0, eight_bytes = 1, bytes = 2, four_bytes = 5 };

  void require(Kind kind) const {
    if (kind_ != kind)
      fail(ErrorCode::malformed, reader_.where(), ": field ", field_, " of a message is of another kind");
  }

  std::uint64_t varint() {
    std::uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = reader_.read<std::uint8_t>("a number");
      if (shift == 63 && byte > 1) break;
      number |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return number;
    }
    fail(ErrorCode::malformed, reader_.where(), " is no protobuf: a number has more than 64 bits");
  }

  ByteReader reader_;
  std::uint64_t field_ = 0;
  Kind kind_ = Kind::varint;
  std::uint64_t number_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace tulle::detail
