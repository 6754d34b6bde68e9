# SPDX-License-Identifier: Apache-2.0
"""Shared by the comparisons: running Tulle and others interleaved, kept results, and tables of medians and ratios."""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "build" / "peers"
RESULTS = PEERS / "results"
TULLE = ROOT / "build" / "release" / "bin" / "tulle"


class Work(NamedTuple):
    """The prefill of a prompt, then tokens generated after `depth` others: none, or that prompt."""

    prompt: int
    generated: int
    depth: int

    def speeds(self, prefill, decode):
        after = f"decode after {self.depth}" if self.depth else f"decode of {self.generated}"
        return {f"prefill of {self.prompt}, tokens/s": prefill, f"{after}, tokens/s": decode}


WORKS = {"512": Work(512, 128, 0), "2048": Work(2048, 64, 2048), "8000": Work(8000, 64, 8000)}
START = "start"  # a process that loads the model and computes one token after a few
START_QUANTITIES = ["process to first token, s", "its peak memory, MB"]
WEIGHTS = "weights, GB/s"  # that Tulle's decode reads, keys and values included
MEMORY = "memory, GB/s"  # that a loop reads just before each turn
COMPARED = [name for work in WORKS.values() for name in work.speeds(0, 0)] + START_QUANTITIES


def usable_cores():
    return len(os.sched_getaffinity(0))


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return "unknown processor"


