#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up the JUnit files that ctest wrote: prints each failed and each skipped test with its reason, then one line
"N passed, N failed, N skipped". Exits 1 when a test failed or none passed.
    usage: summary.py [--failed REASON]... FILE...        REASON: something beside the tests that failed, a build for one"""
import argparse
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

# ctest calls a test whose program is missing "notrun" too; only these mean that the test itself chose to skip.
SKIPPED = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")


def skip_reason(output):
    """What the test said: Catch2 prints the message of SKIP() on its own lines, our scripts "skipped: reason"."""
    found = re.search(r"explicitly with messages?:\n((?:  .*\n?)+)|^skipped: (.*)$", output, re.MULTILINE)
    return " ".join((found[1] or found[2]).split()) if found else "no reason given"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--failed", action="append", default=[])
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()

    passed, skipped, failed = 0, [], list(arguments.failed)
    for file in arguments.files:
        try:
            cases = ElementTree.parse(file).getroot().findall("testcase")
        except (OSError, ElementTree.ParseError) as error:
            failed.append(f"{file.stem}: no results ({error})")
            continue
        for case in cases:
            name = f"{file.stem}: {case.get('name')}"
            skip = case.find("skipped")
            if case.get("status") == "run":
                passed += 1
            elif skip is not None and skip.get("message", "").startswith(SKIPPED):
                skipped.append(f"{name}: {skip_reason(case.findtext('system-out', ''))}")
            else:
                failed.append(name)
    for line in skipped:
        print("skipped ", line)
    for line in failed:
        print("FAILED  ", line)
    print(f"{passed} passed, {len(failed)} failed, {len(skipped)} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
