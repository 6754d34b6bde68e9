// SPDX-License-Identifier: Apache-2.0
/// \file What the sentencepiece library does not check before it reads a model (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace tulle::detail {

/// Walks the fields of a Protocol Buffers message (the wire format of protobuf.dev/programming-guides/encoding).
class ProtobufFields {
 public:
  explicit ProtobufFields(std::string_view message) : rest_(message) {}

  /// Calls `visit(number, bytes)` for every field that has a length. False when the message is broken, or `visit` is.
  template <class Visit>
  bool all_of(Visit&& visit) {
    while (!rest_.empty()) {
      const std::optional<std::uint64_t> tag = take_varint();
      if (!tag) return false;
      switch (*tag & 7) {
        case 0:
          if (!take_varint()) return false;
          break;
        case 1:
          if (!take(8)) return false;
          break;
        case 2: {
          const std::optional<std::uint64_t> length = take_varint();
          const std::optional<std::string_view> bytes = length ? take(*length) : std::nullopt;
          if (!bytes || !visit(*tag >> 3, *bytes)) return false;
          break;
        }
        case 5:
          if (!take(4)) return false;
          break;
        default: return false;
      }
    }
    return true;
  }

 private:
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
    const std::string_view bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return bytes;
  }

  std::string_view rest_;
};

/// True when no walk through a character map leaves it. The map is: the size of a trie in bytes (u32), the trie (a
/// double array of u32 units in the layout of darts-clone), and NUL-terminated strings, which the leaves point into.
inline bool is_sound_character_map(std::string_view map) {
  if (map.empty()) return true;
  std::uint32_t trie_bytes = 0;
  if (map.size() < sizeof(trie_bytes)) return false;
  std::memcpy(&trie_bytes, map.data(), sizeof(trie_bytes));
  map.remove_prefix(sizeof(trie_bytes));
  if (trie_bytes >= map.size() || trie_bytes < sizeof(std::uint32_t) || map.back() != '\0') return false;
  const std::size_t strings = map.size() - trie_bytes;
  std::vector<std::uint32_t> units(trie_bytes / sizeof(std::uint32_t));
  std::memcpy(units.data(), map.data(), units.size() * sizeof(std::uint32_t));

  std::vector<bool> is_seen(units.size(), false);
  std::vector<std::size_t> pending{0};
  while (!pending.empty()) {
    const std::size_t node = pending.back();
    pending.pop_back();
    const std::uint32_t unit = units[node];
    const std::size_t children = node ^ static_cast<std::size_t>((unit >> 10) << ((unit & 0x200u) >> 6));
    if ((children | 0xFF) >= units.size()) return false;
    const bool has_leaf = (unit & 0x100u) != 0;
    if (has_leaf && (units[children] & 0x7FFFFFFFu) >= strings) return false;
    for (std::uint32_t label = 1; label < 256; ++label) {
      const std::size_t child = children ^ label;
      if ((units[child] & 0x800000FFu) != label || is_seen[child]) continue;
      is_seen[child] = true;
      pending.push_back(child);
    }
  }
  return true;
}

/// True when the character maps of a model (ModelProto: normalizer_spec is field 3, denormalizer_spec 5; their
/// precompiled_charsmap is field 2) can be walked without leaving them.
inline bool has_sound_character_maps(std::string_view model) {
  return ProtobufFields(model).all_of([](std::uint64_t number, std::string_view bytes) {
    if (number != 3 && number != 5) return true;
    return ProtobufFields(bytes).all_of(
        [](std::uint64_t inner, std::string_view map) { return inner != 2 || is_sound_character_map(map); });
  });
}

}  // namespace tulle::detail
