# SPDX-License-Identifier: Apache-2.0
"""Tulle and onnxruntime on the matrices of CodeGen-350M, interleaved: milliseconds of 1 and of 64 tokens.

onnxruntime runs the matrix products alone, dense, on random weights; Tulle runs whole tokens with everything between
the products (`tulle benchmark --shape codegen-350m`), so its figures include more work.
"""

import argparse
import time

import numpy
import onnxruntime

from onnx_graph import SHAPES, write
from peers import PEERS, processor, ratio, spread, table, tulle_results, usable_cores

TOKENS = [1, 64]
FORMS = {"f32": "dense_f32", "int8": "dense_i8"}  # onnxruntime's, and Tulle's counterpart


def session(form, threads):
    path = PEERS / "models" / f"codegen-350m.{form}.onnx"
    write("codegen-350m", form, path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_onnxruntime(sessions, tokens, seconds):
    """form -> median milliseconds, after one warm-up run."""
    x = numpy.random.default_rng(2).standard_normal((tokens, SHAPES["codegen-350m"].hidden), dtype=numpy.float32)
    medians = {}
    for form, one in sessions.items():
        one.run(None, {"x": x})
        times, end = [], time.perf_counter() + seconds
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            one.run(None, {"x": x})
            times.append(1e3 * (time.perf_counter() - begin))
        medians[form] = float(numpy.median(times))
    return medians


def run_tulle(tokens, threads, structure, seconds):
    """name -> milliseconds."""
    results = tulle_results(
        "--shape", "codegen-350m", "--structure", structure, "--threads", threads, "--input-ids-length", tokens,
        "--num-kv-cache-tokens", 0, "--prompt-tokens", 1, "--time", seconds, "--warmup-time", 0.2,
    )  # fmt: skip
    return {name: 1e3 * tokens / result["decode_tokens_per_second"] for name, result in results.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--rounds", type=int, default=3, help="turns of every engine (default 3)")
    parser.add_argument("--seconds", type=float, default=1, help="of each measurement (default 1)")
    parser.add_argument("--structure", default="8:16-gap4", help="zeros of Tulle's sparse weights (default 8:16-gap4)")
    options = parser.parse_args()

    sessions = {form: session(form, options.threads) for form in FORMS}
    rows = [["tokens", "engine", "weights", "ms", "speed x onnxruntime of the same type", "speed x onnxruntime int8"]]
    for tokens in TOKENS:
        theirs = {form: [] for form in FORMS}
        ours = {}
        for _ in range(options.rounds):
            for form, milliseconds in run_onnxruntime(sessions, tokens, options.seconds).items():
                theirs[form].append(milliseconds)
            for name, milliseconds in run_tulle(tokens, options.threads, options.structure, options.seconds).items():
                ours.setdefault(name, []).append(milliseconds)
        for form, times in theirs.items():
            rows.append([str(tokens), "onnxruntime", form, spread(times, 1), "1.00", ratio(theirs["int8"], times)])
        same = {name: theirs[form] for form, name in FORMS.items()} | {"model": theirs["int8"]}
        for name, times in ours.items():
            weights = f"int8, {options.structure}" if name == "model" else name
            rows.append(
                [
                    str(tokens),
                    "tulle",
                    weights,
                    spread(times, 1),
                    ratio(same[name], times),
                    ratio(theirs["int8"], times),
                ]
            )
    version = onnxruntime.__version__
    print(f"{processor()}, {options.threads} thread(s), onnxruntime {version}, {options.rounds} round(s), interleaved\n")
    print(table(rows))


if __name__ == "__main__":
    main()
