// SPDX-License-Identifier: Apache-2.0
/// \file Unicode Normalization Form C (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/core/heap_sort.hpp>
#include <tulle/text/packed_numbers.hpp>
#include <tulle/text/unicode_tables.hpp>
#include <tulle/text/utf8.hpp>

namespace tulle {
namespace detail {

/// Arithmetic of Hangul syllables: Unicode 16.0 section 3.12.
namespace hangul {
inline constexpr char32_t syllable = 0xAC00, lead = 0x1100, vowel = 0x1161, tail = 0x11A7;
inline constexpr char32_t leads = 19, vowels = 21, tails = 28, syllables = leads * vowels * tails;
}  // namespace hangul

inline std::uint8_t combining_class(char32_t code_point) {
  static const std::vector<CodePointStep> steps = unpack_steps(combining_class_steps);
  const auto after = std::upper_bound(steps.begin(), steps.end(), code_point,
                                      [](char32_t value, const CodePointStep& step) { return value < step.begin; });
  return std::prev(after)->value;
}

struct CanonicalDecomposition {
  char32_t code_point;
  char32_t first;
  char32_t second;  ///< 0: one part only
  bool excluded;    ///< from composition
};

/// Sorted by code point; Hangul syllables are computed.
inline const std::vector<CanonicalDecomposition>& decompositions() {
  static const std::vector<CanonicalDecomposition> all = [] {
    std::vector<CanonicalDecomposition> list;
    char32_t code_point = 0, first = 0;
    for (PackedNumbers numbers(canonical_decompositions); !numbers.empty();) {
      code_point += numbers.take();
      const std::uint32_t packed = numbers.take(), distance = packed >> 1;
      first += (distance & 1) != 0 ? 0u - (distance + 1) / 2 : distance / 2;
      list.push_back({code_point, first, static_cast<char32_t>(numbers.take()), (packed & 1) != 0});
    }
    return list;
  }();
  return all;
}

/// Appends the full canonical decomposition.
inline void decompose(char32_t code_point, std::u32string& out) {
  if (code_point - hangul::syllable < hangul::syllables) {
    const char32_t index = code_point - hangul::syllable;
    out += static_cast<char32_t>(hangul::lead + index / (hangul::vowels * hangul::tails));
    out += static_cast<char32_t>(hangul::vowel + index / hangul::tails % hangul::vowels);
    if (index % hangul::tails != 0) out += static_cast<char32_t>(hangul::tail + index % hangul::tails);
    return;
  }
  const std::vector<CanonicalDecomposition>& all = decompositions();
  const auto found =
      std::lower_bound(all.begin(), all.end(), code_point,
                       [](const CanonicalDecomposition& entry, char32_t value) { return entry.code_point < value; });
  if (found == all.end() || found->code_point != code_point) {
    out += code_point;
    return;
  }
  decompose(found->first, out);
  if (found->second != 0) out += found->second;  // a second part never decomposes further
}

/// The primary composite of a pair, or 0.
inline char32_t compose(char32_t first, char32_t second) {
  if (first - hangul::lead < hangul::leads && second - hangul::vowel < hangul::vowels) {
    return hangul::syllable + ((first - hangul::lead) * hangul::vowels + (second - hangul::vowel)) * hangul::tails;
  }
  if (first - hangul::syllable < hangul::syllables && (first - hangul::syllable) % hangul::tails == 0 &&
      second - hangul::tail - 1 < hangul::tails - 1) {
    return first + (second - hangul::tail);
  }
  struct Pair {
    std::uint64_t parts;
    char32_t composite;
  };
  static const std::vector<Pair> pairs = [] {
    std::vector<Pair> all;
    for (const CanonicalDecomposition& entry : decompositions()) {
      if (entry.second == 0 || entry.excluded) continue;
      all.push_back({std::uint64_t{entry.first} << 32 | entry.second, entry.code_point});
    }
    heap_sort(all, [](const Pair& a, const Pair& b) { return a.parts < b.parts; });
    return all;
  }();
  const std::uint64_t parts = std::uint64_t{first} << 32 | second;
  const auto found = std::lower_bound(pairs.begin(), pairs.end(), parts,
                                      [](const Pair& pair, std::uint64_t value) { return pair.parts < value; });
  return found != pairs.end() && found->parts == parts ? found->composite : 0;
}

/// Sorts every run of combining marks by class, stably. Shapes: classes[i] belongs to points[i].
inline void order_marks(std::u32string& points, std::vector<std::uint8_t>& classes) {
  std::vector<std::pair<std::uint64_t, char32_t>> marks;  // class and place, as one number; the mark
  for (std::size_t begin = 0; begin < points.size(); ++begin) {
    marks.clear();
    for (std::size_t at = begin; at < points.size() && classes[at] != 0; ++at) {
      marks.emplace_back(std::uint64_t{classes[at]} << 56 | at, points[at]);
    }
    heap_sort(marks);
    for (const auto& [order, mark] : marks) {
      classes[begin] = static_cast<std::uint8_t>(order >> 56);
      points[begin++] = mark;
    }
  }
}

/// Composes what is decomposed and ordered, as UTF-8.
inline std::string compose_all(const std::u32string& points, const std::vector<std::uint8_t>& classes) {
  std::string result;
  result.reserve(points.size());
  std::u32string kept;  // the starter and the marks after it that did not compose
  bool has_starter = false;
  std::uint8_t last_class = 0;  // of kept.back(), where that is a mark
  for (std::size_t at = 0; at < points.size(); ++at) {
    // Not blocked: nothing of the same or a higher class stands between the starter and this code point.
    const bool is_adjacent = has_starter && (kept.size() == 1 || last_class < classes[at]);
    const char32_t composite = is_adjacent ? compose(kept.front(), points[at]) : 0;
    if (composite != 0) {
      kept.front() = composite;
      continue;
    }
    if (classes[at] == 0) {
      for (const char32_t code_point : kept) append_utf8(result, code_point);
      kept.clear();
      has_starter = true;
    }
    kept += points[at];
    last_class = classes[at];
  }
  for (const char32_t code_point : kept) append_utf8(result, code_point);
  return result;
}

}  // namespace detail

/// Canonical decomposition, ordering and composition: Unicode 16.0 section 3.11.
/// Requires: valid UTF-8. Complexity: linear but for the sorting of runs of combining marks.
inline std::string nfc(std::string_view text) {
  // Everything below U+0300, whose lead bytes end at 0xCB, is in form C and never combines with what precedes it.
  const auto is_plain = [](char byte) { return static_cast<unsigned char>(byte) <= 0xCB; };
  if (std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);

  std::u32string points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decode_utf8(text, at);
    detail::decompose(step.code_point, points);
    at += step.length;
  }
  std::vector<std::uint8_t> classes(points.size());
  std::transform(points.begin(), points.end(), classes.begin(), detail::combining_class);
  detail::order_marks(points, classes);
  return detail::compose_all(points, classes);
}

}  // namespace tulle
