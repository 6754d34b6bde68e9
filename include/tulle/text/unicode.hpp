// SPDX-License-Identifier: Apache-2.0
/// \file The Unicode properties that tokenizers split text by (L2).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <tulle/text/code_point_set.hpp>
#include <tulle/text/packed_numbers.hpp>
#include <tulle/text/unicode_tables.hpp>

namespace tulle {

/// Abbreviations of the general categories, in the order of the generated table.
inline constexpr std::array<std::string_view, 30> category_names = {
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe",
    "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"};

/// The code points of one general category ("Lu") or of a group of them ("L"); none for another name.
/// Equal to Oniguruma's classes on every code point (compared with `tokenizers` 0.23). Two older tables inside that
/// library differ from ours on rare characters: its `Punctuation` and the combining classes of its NFC (Unicode 9).
inline CodePointSet category_set(std::string_view name) {
  if (name.empty() || name.size() > 2) return {};
  static const std::vector<detail::CodePointStep> steps = detail::unpack_steps(detail::category_steps);
  std::vector<CodePointSet::Range> ranges;
  for (std::size_t index = 0; index < steps.size(); ++index) {
    if (!category_names[steps[index].value].starts_with(name)) continue;
    const bool is_last = index + 1 == steps.size();
    ranges.push_back({steps[index].begin, is_last ? CodePointSet::largest : steps[index + 1].begin - 1});
  }
  return CodePointSet(std::move(ranges));
}

/// The property White_Space, which is `\s`.
inline const CodePointSet& white_space_set() {
  static const CodePointSet set({{0x09, 0x0D},
                                 {0x20, 0x20},
                                 {0x85, 0x85},
                                 {0xA0, 0xA0},
                                 {0x1680, 0x1680},
                                 {0x2000, 0x200A},
                                 {0x2028, 0x2029},
                                 {0x202F, 0x202F},
                                 {0x205F, 0x205F},
                                 {0x3000, 0x3000}});
  return set;
}

/// `\w`: Unicode Technical Standard 18, annex C: Alphabetic, marks, decimal digits, connectors, join controls.
/// Alphabetic is L, Nl, marks, and the circled and squared letters among the symbols. Equal to the set of `tokenizers`
/// for `single_word` and Whitespace on every code point; Oniguruma's \w has no join controls and six numerals of
/// Latin-1.
inline const CodePointSet& word_set() {
  static const CodePointSet set = [] {
    CodePointSet all({{0x200C, 0x200D}, {0x24B6, 0x24E9}, {0x1F130, 0x1F149}, {0x1F150, 0x1F169}, {0x1F170, 0x1F189}});
    for (const char* name : {"L", "M", "Nd", "Nl", "Pc"}) all = all.united(category_set(name));
    return all;
  }();
  return set;
}

/// Oniguruma's `\w`: `word_set` without the join controls; outside of brackets with six numerals of Latin-1.
inline const CodePointSet& regex_word_set(bool in_class) {
  static const CodePointSet inside = word_set().intersected(CodePointSet({{0x200C, 0x200D}}).complement());
  static const CodePointSet outside = inside.united(CodePointSet({{0xB2, 0xB3}, {0xB9, 0xB9}, {0xBC, 0xBE}}));
  return in_class ? inside : outside;
}

}  // namespace tulle
