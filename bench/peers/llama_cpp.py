# SPDX-License-Identifier: Apache-2.0
"""Tulle and llama.cpp on the same files, interleaved: tokens per second of a prompt of 512 and of 128 generated tokens."""

import argparse
import json
import sys

import random_gguf
from peers import PEERS, ROOT, output_of, processor, ratio, spread, table, table_row, tulle_results, usable_cores

BUILDS = {"native": [], "avx2": ["--isa", "avx2"]}  # flags of Tulle; build/peers/{llama,ik}-BUILD
DEFAULT_MODEL = "smollm2-135m"
PROMPT, GENERATED = 512, 128


def model_file(model, kind, zeros="0"):
    """Made once: the default model requantized by llama.cpp, or random weights (pruned or not) in the shape of another model."""
    name = f"{model}.{kind}" if zeros == "0" else f"{model}.{kind}.{zeros.replace(':', 'of')}"
    path = PEERS / "models" / f"{name}.gguf"
    if path.exists():
        return path
    print(f"making {path.name}", file=sys.stderr)
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    if model != DEFAULT_MODEL and kind == "Q8_0":
        random_gguf.write(model, part, zeros)
    else:
        source = (
            output_of(ROOT / "tools" / "fetch-model").decode().strip()
            if model == DEFAULT_MODEL
            else model_file(model, "Q8_0")
        )
        output_of(PEERS / "llama-native" / "bin" / "llama-quantize", "--allow-requantize", source, part, kind)
    return part.rename(path)


def run_llama(folder, model, threads, *flags):
    bench = PEERS / folder / "bin" / "llama-bench"
    tests = json.loads(
        output_of(
            bench,
            "-m",
            model,
            "-t",
            threads,
            "-p",
            PROMPT,
            "-n",
            GENERATED,
            "-r",
            1,
            "-o",
            "json",
            *flags,
        )
    )
    speed = {("prefill" if test["n_prompt"] else "decode"): test["avg_ts"] for test in tests}
    return speed["prefill"], speed["decode"], 0


def run_tulle(model, threads, flags, seconds):
    # llama-bench generates into an empty cache: on average it holds half of the generated tokens.
    common = [
        "--threads",
        threads,
        "--prompt-tokens",
        PROMPT,
        "--num-kv-cache-tokens",
        GENERATED // 2,
        "--time",
        seconds,
    ]
    result = tulle_results(model, *common, "--warmup-time", 0.2, "--no-baselines", *flags)["model"]
    return result["prefill_tokens_per_second"], result["decode_tokens_per_second"], result["bytes_per_token"]


def engines_of(kind, build, options):
    """name -> a function that measures it on the file of a type."""
    model, isa, threads = model_file(options.model, kind), BUILDS[build], options.threads
    engines = {
        "llama.cpp": lambda: run_llama(f"llama-{build}", model, threads),
        "tulle": lambda: run_tulle(model, threads, isa, options.seconds),
    }
    if options.ik:
        engines["ik_llama.cpp"] = lambda: run_llama(f"ik-{build}", model, threads)
        engines["ik_llama.cpp -rtr 1"] = lambda: run_llama(f"ik-{build}", model, threads, "-rtr", 1)
    if kind == "Q8_0" and options.structure:
        if options.model == DEFAULT_MODEL:
            pruned, flags = model, [*isa, "--structure", options.structure]
        else:  # unstructured sparsity: pruning takes minutes
            pruned, flags = model_file(options.model, kind, options.structure), isa
        engines[f"tulle, pruned {options.structure}"] = lambda: run_tulle(pruned, threads, flags, options.seconds)
    return engines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=5, help="turns of every engine (default 5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn of Tulle (default 1.5)")
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
        choices=["Q8_0", "Q4_0", "Q5_0", "Q4_K_S", "Q4_K_M", "Q5_K_M", "Q6_K"],
        default=["Q8_0", "Q4_0"],
        help="what llama-quantize makes (default Q8_0 Q4_0)",
    )
    parser.add_argument("--ik", action="store_true", help="also ik_llama.cpp, as it is and with weights repacked")
    parser.add_argument("--structure", help="also the Q8_0 model pruned, for speed only: 2:4, 8:16-gap4, 4:16")
    options = parser.parse_args()

    print(f"{options.model}, {processor()}, {options.threads} thread(s), {options.rounds} rounds, interleaved,")
    print("median (min-max); decode x bytes: bytes a second that Tulle reads, times those of the first type\n")
    heading = ["prefill tokens/s", "decode tokens/s", "prefill x llama.cpp", "decode x llama.cpp", "decode x bytes"]
    print(table([["file", "build", "engine", *heading]]), flush=True)
    for build in options.builds:
        engines = {kind: engines_of(kind, build, options) for kind in options.types}
        speeds = {(kind, name): [] for kind in engines for name in engines[kind]}
        for _ in range(options.rounds):
            for kind, name in speeds:
                speeds[kind, name].append(engines[kind][name]())
        for (kind, name), measured in speeds.items():
            prefill, decode, read = zip(*measured)
            their_prefill, their_decode, _ = zip(*speeds[kind, "llama.cpp"])
            _, first_decode, first_read = zip(*speeds[options.types[0], "tulle"])
            ratios = [ratio(prefill, their_prefill), ratio(decode, their_decode)]
            by_bytes = [speed * size for speed, size in zip(decode, read)]
            first_by_bytes = [speed * size for speed, size in zip(first_decode, first_read)]
            ratios.append(ratio(by_bytes, first_by_bytes) if read[0] else "")
            print(table_row([kind, build, name, spread(prefill), spread(decode), *ratios]), flush=True)


if __name__ == "__main__":
    main()
