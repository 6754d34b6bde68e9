# SPDX-License-Identifier: Apache-2.0
"""Tulle and llama.cpp on one file, in turns: tokens a second of a prompt of 512 and of 128 generated tokens."""

import argparse
import json

from peers import PEERS, output_of, processor, ratio, spread, table, tulle_results, usable_cores

BUILDS = {"native": ("llama-native", []), "avx2": ("llama-avx2", ["--isa", "avx2"])}
PROMPT, GENERATED = 512, 128


def run_llama(build, model, threads):
    tests = json.loads(
        output_of(
            PEERS / build / "bin" / "llama-bench",
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
        )
    )
    speed = {("prefill" if test["n_prompt"] else "decode"): test["avg_ts"] for test in tests}
    return speed["prefill"], speed["decode"]


def run_tulle(model, threads, flags, seconds):
    # llama-bench generates into an empty cache: on average it holds half of what is generated.
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
    return result["prefill_tokens_per_second"], result["decode_tokens_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=5, help="turns of every engine (default 5)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn of Tulle (default 1.5)")
    parser.add_argument("--builds", nargs="+", choices=BUILDS, default=list(BUILDS), help="default: both")
    parser.add_argument("--types", nargs="+", choices=["Q8_0", "Q4_0"], default=["Q8_0", "Q4_0"], help="default: both")
    parser.add_argument("--structure", help="also the Q8_0 file pruned in memory, for speed only: 2:4, 8:16-gap4, 4:16")
    options = parser.parse_args()

    rows = [
        ["file", "build", "engine", "prefill tokens/s", "decode tokens/s", "prefill x llama.cpp", "decode x llama.cpp"]
    ]
    for build in options.builds:
        folder, isa = BUILDS[build]
        for kind in options.types:
            model = PEERS / "models" / f"{kind}.gguf"
            engines = {
                "llama.cpp": lambda: run_llama(folder, model, options.threads),
                "tulle": lambda: run_tulle(model, options.threads, isa, options.seconds),
            }
            if kind == "Q8_0" and options.structure:
                pruned = [*isa, "--structure", options.structure]
                engines[f"tulle, pruned {options.structure}"] = lambda: run_tulle(
                    model, options.threads, pruned, options.seconds
                )
            speeds = {name: [] for name in engines}
            for _ in range(options.rounds):
                for name, run in engines.items():
                    speeds[name].append(run())
            theirs = list(zip(*speeds["llama.cpp"]))
            for name, measured in speeds.items():
                prefill, decode = zip(*measured)
                rows.append(
                    [
                        kind,
                        build,
                        name,
                        spread(prefill),
                        spread(decode),
                        ratio(prefill, theirs[0]),
                        ratio(decode, theirs[1]),
                    ]
                )
    print(f"{processor()}, {options.threads} thread(s), {options.rounds} rounds in turns, median (least-most)\n")
    print(table(rows))


if __name__ == "__main__":
    main()
