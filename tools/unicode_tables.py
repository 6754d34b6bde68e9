#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/tulle/text/unicode_tables.hpp from the Unicode Character Database.

usage: pip install unicodedata2==16.0.0 && python3 tools/unicode_tables.py > include/tulle/text/unicode_tables.hpp

Version 16.0 is the one that Oniguruma 6.9.10 carries, whose classes Hugging Face `tokenizers` splits text with.
"""

import sys

import unicodedata2 as database

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
CODE_POINTS = range(0x110000)


def steps(value):
    """A step function over all code points as (first code point << 8 | value) where the value changes."""
    result, last = [], None
    for code_point in CODE_POINTS:
        current = value(chr(code_point))
        if current != last:
            result.append(code_point << 8 | current)
            last = current
    return result


def decompositions():
    """(code point, first, second) of every canonical decomposition; second is 0 where there is one part only.

    Bit 31 of first: the pair is never composed again (Full_Composition_Exclusion). Hangul is left to arithmetic.
    """
    for code_point in CODE_POINTS:
        text = database.decomposition(chr(code_point))
        if text and not text.startswith("<"):
            first, second = ([int(part, 16) for part in text.split()] + [0])[:2]
            excluded = second != 0 and database.normalize("NFC", chr(code_point)) != chr(code_point)
            yield code_point, first | excluded << 31, second


def rows(items):
    line = " "
    for item in items:
        if len(line) + len(item) + 2 > 120:
            yield line
            line = " "
        line += f" {item},"
    yield line


def table(declaration, items):
    return "\n".join([f"inline constexpr {declaration} = {{", *rows(items), "};"])


def main():
    categories = steps(lambda character: CATEGORIES.index(database.category(character)))
    classes = steps(database.combining)
    pairs = list(decompositions())
    sys.stdout.write(f"""// SPDX-License-Identifier: Apache-2.0
/// \\file Generated from the Unicode {database.unidata_version} character database by tools/unicode_tables.py (L2).
#pragma once

#include <cstdint>

namespace tulle::detail {{

/// (first code point << 8 | general category) where the category changes; the order is that of `Category`.
{table("std::uint32_t category_steps[]", map(hex, categories))}

/// (first code point << 8 | Canonical_Combining_Class) where the class changes.
{table("std::uint32_t combining_class_steps[]", map(hex, classes))}

struct CanonicalDecomposition {{
  std::uint32_t code_point;
  std::uint32_t first;   ///< bit 31: excluded from composition
  std::uint32_t second;  ///< 0: one part only
}};

/// Sorted by code point; Hangul syllables are computed.
{table("CanonicalDecomposition canonical_decompositions[]", ("{%#x, %#x, %#x}" % pair for pair in pairs))}

}}  // namespace tulle::detail
""")


if __name__ == "__main__":
    main()
