#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang-tidy finds nothing, by .clang-tidy, in the files that changed.
    usage: tidy.py BUILD_FOLDER [FLAG...]      FLAGS of the compiler
           tidy.py --all BUILD_FOLDER [FLAG...]"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from clang_tools import ROOT, changed, sources, tool

MOST = 12  # files of one run: a change of more is read by tools/check tidy
# A header that declares does not include its definitions, which include it again: they are read when they change.
LIBRARIES = ["-DTULLE_COMPILED", "-DTULLE_SERVE_COMPILED", "-DTULLE_COMPRESS_COMPILED"]
FOLDERS = ("include", "tests", "tools", "bench", "capi", "examples")


def units(files):
    """The files that a compiler is given for these. A header stands for itself."""
    return [path for path in files if path.suffix in {".cpp", ".hpp"} and path.relative_to(ROOT).parts[0] in FOLDERS
            and "package" not in path.parts]


def main():
    arguments = sys.argv[1:]
    everything = "--all" in arguments
    if everything:
        arguments.remove("--all")
    build = arguments[0]
    flags = [flag for flag in arguments[1:] if flag != f"-isystem{ROOT / 'include'}"]  # ours are no system headers
    program = tool("clang-tidy")
    if program is None:
        return 0
    chosen = units(sources() if everything else changed())
    left_out = 0 if everything else max(0, len(chosen) - MOST)
    chosen = chosen[: len(chosen) - left_out]
    compile_flags = ["-std=c++20", "-xc++", "-DTULLE_VERSION=\"\"", "-DTULLE_GOLDEN=\"\"",
                     "-Wno-pragma-once-outside-header", *[f"-I{ROOT / folder}" for folder in
                     ("", "include", "tests", "tools", "capi/include")], f"-I{build}/tests/catch2",
                     *[f"-isystem{ROOT / 'build' / 'deps' / 'src' / folder}" for folder in
                     ("catch2/extras", "sentencepiece/src")], *flags]

    # What a changed file includes is read when it changes itself.
    headers = [] if everything else ["--header-filter=^$"]

    def check(path):
        checks = ["--checks=-misc-definitions-in-headers"] if path.stem.endswith("_inline") else []
        macros = LIBRARIES if path.suffix == ".hpp" else []
        result = subprocess.run([program, "--quiet", *headers, *checks, path, "--", *compile_flags, *macros], cwd=ROOT,
                                capture_output=True, text=True)
        return result.stdout if result.returncode else ""

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        found = [text for text in threads.map(check, chosen) if text]
    print("".join(found) + f"tidy: {len(chosen)} files, {len(found)} with findings" +
          (f"; {left_out} more changed: tools/check tidy reads them" if left_out else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
