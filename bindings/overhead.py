#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The time that the C ABI and each binding add to a token, as a share of a token of a real model. Measured on a tiny
model, whose tokens take microseconds, so that the difference is visible. Exits 1 where it is 2 % or more.
    usage: overhead.py BUILD_FOLDER [REAL_MODEL]"""
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST = 0.02


def programs(build):
    """(name, command that prints microseconds for MODEL TOKENS, folder, the tool it needs)"""
    cost = build / "capi" / "token_cost"
    python = build / "python-tests" / "bin" / "python"
    return [("C ABI", [cost, "c"], ROOT, cost),
            ("Rust", ["cargo", "run", "--quiet", "--release", "--example", "token_cost", "--"], ROOT / "bindings/rust",
             "cargo"),
            ("Go", ["go", "run", "./internal/tokencost"], ROOT / "bindings/go", "go"),
            ("Python", [python, ROOT / "bindings/python/tests/token_cost.py"], ROOT, python)]


def microseconds(command, folder, model, tokens):
    done = subprocess.run([*command, model, str(tokens)], cwd=folder, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main():
    build = Path(sys.argv[1]).resolve()
    subprocess.run(["cmake", "--build", build, "--target", "token_cost"], check=True, stdout=subprocess.DEVNULL)
    real = sys.argv[2] if len(sys.argv) > 2 else os.environ.get("TULLE_TEST_MODEL")
    if not real:
        print("skipped: TULLE_TEST_MODEL names no model")
        return 0
    tiny = ROOT / "tests/golden/models/gguf/q4_1.gguf"
    headers = [build / "capi" / "token_cost", "cpp"]
    token = microseconds(headers, ROOT, real, 24)
    print(f"a token of the real model takes {token:.0f} us")
    wrong = 0
    for name, command, folder, tool in programs(build):
        if shutil.which(tool) is None:
            print(f"{name}: left out, there is no {Path(tool).name}")
            continue
        microseconds(command, folder, tiny, 2)  # compiles what has to be compiled before timing
        pairs = [(microseconds(headers, ROOT, tiny, 200), microseconds(command, folder, tiny, 200)) for _ in range(3)]
        plain, bound = (min(times) for times in zip(*pairs))
        share = (bound - plain) / token
        wrong += share >= MOST
        print(f"{name}: {bound:.1f} us a tiny token, {plain:.1f} us without: {share * 100:+.2f} % of a real one")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
