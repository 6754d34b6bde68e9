# SPDX-License-Identifier: Apache-2.0
"""Tulle and onnxruntime on the matrices of CodeGen-350M, in turns: milliseconds of 1 and of 64 tokens.

onnxruntime runs the matrix products alone, dense, on random weights; Tulle runs whole tokens with everything between
the products (`tulle benchmark --shape codegen-350m`), so its figures hold some more work.
"""

import argparse
import time

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from peers import PEERS, processor, ratio, spread, table, tulle_results, usable_cores

HIDDEN, LAYERS, VOCABULARY = 1024, 20, 51200
MATRICES = [(HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN, HIDDEN)]  # of a layer: in, out
TOKENS = [1, 64]
FORMS = {"f32": "dense_f32", "int8": "dense_i8"}  # onnxruntime's, and Tulle's counterpart


class Graph:
    """Products one after the other; where the widths differ the input is cut or repeated."""

    def __init__(self, form):
        self.form, self.nodes, self.constants = form, [], []
        self.random = numpy.random.default_rng(1)
        self.value = "x"

    def add(self, kind, inputs, outputs, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def multiply(self, name, inputs, outputs):
        if self.form == "f32":
            weights = self.random.standard_normal((inputs, outputs), dtype=numpy.float32) / numpy.float32(inputs**0.5)
            return self.add("MatMul", [self.value, self.constant(name, weights)], [name + "_y"])
        codes = self.random.integers(-127, 128, (inputs, outputs), dtype=numpy.int8)
        quantized = [name + part for part in ("_q", "_scale", "_zero")]
        self.add("DynamicQuantizeLinear", [self.value], quantized)
        zero = self.constant(name + "_weight_zero", numpy.zeros((), numpy.int8))
        product = self.add(
            "MatMulInteger", [quantized[0], self.constant(name, codes), quantized[2], zero], [name + "_i"]
        )
        scale = self.constant(name + "_weight_scale", numpy.float32(1 / (73 * inputs**0.5)).reshape(()))
        product = self.add("Cast", [product], [name + "_f"], to=TensorProto.FLOAT)
        scale = self.add("Mul", [quantized[1], scale], [name + "_s"])
        return self.add("Mul", [product, scale], [name + "_y"])

    def resize(self, name, width, wanted):
        if width < wanted:
            self.value = self.add("Concat", [self.value] * (wanted // width), [name + "_wide"], axis=1)
        elif width > wanted:
            ends = [
                self.constant(name + part, numpy.array([each], numpy.int64))
                for part, each in [("_first", 0), ("_last", wanted), ("_axis", 1)]
            ]
            self.value = self.add("Slice", [self.value, *ends], [name + "_cut"])

    def model(self):
        width = HIDDEN
        sizes = [size for _ in range(LAYERS) for size in MATRICES] + [(HIDDEN, VOCABULARY)]
        for index, (inputs, outputs) in enumerate(sizes):
            name = f"w{index}"
            self.resize(name, width, inputs)
            self.value, width = self.multiply(name, inputs, outputs), outputs
        graph = helper.make_graph(
            self.nodes,
            "codegen-350m",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["tokens", HIDDEN])],
            [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, ["tokens", VOCABULARY])],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def session(form, threads):
    path = PEERS / "models" / f"codegen-350m.{form}.onnx"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save_model(Graph(form).model(), path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def run_onnxruntime(sessions, tokens, seconds):
    """form -> median milliseconds, after one run that does not count."""
    x = numpy.random.default_rng(2).standard_normal((tokens, HIDDEN), dtype=numpy.float32)
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
    print(f"{processor()}, {options.threads} thread(s), onnxruntime {version}, {options.rounds} round(s) in turns\n")
    print(table(rows))


if __name__ == "__main__":
    main()
