#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole tree is as clang-format leaves it, by .clang-format.      usage: format.py [--write]"""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from clang_tools import ROOT, sources, tool


def main():
    program = tool("clang-format")
    if program is None:
        return 0
    files = sources()
    if "--write" in sys.argv:
        return subprocess.run([program, "-i", *files], cwd=ROOT).returncode
    jobs = os.cpu_count() or 1

    def check(part):
        """Names of the files of one part that clang-format would change; it says so once for each of their places."""
        result = subprocess.run([program, "--dry-run", "-Werror", *part], cwd=ROOT, capture_output=True, text=True)
        names = set(re.findall(r"^(.+?):\d+:\d+: error: code should be clang-formatted", result.stderr, re.MULTILINE))
        return names or ({result.stderr} if result.returncode else set())

    with ThreadPoolExecutor(jobs) as threads:
        wrong = sorted(set().union(*threads.map(check, (files[job::jobs] for job in range(jobs)))))
    for name in wrong:
        print(f"{name.removeprefix(f'{ROOT}/')}: not as clang-format leaves it")
    print(f"format: {len(files)} files, {len(wrong)} wrong" + (". Run: python3 tests/format.py --write" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