def output_of(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def python(script):
    return sys.executable, "-B", Path(__file__).with_name(script)


def run_python(script, *arguments):
    """A program of this folder in a process of its own, so that this one stays small (see start_of)."""
    return output_of(*python(script), *arguments)


def default_model():
    return output_of(ROOT / "tools" / "fetch-model").decode().strip()


def tulle_report(*flags):
    """Of one short `tulle benchmark`."""
    return json.loads(output_of(TULLE, "benchmark", *flags, "--verify-rows", 1, "--quiet", "--json"))


def tulle_results(*flags):
    """name -> result, of one short `tulle benchmark`."""
    return {result["name"]: result for result in tulle_report(*flags)["results"]}


def read_bandwidth(threads):
    """GB/s that `tulle benchmark` finds now; half a second."""
    report = tulle_report(
        default_model(), "--no-baselines", "--threads", threads, "--time", 0.1, "--warmup-time", 0,
        "--prompt-tokens", 1, "--num-kv-cache-tokens", 0, "--sequence-length", 64,
    )  # fmt: skip
    return report["machine"]["read_bytes_per_second"]["median"] / 1e9


def run_tulle(work, model, options, *flags):
    # The cache holds as many tokens as it does on average while the peers generate.
    tokens = work.depth + work.generated // 2
    result = tulle_results(
        model, "--threads", options.threads, "--prompt-tokens", work.prompt, "--num-kv-cache-tokens", tokens,
        "--sequence-length", work.prompt + work.generated, "--time", options.seconds, "--warmup-time", 0.2,
        "--no-baselines", *flags,
    )["model"]  # fmt: skip
    decode = result["decode_tokens_per_second"]
    speeds = work.speeds(result["prefill_tokens_per_second"], decode)
    return {**speeds, WEIGHTS: result["bytes_per_token"] * decode / 1e9}


def start_of(*command):
    """Seconds from the start of a process to the last byte that it prints, and its peak memory. Its files are in the
    page cache, because it runs twice. Linux counts at least the peak of this process, which starts it."""
    output_of(*command)
    began = time.perf_counter()
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while os.read(process.stdout.fileno(), 1 << 16):
            printed = time.perf_counter()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return dict(zip(START_QUANTITIES, [printed - began, usage.ru_maxrss * 1024 / 1e6]))


def start_tulle(model, options, packed_cache, *flags):
    return start_of(
        TULLE, "generate", "--model", model, "--prompt", "Hello there", "--max-new-tokens", 1,
        "--threads", options.threads, "--packed-cache", packed_cache, *flags,
    )  # fmt: skip


def tulle_engines(work, model, options, *flags):
    """name -> a function that measures it."""
    if work != START:
        return {"tulle": lambda: run_tulle(WORKS[work], model, options, *flags)}
    return {
        "tulle": lambda: start_tulle(model, options, "off", *flags),
        "tulle, kept weights": lambda: start_tulle(model, options, "on", *flags),
    }


def run_script(work, script, model, options):
    """One turn of an engine that Python drives, in a process of its own. The script gets pairs of lengths, of a prompt
    and of the text after it, and prints for each the seconds to the first token and of each later one; the first pair
    warms up."""
    arguments = [model, options.threads]
    if work == START:
        return start_of(*python(script), *arguments, "5,1")
    prompt, generated, depth = WORKS[work]
    texts = [f"{prompt},{generated}"] if depth == prompt else [f"{prompt},1", f"1,{generated}"]
    _, *seconds = json.loads(run_python(script, *arguments, "5,4", *texts))
    return WORKS[work].speeds(prompt / seconds[0][0], 1 / seconds[-1][1])


def add_options(parser, works, rounds):
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=rounds, help="turns of every engine (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.5, help="of each turn of Tulle (default %(default)s)")
    parser.add_argument(
        "--work",
        nargs="+",
        choices=[*WORKS, START],
        default=works,
        help="a prompt of so many tokens, and generating; start: a process up to its first token, files in the page "
        f"cache (default {' '.join(works)})",
    )


def spread(values, digits=0):
    return f"{statistics.median(values):.{digits}f} ({min(values):.{digits}f}-{max(values):.{digits}f})"


def ratio(values, others):
    """Of the medians of two lists whose entries were measured one after the other."""
    return f"{statistics.median(value / other for value, other in zip(values, others)):.2f}"


def gain(quantity, turns, others):
    """How many times better the engine of some turns is than another: more tokens a second, fewer seconds or bytes."""
    if quantity not in turns[0] or quantity not in others[0]:
        return ""
    values, theirs = ([turn[quantity] for turn in each] for each in (turns, others))
    return ratio(values, theirs) if quantity.endswith("/s") else ratio(theirs, values)


def column(quantity, turns):
    """Median, min and max of a quantity, with three digits of the median."""
    if quantity not in turns[0]:
        return ""
    values = [turn[quantity] for turn in turns]
    median = statistics.median(values)
    return spread(values, 0 if median >= 100 else 1 if median >= 10 else 2)


def compare(name, work, engines, reference, options):
    """Measures engines interleaved and prints a table. engines: (model, engine) -> a function that measures one turn:
    quantity -> value. The turns are kept for joint_table.py."""
    turns = {key: [] for key in engines}
    for _ in range(options.rounds):
        for key, measure in engines.items():
            memory = read_bandwidth(options.threads)
            turns[key].append({**measure(), MEMORY: memory})
    measured = {quantity for each in turns.values() for quantity in each[0]}
    compared = [quantity for quantity in COMPARED if quantity in measured]
    quantities = compared + [quantity for quantity in (WEIGHTS, MEMORY) if quantity in measured]
    rows = [["model", "engine", *quantities, *(f"{quantity.split(',')[0]} x {reference}" for quantity in compared)]]
    for (model, engine), each in turns.items():
        gains = [gain(quantity, each, turns[model, reference]) for quantity in compared]
        rows.append([model, engine, *(column(quantity, each) for quantity in quantities), *gains])
    print(table(rows) + "\n", flush=True)

    RESULTS.mkdir(exist_ok=True)
    for model in dict.fromkeys(model for model, _ in turns):
        kept = {"processor": processor(), "threads": options.threads, "rounds": options.rounds, "model": model}
        kept["engines"] = {engine: measured for (each, engine), measured in turns.items() if each == model}
        (RESULTS / f"{name}, {model}, {work}.json").write_text(json.dumps(kept))


def table_row(row):
    return "| " + " | ".join(row) + " |"


def table(rows):
    """The first row is the heading."""
    lines = list(map(table_row, rows))
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)
