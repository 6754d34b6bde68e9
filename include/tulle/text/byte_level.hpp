// SPDX-License-Identifier: Apache-2.0
/// \file The alphabet in which byte-level vocabularies write bytes as printable characters (L2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <tulle/text/utf8.hpp>

namespace tulle {

/// GPT-2's alphabet: printable Latin-1 bytes stand for themselves, the other 68 for U+0100 and on, in increasing order.
class ByteAlphabet {
 public:
  constexpr ByteAlphabet() {
    character_of_byte.fill(0);
    byte_of_character.fill(-1);
    std::uint16_t next = 0x100;
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const bool is_printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
      character_of_byte[byte] = is_printable ? static_cast<std::uint16_t>(byte) : next++;
      byte_of_character[character_of_byte[byte]] = static_cast<std::int16_t>(byte);
    }
  }

  std::array<std::uint16_t, 256> character_of_byte;
  std::array<std::int16_t, 0x144> byte_of_character;  ///< -1: not in the alphabet
};

inline constexpr ByteAlphabet byte_alphabet;

/// Bytes to characters of the alphabet, as UTF-8.
inline std::string to_byte_level(std::string_view bytes) {
  std::string result;
  result.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(result, byte_alphabet.character_of_byte[static_cast<unsigned char>(byte)]);
  return result;
}

/// The bytes that `text` encodes, or nothing when a character is outside the alphabet.
inline std::optional<std::string> from_byte_level(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    const bool is_inside = step.code_point < byte_alphabet.byte_of_character.size();
    const int byte = is_inside ? byte_alphabet.byte_of_character[step.code_point] : -1;
    if (byte < 0) return std::nullopt;
    bytes += static_cast<char>(byte);
    at += step.length;
  }
  return bytes;
}

}  // namespace tulle
