#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the exports of libtulle with capi/tulle.symbols, and the size and offsets of every struct of the headers, as
a C compiler lays them out, with capi/tulle.layout (64-bit). A change of either breaks compiled programs.
Every function with arguments must be in misuse_test.c.
    usage: golden_lists.py --compiler CC --nm NM --library FILE [--write]        --write updates the lists"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CAPI = Path(__file__).resolve().parent.parent
HEADERS = [CAPI / "include" / "tulle.h", CAPI / "include" / "tulle_experimental.h"]


def symbols(nm, library):
    """Exported names, without the version's own."""
    lines = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    names = {line.split()[-1].split("@")[0] for line in lines.splitlines()}
    return sorted(names - {"TULLE_1"})


def declared(arguments=""):
    """Functions of the headers; those alone whose arguments match the pattern."""
    text = "".join(header.read_text(encoding="utf-8") for header in HEADERS)
    return sorted(re.findall(rf"^TULLE_API [\w ]+?\*?\s?(tulle_\w+)\({arguments}", text, re.MULTILINE))


def structs():
    """(struct, members) as the headers declare them."""
    text = "".join(header.read_text(encoding="utf-8") for header in HEADERS)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \w+;", text, re.DOTALL):
        yield name, re.findall(r"(\w+)(?:\[\d+\])?;", body)


def layout(compiler):
    lines = ["#include <stdio.h>", '#include "tulle_experimental.h"', "int main(void) {"]
    for name, members in structs():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'printf("  {member} %zu\\n", offsetof({name}, {member}));' for member in members]
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text("\n".join([*lines, "return 0;", "}"]), encoding="utf-8")
        subprocess.run([compiler, "-std=c99", f"-I{CAPI / 'include'}", source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("--compiler", "--nm", "--library"):
        parser.add_argument(name, required=True)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    exported = symbols(arguments.nm, arguments.library)
    wrong = [f"{name} is declared and not exported" for name in sorted(set(declared()) - set(exported))]
    wrong += [f"{name} is exported and not declared" for name in sorted(set(exported) - set(declared()))]
    misused = (CAPI / "tests" / "misuse_test.c").read_text(encoding="utf-8")
    wrong += [f"{name} is not in misuse_test.c" for name in sorted(declared("(?!void)")) if f"{name}(" not in misused]
    for file, lines in (("tulle.symbols", exported), ("tulle.layout", layout(arguments.compiler))):
        if arguments.write:
            (CAPI / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        golden = (CAPI / file).read_text(encoding="utf-8").splitlines()
        wrong += [f"{file}: gone: {line.strip()}" for line in golden if line not in lines]
        wrong += [f"{file}: new: {line.strip()}" for line in lines if line not in golden]
        if not wrong and golden != lines:
            wrong.append(f"{file}: another order")
    print("\n".join(wrong) or f"{len(exported)} functions and the structs are as they were")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
