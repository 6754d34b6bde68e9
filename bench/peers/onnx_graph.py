# SPDX-License-Identifier: Apache-2.0
"""The matrices of a model as an ONNX graph of products with random weights, f32 or int8 as onnxruntime quantizes them.

usage: onnx_graph.py SHAPE f32|int8 FILE.onnx        SHAPE is codegen-350m or smollm2-135m
"""

import sys
from pathlib import Path
from typing import NamedTuple

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Shape(NamedTuple):
    hidden: int
    layers: int
    vocabulary: int
    matrices: list  # of a layer: (inputs, outputs)


SHAPES = {
    "codegen-350m": Shape(1024, 20, 51200, [(1024, 3072), (1024, 1024), (1024, 4096), (4096, 1024)]),
    "smollm2-135m": Shape(576, 30, 49152, [(576, 960), (576, 576), (576, 3072), (1536, 576)]),
}


class Graph:
    """Products one after the other; where the widths differ the input is cut or repeated."""

    def __init__(self, shape, form):
        self.shape, self.form, self.nodes, self.constants = SHAPES[shape], form, [], []
        self.name = shape
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
        hidden, layers, vocabulary, matrices = self.shape
        width = hidden
        sizes = matrices * layers + [(hidden, vocabulary)]
        for index, (inputs, outputs) in enumerate(sizes):
            name = f"w{index}"
            self.resize(name, width, inputs)
            self.value, width = self.multiply(name, inputs, outputs), outputs
        graph = helper.make_graph(
            self.nodes,
            self.name,
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["tokens", hidden])],
            [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, ["tokens", vocabulary])],
            self.constants,
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def write(shape, form, path):
    """Makes the file unless it is there."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(Graph(shape, form).model(), path.with_suffix(".part"))
    path.with_suffix(".part").rename(path)


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in SHAPES or sys.argv[2] not in ("f32", "int8"):
        sys.exit(__doc__)
    write(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
