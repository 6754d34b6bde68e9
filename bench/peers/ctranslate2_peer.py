# SPDX-License-Identifier: Apache-2.0
"""Tulle and CTranslate2 on CodeGen-350M with the same random weights, both in int8, interleaved. Tulle quantizes a
folder of float16 at every start, or keeps the int8 weights; CTranslate2's file has them. It is driven by Python."""

import argparse
from importlib.metadata import version

from peers import PEERS, START, add_options, compare, processor, run_python, run_script, tulle_engines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, works=["512", "2048", START], rounds=3)
    options = parser.parse_args()
    folder, converted = (PEERS / "models" / name for name in ("codegen-350m", "codegen-350m.ctranslate2"))
    if not converted.exists():
        run_python("random_codegen.py", folder, converted.with_suffix(".part"))
        converted.with_suffix(".part").rename(converted)

    print(f"{processor()}, {options.threads} thread(s), ctranslate2 {version('ctranslate2')},")
    print(f"{options.rounds} rounds, interleaved, median (min-max)\n")
    for work in options.work:
        measures = tulle_engines(work, folder, options, "--kernel", "dense_i8")
        measures["ctranslate2"] = lambda: run_script(work, "ctranslate2_turn.py", converted, options)
        engines = {("codegen-350m int8", name): measure for name, measure in measures.items()}
        compare("ctranslate2", work, engines, "ctranslate2", options)


if __name__ == "__main__":
    main()
