#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole tree is as clang-format leaves it, by .clang-format.      usage: format.py [--write]"""
import subprocess
import sys

from clang_tools import ROOT, sources, tool


def main():
    program = tool("clang-format")
    if program is None:
        return 0
    files = sources()
    if "--write" in sys.argv:
        return subprocess.run([program, "-i", *files], cwd=ROOT).returncode
    wrong = [path.relative_to(ROOT) for path in files
             if subprocess.run([program, path], cwd=ROOT, capture_output=True).stdout != path.read_bytes()]
    for path in wrong:
        print(f"{path}: not as clang-format leaves it")
    print(f"format: {len(files)} files, {len(wrong)} wrong" + (". Run: python3 tests/format.py --write" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
