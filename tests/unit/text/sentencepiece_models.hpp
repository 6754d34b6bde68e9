// SPDX-License-Identifier: Apache-2.0
/// \file Small sentencepiece models, made field by field.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/text/protobuf.hpp>

namespace tulle::test {

inline void append_varint(std::string& message, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) message += static_cast<char>((value & 0x7F) | 0x80);
  message += static_cast<char>(value);
}

inline void append_number(std::string& message, unsigned field, std::uint64_t value) {
  append_varint(message, field << 3);
  append_varint(message, value);
}

inline void append_bytes(std::string& message, unsigned field, std::string_view bytes) {
  append_varint(message, field << 3 | 2);
  append_varint(message, bytes.size());
  message += bytes;
}

struct SentencePieceModel {
  enum Type : int { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  enum Kind : int { unigram = 1, bpe = 2, word = 3, character = 4 };
  struct Piece {
    std::string content;
    float score = 0;
    int type = normal;
  };

  std::vector<Piece> pieces = {{"<unk>", 0, unknown}, {"<s>", 0, control}, {"</s>", 0, control}};
  int kind = unigram;
  bool adds_space = true, is_suffix = false, squeezes = true, escapes = true, byte_fallback = false;
  std::string map = {};
  std::optional<std::string> unknown_surface = {};

  void add_bytes() {
    constexpr std::string_view digits = "0123456789ABCDEF";
    byte_fallback = true;
    for (std::size_t value = 0; value < 256; ++value) {
      pieces.push_back({std::string("<0x") + digits[value >> 4] + digits[value & 15] + ">", 0, byte});
    }
  }

  /// As ModelProto of sentencepiece_model.proto.
  std::string bytes() const {
    std::string model, trainer, normalizer;
    for (const Piece& piece : pieces) {
      std::string message;
      append_bytes(message, 1, piece.content);
      append_varint(message, 2 << 3 | 5);
      message.append(reinterpret_cast<const char*>(&piece.score), sizeof piece.score);
      append_number(message, 3, static_cast<std::uint64_t>(piece.type));
      append_bytes(model, 1, message);
    }
    append_number(trainer, 3, static_cast<std::uint64_t>(kind));
    append_number(trainer, 24, is_suffix);
    append_number(trainer, 35, byte_fallback);
    if (unknown_surface) append_bytes(trainer, 44, *unknown_surface);
    append_bytes(model, 2, trainer);
    if (!map.empty()) append_bytes(normalizer, 2, map);
    append_number(normalizer, 3, adds_space);
    append_number(normalizer, 4, squeezes);
    append_number(normalizer, 5, escapes);
    append_bytes(model, 3, normalizer);
    return model;
  }
};

/// A character map of one rule: "a" becomes the string at `target` of "xy", "z".
inline std::string one_rule_map(std::uint32_t target, std::size_t units_count = 256) {
  std::vector<std::uint32_t> units(units_count, 0);
  // The root's children are at 0 ^ label; the leaf of "a" is at 'a' ^ 1.
  if (units.size() > 'a') units['a'] = 1u << 10 | 0x100u | 'a';
  if (units.size() > 'a') units['a' ^ 1] = 0x80000000u | target;
  const auto bytes = static_cast<std::uint32_t>(units.size() * 4);
  std::string map(reinterpret_cast<const char*>(&bytes), 4);
  map.append(reinterpret_cast<const char*>(units.data()), bytes);
  return map + std::string("xy\0z\0", 5);
}

/// `precompiled_charsmap` of a model; "" where it has none.
inline std::string character_map_of(std::string_view model) {
  std::string map;
  (void)detail::ProtobufFields(model).all_of([&](const detail::ProtobufField& part) {
    return part.number != 3 || detail::ProtobufFields(part.bytes).all_of([&](const detail::ProtobufField& field) {
      if (field.number == 2) map = field.bytes;
      return true;
    });
  });
  return map;
}

}  // namespace tulle::test
