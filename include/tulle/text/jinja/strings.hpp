// SPDX-License-Identifier: Apache-2.0
/// \file Python's view of strings, by code points, over UTF-8 bytes (L2, text).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <tulle/text/utf8.hpp>

namespace tulle::jinja {

/// Bytes of the code point at `at`; bytes that are not UTF-8 count as one code point, U+FFFD.
inline std::size_t code_point_size(std::string_view text, std::size_t at) {
  return decode_utf8(text, at).length;
}

inline char32_t decode_code_point(std::string_view text, std::size_t at) {
  return decode_utf8(text, at).code_point;
}

/// Calls `visit` with the bytes of each code point.
template <class Visit>
void for_each_code_point(std::string_view text, Visit visit) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = code_point_size(text, at);
    visit(text.substr(at, size));
    at += size;
  }
}

/// Python's `len(text)`.
inline std::size_t text_length(std::string_view text) {
  std::size_t length = 0;
  for (std::size_t at = 0; at < text.size(); at += code_point_size(text, at)) ++length;
  return length;
}

/// White space by Python's str.isspace, strip and split.
inline bool is_space(char32_t point) {
  return (point >= 0x09 && point <= 0x0D) || (point >= 0x1C && point <= 0x20) || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || (point >= 0x2000 && point <= 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

inline bool is_digit(char32_t point) {
  return point >= '0' && point <= '9';
}

/// Whether a code point of Latin Extended-A begins a pair of a large and a small letter.
inline bool is_large_extended(char32_t point) {
  if ((point >= 0x139 && point <= 0x148) || (point >= 0x179 && point <= 0x17E)) return point % 2 == 1;
  return point != 0x130 && ((point >= 0x100 && point <= 0x137) || (point >= 0x14A && point <= 0x177)) && point % 2 == 0;
}

/// ASCII, Latin-1, Latin Extended-A, the basic Greek and Cyrillic letters; other scripts stay as they are, and so do
/// letters that become several.
inline char32_t to_upper(char32_t point) {
  if ((point >= 'a' && point <= 'z') || (point >= 0xE0 && point <= 0xFE && point != 0xF7)) return point - 32;
  if (point == 0xFF) return 0x178;
  if (point == 0x131) return 'I';
  if (point == 0x17F) return 'S';
  if (is_large_extended(point - 1)) return point - 1;
  if (point == 0x3C2) return 0x3A3;
  if ((point >= 0x3B1 && point <= 0x3C9) || (point >= 0x430 && point <= 0x44F)) return point - 32;
  if (point >= 0x450 && point <= 0x45F) return point - 80;
  return point;
}

inline char32_t to_lower(char32_t point) {
  if ((point >= 'A' && point <= 'Z') || (point >= 0xC0 && point <= 0xDE && point != 0xD7)) return point + 32;
  if (point == 0x178) return 0xFF;
  if (is_large_extended(point)) return point + 1;
  if ((point >= 0x391 && point <= 0x3A9 && point != 0x3A2) || (point >= 0x410 && point <= 0x42F)) return point + 32;
  if (point >= 0x400 && point <= 0x40F) return point + 80;
  return point;
}

/// Letters: exact in ASCII, everything from U+00AA on that is no space elsewhere.
inline bool is_letter(char32_t point) {
  return (point >= 'a' && point <= 'z') || (point >= 'A' && point <= 'Z') ||
         (point >= 0xAA && point != 0xD7 && point != 0xF7 && !is_space(point));
}

/// Every code point of `text` through `change(point)`; bytes that are not UTF-8 stay.
template <class Change>
std::string map_code_points(std::string_view text, Change change) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    if (step.kind == Utf8Step::Kind::valid) {
      append_utf8(out, change(step.code_point));
    } else {
      out += text.substr(at, step.length);
    }
    at += step.length;
  }
  return out;
}

inline std::string upper(std::string_view text) {
  return map_code_points(text, to_upper);
}
inline std::string lower(std::string_view text) {
  return map_code_points(text, to_lower);
}

/// The first letter large, the others small.
inline std::string capitalize(std::string_view text) {
  return map_code_points(text, [first = true](char32_t point) mutable {
    return std::exchange(first, false) ? to_upper(point) : to_lower(point);
  });
}

/// Python's str.title(): letters that follow no letter become large.
inline std::string title(std::string_view text) {
  return map_code_points(text, [inside = false](char32_t point) mutable {
    return std::exchange(inside, is_letter(point)) ? to_lower(point) : to_upper(point);
  });
}

/// Jinja's title filter: the first letter after white space and - ( { [ < becomes large, all others small.
inline std::string title_words(std::string_view text) {
  return map_code_points(text, [starts = true](char32_t point) mutable {
    const bool separates =
        is_space(point) ||
        (point < 0x80 && std::string_view("-({[<").find(static_cast<char>(point)) != std::string_view::npos);
    return std::exchange(starts, separates) ? to_upper(point) : to_lower(point);
  });
}

enum class Side : std::uint8_t { both, left, right };

/// The text without the code points that `drop(point)` names, at its ends.
template <class Drop>
std::string_view strip_if(std::string_view text, Side side, Drop drop) {
  while (side != Side::right && !text.empty() && drop(decode_code_point(text, 0))) {
    text.remove_prefix(code_point_size(text, 0));
  }
  while (side != Side::left && !text.empty()) {
    std::size_t last = text.size() - 1;  // the lead byte of the last code point, if its bytes are valid
    while (last > 0 && text.size() - last < 4 && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
    if (last + code_point_size(text, last) != text.size()) last = text.size() - 1;
    if (!drop(decode_code_point(text, last))) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

inline std::string_view strip(std::string_view text, Side side = Side::both) {
  return strip_if(text, side, is_space);
}

/// Without the code points that `characters` holds.
inline std::string_view strip(std::string_view text, Side side, std::string_view characters) {
  return strip_if(text, side,
                  [characters](char32_t point) { return characters.find(to_utf8(point)) != std::string_view::npos; });
}

/// Python's str.splitlines(): calls `visit` with each line, with or without its end; no empty line after the last end.
template <class Visit>
void for_each_line(std::string_view text, bool keeps_ends, Visit visit) {
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = decode_code_point(text, at);
    std::size_t size = code_point_size(text, at);
    const bool ends = (point >= 0x0A && point <= 0x0D) || (point >= 0x1C && point <= 0x1E) || point == 0x85 ||
                      point == 0x2028 || point == 0x2029;
    if (ends) {
      if (point == '\r' && at + 1 < text.size() && text[at + 1] == '\n') size = 2;
      visit(text.substr(begin, at - begin + (keeps_ends ? size : 0)));
      begin = at + size;
    }
    at += size;
  }
  if (begin < text.size()) visit(text.substr(begin));
}

}  // namespace tulle::jinja
