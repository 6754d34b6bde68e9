// SPDX-License-Identifier: Apache-2.0
/// \file Checks of a model that the sentencepiece library does not make itself (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <tulle/text/protobuf.hpp>

namespace tulle::detail {

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
  return ProtobufFields(model).all_of([](const ProtobufField& part) {
    if (!part.has_bytes || (part.number != 3 && part.number != 5)) return true;
    return ProtobufFields(part.bytes).all_of([](const ProtobufField& map) {
      return !map.has_bytes || map.number != 2 || is_sound_character_map(map.bytes);
    });
  });
}

}  // namespace tulle::detail
