// SPDX-License-Identifier: Apache-2.0
/// \file UTF-8: decoding, validation, and the replacement of what is not UTF-8 (L2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tulle {

inline constexpr char32_t replacement_character = 0xFFFD;
inline constexpr std::string_view replacement_utf8 = "\xEF\xBF\xBD";

/// The code point or ill-formed sequence at a byte of a text.
struct Utf8Step {
  enum class Kind : std::uint8_t {
    valid,       ///< a code point
    invalid,     ///< a maximal subpart of an ill-formed sequence
    incomplete,  ///< the text ends inside a sequence that more bytes could still complete
  };
  char32_t code_point = replacement_character;
  std::uint8_t length = 1;  ///< bytes, 1 to 4
  Kind kind = Kind::invalid;
};

/// Decodes at byte `at`. Ill-formed bytes are grouped into maximal subparts, each worth one U+FFFD: Unicode 16.0
/// section 3.9.6, table 3-7; Python's and Rust's lossy decoders do the same. Requires: at < text.size().
constexpr Utf8Step decode_utf8(std::string_view text, std::size_t at) noexcept {
  const auto byte = [text](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned lead = byte(at);
  if (lead < 0x80) return {lead, 1, Utf8Step::Kind::valid};
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // Only the second byte's range depends on the lead: no overlong forms, no surrogates, nothing above U+10FFFF.
  unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  char32_t code_point = lead & (0x7Fu >> length);
  for (std::size_t index = 1; index < length; ++index) {
    const auto seen = static_cast<std::uint8_t>(index);
    if (at + index == text.size()) return {replacement_character, seen, Utf8Step::Kind::incomplete};
    const unsigned next = byte(at + index);
    if (next < lowest || next > highest) return {replacement_character, seen, Utf8Step::Kind::invalid};
    code_point = code_point << 6 | (next & 0x3F);
    lowest = 0x80;
    highest = 0xBF;
  }
  return {code_point, static_cast<std::uint8_t>(length), Utf8Step::Kind::valid};
}

/// Requires: a Unicode scalar value (no surrogate, at most U+10FFFF).
inline void append_utf8(std::string& text, char32_t code_point) {
  const auto tail = [code_point](int shift) { return static_cast<char>(0x80 | (code_point >> shift & 0x3F)); };
  if (code_point < 0x80) {
    text += static_cast<char>(code_point);
    return;
  }
  if (code_point < 0x800) {
    text += static_cast<char>(0xC0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    text += static_cast<char>(0xE0 | code_point >> 12);
    text += tail(6);
  } else {
    text += static_cast<char>(0xF0 | code_point >> 18);
    text += tail(12);
    text += tail(6);
  }
  text += tail(0);
}

inline std::string to_utf8(char32_t code_point) {
  std::string text;
  append_utf8(text, code_point);
  return text;
}

constexpr bool is_valid_utf8(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    if (step.kind != Utf8Step::Kind::valid) return false;
    at += step.length;
  }
  return true;
}

/// The number of U+FFFD for an ill-formed sequence.
enum class Repair : std::uint8_t {
  per_subpart,  ///< one for each maximal subpart
  per_byte,     ///< one for each byte, as sentencepiece and `tokenizers` do for byte tokens
};

/// The text with U+FFFD in place of what is not UTF-8. With `tail`, an incomplete sequence at the end is left out, and
/// `*tail` becomes its bytes (at most 3), to be put in front of what comes next.
inline std::string repair_utf8(std::string_view text, Repair repair = Repair::per_subpart,
                               std::string* tail = nullptr) {
  std::string result;
  result.reserve(text.size());
  if (tail != nullptr) tail->clear();
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    if (step.kind == Utf8Step::Kind::valid) {
      result.append(text, at, step.length);
    } else if (step.kind == Utf8Step::Kind::incomplete && tail != nullptr) {
      tail->assign(text.substr(at));
    } else {
      const int marks = repair == Repair::per_byte ? step.length : 1;
      for (int mark = 0; mark < marks; ++mark) result += replacement_utf8;
    }
    at += step.length;
  }
  return result;
}

}  // namespace tulle
