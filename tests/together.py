#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes one source file that compiles several tests together: most of a compiler's time goes into what they include.
All that they include comes first; then each test follows in a namespace of its own, so that names without linkage need
not differ from file to file.      usage: together.py OUTPUT TEST...
A test that defines something in a named namespace cannot be in it (tests/CMakeLists.txt)."""
import re
import sys
from pathlib import Path


def head(path):
    """The directives of a test up to its last include, with every condition that they stand in."""
    lines = path.read_text(encoding="utf-8").splitlines()
    last = max(number for number, line in enumerate(lines) if re.match(r"\s*#\s*include\b", line))
    directives = [line for line in lines[: last + 1] if re.match(r"\s*#", line)]
    opened = sum(bool(re.match(r"\s*#\s*if", line)) - bool(re.match(r"\s*#\s*endif", line)) for line in directives)
    return directives + ["#endif"] * opened


def main():
    output, tests = Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    lines = [line for test in tests for line in head(test)]
    for number, test in enumerate(tests):
        lines += [f"namespace test_{number} {{", f'#include "{test.as_posix()}"', "}"]
    output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
