// SPDX-License-Identifier: Apache-2.0
/// \file Fields of Protocol Buffers messages (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace tulle::detail {

struct ProtobufField {
  std::uint64_t number = 0;  ///< of the field
  std::uint64_t value = 0;   ///< of a number, its bits
  std::string_view bytes;    ///< of a text or an inner message
  bool has_bytes = false;
};

/// Walks the fields of a message (the wire format of protobuf.dev/programming-guides/encoding).
class ProtobufFields {
 public:
  explicit ProtobufFields(std::string_view message) : rest_(message) {}

  /// Calls `visit(field)` for every field in order. False when the message is broken, or when `visit` returns false.
  template <class Visit>
  bool all_of(Visit&& visit) {
    while (!rest_.empty()) {
      const std::optional<ProtobufField> field = take_field();
      if (!field || !visit(*field)) return false;
    }
    return true;
  }

 private:
  std::optional<ProtobufField> take_field() {
    const std::optional<std::uint64_t> tag = take_varint();
    if (!tag) return std::nullopt;
    ProtobufField field;
    field.number = *tag >> 3;
    switch (*tag & 7) {
      case 0: {
        const std::optional<std::uint64_t> value = take_varint();
        if (!value) return std::nullopt;
        field.value = *value;
        return field;
      }
      case 1: return take_fixed(field, 8);
      case 2: {
        const std::optional<std::uint64_t> length = take_varint();
        const std::optional<std::string_view> bytes = length ? take(*length) : std::nullopt;
        if (!bytes) return std::nullopt;
        field.bytes = *bytes;
        field.has_bytes = true;
        return field;
      }
      case 5: return take_fixed(field, 4);
      default: return std::nullopt;
    }
  }

  std::optional<ProtobufField> take_fixed(ProtobufField field, std::size_t size) {
    const std::optional<std::string_view> bytes = take(size);
    if (!bytes) return std::nullopt;
    std::memcpy(&field.value, bytes->data(), size);
    return field;
  }

  std::optional<std::uint64_t> take_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    return std::nullopt;
  }

  std::optional<std::string_view> take(std::uint64_t length) {
    if (length > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, static_cast<std::size_t>(length));
    rest_.remove_prefix(bytes.size());
    return bytes;
  }

  std::string_view rest_;
};

}  // namespace tulle::detail
