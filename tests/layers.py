#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what no compiler checks: the direction of includes, where third-party headers go, and that every header has
its test. Prints one line a breach; exits 1 when there is any."""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include" / "tulle"

# An include goes to the own folder or to a lower layer. Files beside the folders are of the top layer; the umbrella
# tulle.hpp stands above all and is included by none of ours.
LAYERS = {"core": 0, "tensor": 1, "kernel": 2, "cache": 2, "sampling": 2, "text": 2, "format": 3, "model": 3,
          "generate": 4, "compress": 5, "compat": 5, "serve": 6}
TOP = 6

# The one header of ours that may include each third-party library.
THIRD_PARTY = {"nlohmann": {"core/json.hpp"}, "xsimd": {"tensor/simd.hpp"}, "xtensor": {"tensor/xtensor.hpp"},
               "sentencepiece_processor.h": {"text/sentencepiece.hpp"}}
SYSTEM = {"cpuid.h", "immintrin.h", "arm_neon.h", "wasm_simd128.h", "fcntl.h", "pthread.h", "sched.h", "unistd.h", "sys/mman.h", "sys/stat.h"}
NOT_EVERYWHERE = {"format", "expected", "regex"}  # missing in a supported compiler, or slow and recursive

LONG, TOO_LONG = 300, 400
GENERATED = {"text/unicode_tables.hpp"}

# Headers without a test of their own, and why. Every other path/name.hpp has tests/unit/path/name_test.cpp.
UNTESTED = {
    "tulle.hpp": "only includes; tests/package compiles it",
    "core/compiled.hpp": "one macro; every program compiles it",
    "generate/compiled.hpp": "only declares what tools/compiled holds",
    "generate/engine_options.hpp": "values, tested through engine.hpp",
    "kernel/compiled.hpp": "only declares what tools/compiled holds",
    "kernel/activations/quantized_row.hpp": "a part of activations_i8.hpp, tested with it",
    "kernel/dense/dense_i4_loop_simd128.hpp": "a part of dense_i4_loop.hpp, tested with it",
    "kernel/ell/ell_loop_avx2.hpp": "a part of ell_loop.hpp, tested with it",
    "kernel/ell/ell_loop_avx512.hpp": "a part of ell_loop.hpp, tested with it",
    "kernel/ell/ell_pairs.hpp": "a part of ell_loop.hpp, tested with it",
    "kernel/ell/ell_unpacked.hpp": "a part of the ELL loop for batches, tested with ell_loop.hpp",
    "kernel/int8/balanced_blocks.hpp": "a part of balanced.hpp, tested with it",
    "kernel/int8/balanced_patterns.hpp": "a part of balanced.hpp, tested with it",
    "kernel/int8/dense_blocks.hpp": "a part of dense_i8.hpp, tested with it",
    "kernel/int8/group_scales.hpp": "a part of packed_panels.hpp, tested with it",
    "kernel/int8/i8_blocks.hpp": "a part of packed_panels.hpp, tested with it",
    "kernel/int8/i8_weights.hpp": "the kernel of every int8 layout, tested with dense_i8.hpp and by the conformance suite",
    "kernel/int8/loop/dot_i8_simd128.hpp": "a part of dot_i8.hpp, tested with it",
    "kernel/int8/loop/i8_loop_avx2.hpp": "a part of i8_loop.hpp, tested with it",
    "kernel/int8/loop/i8_loop_avx512.hpp": "a part of i8_loop.hpp, tested with it",
    "kernel/int8/loop/i8_loop_simd128.hpp": "a part of i8_loop.hpp, tested with it",
    "kernel/int8/loop/unpacked_blocks_avx2.hpp": "a part of unpacked_blocks.hpp, tested with it",
    "kernel/int8/loop/unpacked_blocks_avx512.hpp": "a part of unpacked_blocks.hpp, tested with it",
    "kernel/schedule/store_tile.hpp": "the last step of three loops; the conformance suite sees every row and range that it writes",
    "model/attention_loop_scalar.hpp": "a part of attention_loop.hpp, tested with it",
    "model/attention_loop_simd128.hpp": "a part of attention_loop.hpp, tested with it",
    "tensor/ops_avx2.hpp": "a part of ops.hpp, tested with it",
    "text/chat_message.hpp": "two strings, tested through chat_template.hpp",
    "text/sentencepiece_options.hpp": "values, tested through sentencepiece.hpp and tokenizer_files.hpp",
    "text/unicode_tables.hpp": "data; read through text/unicode.hpp",
}

problems = []
notes = []


def breach(path, message):
    problems.append(f"{path.relative_to(ROOT)}: {message}")


def includes(path):
    """(line number, form, target) of every include."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        found = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if found:
            yield number, found[1], found[2]


def folder_of(name):
    """The layer folder of a header named from include/tulle; "" beside the folders."""
    return name.split("/")[0] if "/" in name else ""


