# SPDX-License-Identifier: Apache-2.0
"""Tulle and llama.cpp on the same files, interleaved: tokens per second of prompts and of generated tokens, and the
time from the start of a process to its first token."""

import argparse
import json
import sys

import random_gguf
from peers import (PEERS, START, WORKS, add_options, compare, default_model, output_of, processor, run_python,
                   start_of, tulle_engines)  # fmt: skip

BUILDS = {"native": [], "avx2": ["--isa", "avx2"]}  # flags of Tulle; build/peers/{llama,ik}-BUILD
DEFAULT_MODEL = "smollm2-135m"
CACHES = {"f16": [], "i8": ["-ctk", "q8_0", "-ctv", "q8_0", "-fa", 1]}  # --cache-dtype of Tulle: flags of llama-bench


def model_file(model, kind, zeros="0"):
    """Made once: the default model (Q4_1 as it is, else requantized by llama.cpp), or random weights (pruned or not) in
    the shape of another model."""
    if model == DEFAULT_MODEL and kind == "Q4_1":
        return default_model()
    name = f"{model}.{kind}" if zeros == "0" else f"{model}.{kind}.{zeros.replace(':', 'of')}"
    path = PEERS / "models" / f"{name}.gguf"
    if path.exists():
        return path
    print(f"making {path.name}", file=sys.stderr)
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    if model != DEFAULT_MODEL and kind == "Q8_0":
        run_python("random_gguf.py", model, part, zeros)
    else:
        source = default_model() if model == DEFAULT_MODEL else model_file(model, "Q8_0")
        output_of(PEERS / "llama-native" / "bin" / "llama-quantize", "--allow-requantize", source, part, kind)
    return part.rename(path)


def label(model, kind, cache, build="native"):
    """Of a row; what is usual is not said."""
    unusual = [build] * (build != "native") + [f"{cache} cache"] * (cache != "f16")
    return ", ".join([f"{model} {kind}", *unusual])


def run_llama(folder, work, model, options, *flags):
    bench = PEERS / folder / "bin" / "llama-bench"
    command = [bench, "-m", model, "-t", options.threads, "-r", 1, "-o", "json", *flags]
    is_ik = folder.startswith("ik")
    if work == START:
        return start_of(*command, "-p", 5, "-n", 0, *(["-w", 0] if is_ik else ["--no-warmup"]))
    prompt, generated, depth = WORKS[work]
    prefill, decode = ["-p", prompt, "-n", 0], ["-p", 0, "-n", generated]
    if depth and is_ik:
        decode = ["-p", 0, "-n", 0, "-gp", f"{depth},{generated}"]
    elif depth:
        decode += ["-d", depth]
    speeds = [json.loads(output_of(*command, *lengths))[0]["avg_ts"] for lengths in (prefill, decode)]
    return WORKS[work].speeds(*speeds)


def engines_of(work, kind, build, options):
    """name -> a function that measures it on the file of a type."""
    model, isa, cache = model_file(options.model, kind), BUILDS[build], CACHES[options.cache]
    engines = {"llama.cpp": lambda: run_llama(f"llama-{build}", work, model, options, *cache)}
    engines |= tulle_engines(work, model, options, "--cache-dtype", options.cache, *isa)
    if options.ik:
        engines["ik_llama.cpp"] = lambda: run_llama(f"ik-{build}", work, model, options, *cache)
        engines["ik_llama.cpp -rtr 1"] = lambda: run_llama(f"ik-{build}", work, model, options, "-rtr", 1, *cache)
    if kind == "Q8_0" and options.structure and work != START:
        if options.model == DEFAULT_MODEL:
            pruned, flags = model, [*isa, "--structure", options.structure]
        else:  # unstructured sparsity: pruning takes minutes
            pruned, flags = model_file(options.model, kind, options.structure), isa
        pruned_engines = tulle_engines(work, pruned, options, "--cache-dtype", options.cache, *flags)
        engines[f"tulle, pruned {options.structure}"] = pruned_engines["tulle"]
    return engines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_options(parser, works=["512"], rounds=5)
    parser.add_argument("--builds", nargs="+", choices=BUILDS, default=list(BUILDS), help="default: both")
    parser.add_argument(
        "--model",
        choices=[DEFAULT_MODEL, *random_gguf.SHAPES],
        default=DEFAULT_MODEL,
        help="all but the first have random weights, for speed only (default %(default)s)",
    )
    parser.add_argument(
        "--types",
        nargs="+",
        choices=["Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K_S", "Q4_K_M", "Q5_K_M", "Q6_K"],
        default=["Q8_0", "Q4_0"],
        help="what llama-quantize makes (default Q8_0 Q4_0)",
    )
    parser.add_argument("--cache", choices=CACHES, default="f16", help="type of keys and values (default %(default)s)")
    parser.add_argument("--ik", action="store_true", help="also ik_llama.cpp, as it is and with weights repacked")
    parser.add_argument("--structure", help="also the Q8_0 model pruned, for speed only: 2:4, 8:16-gap4, 4:16")
    options = parser.parse_args()

    print(f"{options.model}, {processor()}, {options.threads} thread(s), {options.rounds} rounds, interleaved,")
    print("median (min-max)\n")
    for work in options.work:
        for build in options.builds:
            engines = {
                (label(options.model, kind, options.cache, build), name): measure
                for kind in options.types
                for name, measure in engines_of(work, kind, build, options).items()
            }
            compare("llama.cpp", work, engines, "llama.cpp", options)


if __name__ == "__main__":
    main()
