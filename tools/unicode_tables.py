#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes include/tulle/text/unicode_tables.hpp from the Unicode Character Database.

usage: pip install unicodedata2==16.0.0 && python3 tools/unicode_tables.py > include/tulle/text/unicode_tables.hpp

Version 16.0 is that of Oniguruma 6.9.10, whose classes Hugging Face `tokenizers` uses to split text.
"""

import sys

import unicodedata2 as database

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn".split()
CODE_POINTS = range(0x110000)


def packed(number):
    """7 bits a byte, the lowest first; the eighth says that more follow."""
    while number > 127:
        yield number & 127 | 128
        number >>= 7
    yield number


def steps(value):
    """A step function over all code points: how far to the next step, and its value."""
    begin, last = 0, None
    for code_point in CODE_POINTS:
        current = value(chr(code_point))
        if current != last:
            yield from packed(code_point - begin)
            yield from packed(current)
            begin, last = code_point, current


def decompositions():
    """Of every canonical decomposition: how far from the one before; the first part's distance from that of the one
    before, as 2 * distance or -2 * distance - 1, twice that, plus 1 where the pair is never composed again
    (Full_Composition_Exclusion); the second part, 0 where there is one only. Hangul is left to arithmetic."""
    last, last_first = 0, 0
    for code_point in CODE_POINTS:
        text = database.decomposition(chr(code_point))
        if not text or text.startswith("<"):
            continue
        first, second = ([int(part, 16) for part in text.split()] + [0])[:2]
        excluded = second != 0 and database.normalize("NFC", chr(code_point)) != chr(code_point)
        distance = first - last_first
        yield from packed(code_point - last)
        yield from packed((2 * distance if distance >= 0 else -2 * distance - 1) * 2 + excluded)
        yield from packed(second)
        last, last_first = code_point, first


def rows(items):
    line = ""
    for item in items:
        if len(line) + len(item) + 1 > 120:
            yield line
            line = ""
        line += f"{item},"
    yield line


def table(name, numbers):
    return "\n".join([f"inline constexpr std::uint8_t {name}[] = {{", *rows(map(str, numbers)), "};"])


def main():
    categories = steps(lambda character: CATEGORIES.index(database.category(character)))
    sys.stdout.write(f"""// SPDX-License-Identifier: Apache-2.0
/// \\file Generated from the Unicode {database.unidata_version} character database by tools/unicode_tables.py (L2).
/// Numbers as `PackedNumbers` reads them.
#pragma once

#include <cstdint>

namespace tulle::detail {{

// clang-format off: as few lines as hold the numbers

/// Where the general category changes: the distance from the last change, the category in the order of
/// `category_names`.
{table("category_steps", categories)}

/// The same of Canonical_Combining_Class.
{table("combining_class_steps", steps(database.combining))}

/// In the order of code points, Hangul syllables left out: the distance from the one before; the distance of the first
/// part from that of the one before, as 2 * distance or -2 * distance - 1, times 2, plus 1 where the pair is excluded
/// from composition; the second part, 0 where there is one part only.
{table("canonical_decompositions", decompositions())}

// clang-format on

}}  // namespace tulle::detail
""")


if __name__ == "__main__":
    main()
