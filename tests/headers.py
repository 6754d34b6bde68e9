#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every public header compiles by itself; those of the server, which take a compiler most of a minute each, when they changed.
    usage: headers.py COMPILER WORK_FOLDER [FLAG...]
           headers.py --all COMPILER WORK_FOLDER [FLAG...]
The body of a header must see no more than what the header includes. So a translation unit holds several headers only where
none that stands earlier brings what a later one does not include."""
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from clang_tools import ROOT, changed

INCLUDE = ROOT / "include" / "tulle"

# Headers over a library that not every build has, and the macro by which it is there.
SKIPPED = {"text/sentencepiece.hpp": "TULLE_WITH_SENTENCEPIECE"}


def direct_includes(path):
    """But for definitions, which these translation units find in tulle::compiled."""
    found = re.findall(r"^\s*#\s*include\s*<tulle/([^>]+)>", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {name for name in found if (INCLUDE / name).is_file() and not name.endswith("_inline.hpp")}


def closures(names):
    """header -> every header of ours that it includes, at any depth."""
    direct = {name: direct_includes(INCLUDE / name) for name in names}
    closed = {}

    def close(name):
        if name not in closed:
            closed[name] = set()
            for other in direct[name]:
                closed[name] |= {other} | close(other)
        return closed[name]

    for name in names:
        close(name)
    return closed


def body_before_includes(name):
    """Whether anything but comments and directives stands before the last include outside of conditions."""
    depth, code = 0, False
    for line in (INCLUDE / name).read_text(encoding="utf-8").splitlines():
        line = line.split("//")[0].strip()
        if re.match(r"#\s*if", line):
            depth += 1
        elif re.match(r"#\s*endif", line):
            depth -= 1
        elif re.match(r"#\s*include", line):
            if code and depth == 0:
                return True
        elif line and not line.startswith("#"):
            code = True
    return False


def code_of(name):
    return re.sub(r"//[^\n]*", "", (INCLUDE / name).read_text(encoding="utf-8"))


def declared_names(code):
    """Macros, and what is declared in a namespace, whose lines begin at the margin."""
    names = set(re.findall(r"^#\s*define\s+(\w+)", code, re.MULTILINE))
    for line in re.findall(r"^[A-Za-z_\[][^\n]*", code, re.MULTILINE):
        names |= set(re.findall(r"\b([A-Za-z_]\w*)\s*[({=;]", line))
        names |= set(re.findall(r"\b(?:struct|class|concept|using|enum)\s+(?:class\s+)?(\w+)", line))
    return names


def chains(names, closed):
    """Few lists of headers in which none that stands before another can hide what that one forgot: it is included by that
    one, or includes no more than that one does and declares nothing that is named there."""
    code = {name: code_of(name) for name in closed}
    declared = {name: declared_names(code[name]) for name in closed}
    words = {name: set(re.findall(r"[A-Za-z_]\w*", code[name])) for name in closed}
    standard = {name: set(re.findall(r"^\s*#\s*include\s*<((?!tulle/)[^>]+)>", code[name], re.MULTILINE)) for name in closed}
    known, reached = {}, {}  # with what a header includes, at any depth
    for name in closed:
        known[name] = set().union(*(declared[other] for other in closed[name]))
        reached[name] = standard[name].union(*(standard[other] for other in closed[name]))

    def is_harmless(before, name):
        return before in closed[name] or (closed[before] <= closed[name] and reached[before] <= reached[name]
                                          and not (declared[before] & words[name]) - known[name])

    units = []
    for name in sorted(names, key=lambda each: (len(closed[each]), each)):
        fits = [unit for unit in units if all(is_harmless(before, name) for before in unit)]
        if fits:
            max(fits, key=lambda unit: len(closed[unit[-1]])).append(name)
        else:
            units.append([name])
    return units


def main():
    arguments = sys.argv[1:]
    everything = "--all" in arguments
    if everything:
        arguments.remove("--all")
    compiler, work, flags = arguments[0], Path(arguments[1]), arguments[2:]
    work.mkdir(parents=True, exist_ok=True)
    names = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.hpp"))
    closed = closures(names)
    skipped = {name for name, macro in SKIPPED.items() if not any(flag.startswith(f"-D{macro}") for flag in flags)}
    unchanged = set() if everything else {name for name in names if name.startswith("serve/")} - {
        path.relative_to(INCLUDE).as_posix() for path in changed() if path.is_relative_to(INCLUDE)}
    checked = [name for name in names if name not in skipped | unchanged]
    late = [name for name in checked if body_before_includes(name)]  # what they see first depends on what came before
    units = [[name] for name in late] + chains([name for name in checked if name not in late], closed)
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I", str(ROOT / "include"), *flags]
    units.sort(key=lambda unit: -len(closed[unit[-1]]))  # the longest first, so that no thread waits at the end

    def check(numbered):
        number, unit = numbered
        source = work / f"headers_{number}.cpp"
        source.write_text("".join(f"#include <tulle/{name}>\n" for name in unit), encoding="utf-8")
        result = subprocess.run([*command, str(source)], capture_output=True, text=True)
        return (unit, result.stderr) if result.returncode else None

    jobs = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ThreadPoolExecutor(jobs) as threads:
        failures = [each for each in threads.map(check, enumerate(units)) if each]
    for unit, message in failures:
        print(f"one of {', '.join(unit)} does not compile by itself:\n{message}")
    print(f"headers: {len(checked)} in {len(units)} translation units, {len(failures)} failed" +
          (f"; {len(unchanged)} of the server did not change: tools/check headers compiles them" if unchanged else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
