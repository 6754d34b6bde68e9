# SPDX-License-Identifier: Apache-2.0
"""Tulle and OpenVINO GenAI on the same GGUF files, interleaved. OpenVINO has its defaults for the CPU, which are keys
and values of 8 bits; it is driven by Python and converts the file at every start."""

import argparse
from importlib.metadata import version

from llama_cpp import DEFAULT_MODEL, label, model_file
from peers import START, add_options, compare, processor, run_script, tulle_engines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, works=["512", "2048", START], rounds=3)
    parser.add_argument("--types", nargs="+", choices=["Q8_0", "Q4_0", "Q4_1"], default=["Q8_0", "Q4_0"],
                        help="default Q8_0 Q4_0")  # fmt: skip
    parser.add_argument("--cache", choices=["f16", "i8"], default="f16", help="of Tulle (default %(default)s)")
    options = parser.parse_args()

    print(f"{processor()}, {options.threads} thread(s), openvino-genai {version('openvino-genai')},")
    print(f"{options.rounds} rounds, interleaved, median (min-max)\n")
    for work in options.work:
        engines = {}
        for kind in options.types:
            model = model_file(DEFAULT_MODEL, kind)
            measures = tulle_engines(work, model, options, "--cache-dtype", options.cache)
            measures["openvino"] = lambda model=model: run_script(work, "openvino_turn.py", model, options)
            row = label(DEFAULT_MODEL, kind, options.cache)
            engines |= {(row, name): measure for name, measure in measures.items()}
        compare("openvino", work, engines, "openvino", options)


if __name__ == "__main__":
    main()