def check_include(path, name, number, form, target):
    """One include of the public header `name`."""
    where = f"line {number}: "
    if form == '"' or ".." in target:
        return breach(path, f'{where}write #include <tulle/folder/file.hpp>, not {target}')
    if target.startswith("tulle/"):
        inner = target.removeprefix("tulle/")
        if not (INCLUDE / inner).is_file():
            return breach(path, f"{where}there is no {target}")
        if inner == "tulle.hpp":
            return breach(path, f"{where}the umbrella is for users; include what is used")
        mine, other = folder_of(name), folder_of(inner)
        if name != "tulle.hpp" and mine != other and LAYERS.get(other, TOP) >= LAYERS.get(mine, TOP):
            breach(path, f"{where}{mine or name} (L{LAYERS.get(mine, TOP)}) must not include {target} "
                         f"(L{LAYERS.get(other, TOP)})")
        return None
    library = target if target in THIRD_PARTY else target.split("/")[0].removesuffix(".hpp")
    if library in THIRD_PARTY:
        if name not in THIRD_PARTY[library]:
            breach(path, f"{where}{target} is only included by {', '.join(sorted(THIRD_PARTY[library]))}")
    elif target in NOT_EVERYWHERE:
        breach(path, f"{where}<{target}> is not used here")
    elif ("/" in target or "." in target) and target not in SYSTEM:
        breach(path, f"{where}{target} is neither the standard library's nor listed in {Path(__file__).name}")
    return None


def check_header(path):
    name = path.relative_to(INCLUDE).as_posix()
    folder = folder_of(name)
    if folder and folder not in LAYERS:
        return breach(path, f"folder {folder} has no layer in {Path(__file__).name}")
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    layer = re.search(r"^/// \\file (?:.*\n///)?.*\(L(\d)\b", text, re.MULTILINE)
    if len(lines) < 3 or not lines[1].startswith("/// \\file "):
        breach(path, "line 2 must be /// \\file, one sentence and the layer")
    elif name != "tulle.hpp" and (not layer or int(layer[1]) != LAYERS.get(folder, TOP)):
        breach(path, f"its \\file sentence must end in (L{LAYERS.get(folder, TOP)})")
    if "#pragma once" not in lines:
        breach(path, "no #pragma once")
    if name not in GENERATED and len(lines) > LONG:
        message = f"{len(lines)} lines: split it (aim at 60 to 250)"
        breach(path, message) if len(lines) > TOO_LONG else notes.append(f"{path.relative_to(ROOT)}: {message}")
    for number, form, target in includes(path):
        check_include(path, name, number, form, target)
    if name.endswith("_inline.hpp"):  # definitions of the header of that name, tested with it
        return None
    test = ROOT / "tests" / "unit" / (name.removesuffix(".hpp") + "_test.cpp")
    if name in UNTESTED:
        if test.exists():
            breach(path, f"has a test: take it off the list in {Path(__file__).name}")
    elif not test.exists():
        breach(path, f"no {test.relative_to(ROOT)}")
    else:
        first = next(includes(test), (0, "", ""))
        if first[2] != f"tulle/{name}":
            breach(test, f"its first include must be <tulle/{name}>, the header under test")
    return None


def check_program(path):
    """Tests, examples, tools: third-party libraries that Tulle wraps are reached through Tulle."""
    for number, form, target in includes(path):
        library = target if target in THIRD_PARTY else target.split("/")[0].removesuffix(".hpp")
        if library in THIRD_PARTY:
            breach(path, f"line {number}: include <tulle/{sorted(THIRD_PARTY[library])[0]}> instead of {target}")
        elif ".." in target:
            breach(path, f"line {number}: no ../ in includes")


def check_readme():
    """The README's first program is the one that tests/package compiles, line for line."""
    readme, program = ROOT / "README.md", ROOT / "tests" / "package" / "generate.cpp"
    block = re.search(r"^```cpp\n(.*?)^```", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not block or not program.read_text(encoding="utf-8").endswith(block[1]):
        breach(readme, f"its first program is not that of {program.relative_to(ROOT)}")


def main():
    headers = sorted(INCLUDE.rglob("*.hpp"))
    for path in headers:
        check_header(path)
    check_readme()
    for name in sorted(UNTESTED):
        if not (INCLUDE / name).is_file():
            breach(Path(__file__).resolve(), f"lists {name}, which does not exist")
    programs = sorted(path for folder in ("tests", "examples", "tools", "bench")
                      for path in (ROOT / folder).rglob("*.[ch]pp"))
    for path in programs:
        check_program(path)
    scripts = sorted(path for folder in ("tests", "tools") for path in (ROOT / folder).rglob("*.py"))
    for path in headers + programs + scripts:
        if "SPDX-License-Identifier: Apache-2.0" not in "".join(path.open(encoding="utf-8").readlines()[:2]):
            breach(path, "no SPDX-License-Identifier: Apache-2.0 in its first lines")
    for line in notes + problems:
        print(line)
    print(f"layers: {len(headers)} headers, {len(programs)} programs' files, {len(problems)} breaches")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
