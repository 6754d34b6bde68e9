#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Save models/starcoder2-tiny as model.onnx in the ways that exporters do, with the onnx package.

  onnx/scoped     floats, as torch.onnx names them: matrices "onnx::MatMul_N" in nodes named by their module, data beside it
  onnx/quantized  one matrix in each form: SparseML's, ONNX Runtime's, QLinearMatMul, DequantizeLinear, QuantizeLinear
  onnx/floats     what onnx/quantized stands for, computed by numpy: safetensors F32

Nodes between the matrix products are left out, except what the reader walks and some that it must pass by.

usage: make_onnx.py [--out DIR]
Made with Python 3.11, onnx 1.23.2, numpy 2.4.6, torch 2.14.0, safetensors 0.8.0.
"""
import argparse
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import safetensors.numpy
import torch
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import load_file

FOLDER = Path(__file__).parent
MODEL = FOLDER / "models" / "starcoder2-tiny"
LINEAR = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj", "mlp.c_fc", "mlp.c_proj")


def bf16(values):
    """The upper halves of floats that have no other bits."""
    return (values.view("<u4") >> 16).astype("<u2")


class Graph:
    def __init__(self):
        self.nodes, self.tensors, self.count = [], [], 0

    def node(self, op, inputs, name="", output=None, **attributes):
        self.count += 1
        output = output or f"{name or op}_output_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name, **attributes))
        return output

    def tensor(self, name, values):
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def typed(self, name, kind, shape, values):
        """In float_data or int32_data."""
        self.tensors.append(helper.make_tensor(name, kind, shape, values))
        return name

    def save(self, path, output, external):
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "length"])]
        outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, [1, "length", "vocabulary"])]
        for layer in (0, 1):  # the cache that SparseML puts in
            for part in ("key", "value"):
                inputs.append(helper.make_tensor_value_info(
                    f"past_key_values.{layer}.{part}", TensorProto.UINT8, [1, 4, "past", 8]))
        graph = helper.make_graph(self.nodes, "torch_jit", inputs, outputs, self.tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        onnx.save_model(model, path, save_as_external_data=external, location="model.data", size_threshold=1000)


def scoped(tensors):
    graph = Graph()
    embedding = tensors["model.embed_tokens.weight"]
    graph.tensors.append(helper.make_tensor("model.embed_tokens.weight", TensorProto.BFLOAT16, embedding.shape,
                                            bf16(embedding).tobytes(), raw=True))
    table = graph.node("Cast", ["model.embed_tokens.weight"], to=TensorProto.FLOAT)
    x = graph.node("Gather", [table, "input_ids"], "/model/embed_tokens/Gather")

    def norm(x, module):
        graph.typed(f"{module}.weight", TensorProto.FLOAT, tensors[f"{module}.weight"].shape,
                    tensors[f"{module}.weight"].tolist())
        graph.tensor(f"{module}.bias", tensors[f"{module}.bias"])
        return graph.node("LayerNormalization", [x, f"{module}.weight", f"{module}.bias"],
                          "/" + module.replace(".", "/").replace("layers/", "layers.") + "/LayerNormalization", axis=-1)

    for layer in (0, 1):
        x = norm(x, f"model.layers.{layer}.input_layernorm")
        for number, linear in enumerate(LINEAR):
            module = f"model.layers.{layer}.{linear}"
            scope = f"/model/layers.{layer}/" + linear.replace(".", "/")
            matrix, bias = tensors[f"{module}.weight"], tensors[f"{module}.bias"]
            if linear == "mlp.c_fc":
                x = norm(x, f"model.layers.{layer}.post_attention_layernorm")
                graph.tensor(f"{module}.weight", matrix)  # [out, in]
                graph.tensor(f"{module}.bias", bias)
                x = graph.node("Gemm", [x, f"{module}.weight", f"{module}.bias"], scope + "/Gemm", transB=1)
                continue
            name = f"onnx::MatMul_{10 * layer + number + 900}"
            if layer == 0:
                graph.tensor(name, matrix.T)
            else:
                graph.tensors.append(helper.make_tensor(name, TensorProto.BFLOAT16, matrix.T.shape,
                                                        bf16(np.ascontiguousarray(matrix.T)).tobytes(), raw=True))
            graph.typed(f"{module}.bias", TensorProto.BFLOAT16, bias.shape, bias.tolist())
            x = graph.node("MatMul", [x, name], scope + "/MatMul")
            x = graph.node("Add", [f"{module}.bias", x], scope + "/Add")
        x = graph.node("MatMul", [x, x], f"/model/layers.{layer}/self_attn/MatMul")  # of activations
    x = norm(x, "model.norm")
    turned = graph.node("Transpose", [table], perm=[1, 0])
    graph.node("MatMul", [x, turned], "/lm_head/MatMul", output="logits")
    return graph


def codes_of(matrix, scale, low=-128, high=127):
    """[out, in] as integers; the scale is one, or one for each row."""
    return np.clip(np.rint(matrix / scale), low, high).astype(np.int8)


def quantized(tensors):
    graph, floats = Graph(), {}
    f32 = np.float32
    zero = {np.uint8: graph.tensor("zero_u8", np.uint8(128)), np.int8: graph.tensor("zero_i8", np.int8(0))}

    def per_tensor(matrix):
        return f32(np.abs(matrix).max() / f32(127))

    def per_row(matrix):
        return (np.abs(matrix).max(axis=1) / f32(127)).astype(f32)

    def unsigned(codes):
        return (codes.astype(np.int16) + 128).astype(np.uint8)

    # SparseML: QuantizeLinear before, int32 biases and the product of the scales behind it.
    def sparseml(x, module, scope, bias):
        matrix = tensors[f"{module}.weight"]
        if module.endswith("c_fc"):  # 2:4
            groups = matrix.reshape(-1, 4)
            np.put_along_axis(groups, np.argsort(np.abs(groups), axis=1)[:, :2], 0, axis=1)
        scale, step = per_tensor(matrix), f32(0.037)
        codes, product = codes_of(matrix, scale), f32(step * scale)
        node = f"{scope}/module/MatMul" if module.endswith("q_proj") else f"{scope}/MatMul"
        graph.tensor(f"{node}.weight_quantized", unsigned(codes.T))
        graph.tensor(f"{node}.step", step)
        y = graph.node("QuantizeLinear", [x, f"{node}.step", zero[np.uint8]], f"{scope}/quant/QuantizeLinear")
        y = graph.node("MatMulInteger", [y, f"{node}.weight_quantized", zero[np.uint8], zero[np.uint8]], f"{node}_quant")
        if bias is not None:
            whole = np.rint(bias / product).astype(np.int32)
            graph.tensor(f"{scope}/Add.bias_quantized", whole)
            graph.tensor(f"{scope}/Add.bias_quantized.scale", product)
            y = graph.node("Add", [y, f"{scope}/Add.bias_quantized"], f"{node}_bias_add_quant")
            floats[f"{module}.bias"] = whole.astype(f32) * product
            factor = f"{scope}/Add.bias_quantized.scale"
        else:
            factor = graph.tensor(f"{node}_quant.rescale.scale", product)
        y = graph.node("Cast", [y], f"{node}_cast", to=TensorProto.FLOAT)
        floats[f"{module}.weight"] = codes.astype(f32) * f32(product / step)
        return graph.node("Mul", [y, factor], f"{node}_rescale_mul")

    # ONNX Runtime: DynamicQuantizeLinear before, a product of scales that the graph computes behind it.
    def runtime(x, module, scope, bias):
        matrix = tensors[f"{module}.weight"]
        name = "onnx::MatMul_" + str(graph.count)
        if module.endswith("c_proj"):  # per tensor, asymmetric
            scale, middle, kind = f32((matrix.max() - matrix.min()) / f32(255)), 117, np.uint8
            codes = np.clip(np.rint(matrix / scale) + middle, 0, 255).astype(np.uint8)
            floats[f"{module}.weight"] = (codes.astype(np.int16) - middle).astype(f32) * scale
        else:
            scale, middle, kind = per_row(matrix), 0, np.int8
            codes = codes_of(matrix, scale[:, None])
            floats[f"{module}.weight"] = codes.astype(f32) * scale[:, None]
        graph.tensor(f"{name}_quantized", codes.T)
        graph.tensor(f"{name}_scale", scale)
        graph.tensor(f"{name}_zero_point", np.full(np.shape(scale), middle, kind))
        values = [f"{x}_quantized", f"{x}_scale", f"{x}_zero_point"]
        graph.nodes.append(helper.make_node("DynamicQuantizeLinear", [x], values, f"{x}_QuantizeLinear"))
        y = graph.node("MatMulInteger", [values[0], f"{name}_quantized", values[2], f"{name}_zero_point"],
                       f"{scope}/MatMul_quant")
        factor = graph.node("Mul", [values[1], f"{name}_scale"], f"{scope}/MatMul_quant_scales_mul")
        y = graph.node("Mul", [graph.node("Cast", [y], to=TensorProto.FLOAT), factor])
        floats[f"{module}.bias"] = bias
        graph.tensor(f"{module}.bias", bias)
        return graph.node("Add", [f"{module}.bias", y], f"{scope}/Add")

    def qlinear(x, module, scope, bias):
        matrix = tensors[f"{module}.weight"]
        scale, step = per_tensor(matrix), f32(0.05)
        codes = codes_of(matrix, scale)
        names = [graph.tensor(f"{module}.{name}", values) for name, values in
                 (("step", step), ("weight_quantized", unsigned(codes.T)), ("weight_scale", scale))]
        y = graph.node("QuantizeLinear", [x, names[0], zero[np.uint8]])
        y = graph.node("QLinearMatMul", [y, names[0], zero[np.uint8], names[1], names[2], zero[np.uint8], names[0],
                                         zero[np.uint8]], f"{scope}/MatMul_quant")
        y = graph.node("DequantizeLinear", [y, names[0], zero[np.uint8]])
        floats[f"{module}.weight"], floats[f"{module}.bias"] = codes.astype(f32) * scale, bias
        return graph.node("Add", [y, graph.tensor(f"onnx::Add_{graph.count}", bias)], f"{scope}/Add")

    # [in, out] with a scale for each column; [out, in] with one for each row in a Gemm.
    def dequantized(x, module, scope, bias):
        matrix, gemm = tensors[f"{module}.weight"], module.endswith("c_fc")
        scale = per_row(matrix)
        codes = codes_of(matrix, scale[:, None])
        names = [graph.tensor(f"{module}.{name}", values) for name, values in
                 (("weight_quantized", codes if gemm else codes.T), ("weight_scale", scale),
                  ("weight_zero_point", np.zeros(scale.shape, np.int8)))]
        y = graph.node("DequantizeLinear", names, axis=0 if gemm else 1)
        floats[f"{module}.weight"] = codes.astype(f32) * scale[:, None]
        if not gemm:
            floats[f"{module}.bias"] = bias
            return graph.node("Add", [graph.node("MatMul", [x, y], f"{scope}/MatMul"),
                                      graph.tensor(f"{module}.bias", bias)], f"{scope}/Add")
        whole = np.rint(bias / f32(0.001)).astype(np.int32)
        floats[f"{module}.bias"] = whole.astype(f32) * f32(0.001)
        z = graph.node("DequantizeLinear", [graph.tensor(f"{module}.bias_quantized", whole),
                                            graph.tensor(f"{module}.bias_scale", f32(0.001))])
        return graph.node("Gemm", [x, y, z], f"{scope}/Gemm", transB=1)

    def quantized_by_graph(x, module, scope, bias):
        matrix = tensors[f"{module}.weight"]
        scale = per_tensor(matrix)
        y = [graph.tensor(f"{module}.weight", matrix), graph.tensor(f"{module}.weight_scale", scale), zero[np.int8]]
        y = graph.node("QuantizeLinear", y)
        y = graph.node("DequantizeLinear", [y, f"{module}.weight_scale", zero[np.int8]])
        floats[f"{module}.weight"], floats[f"{module}.bias"] = codes_of(matrix, scale).astype(f32) * scale, bias
        y = graph.node("MatMul", [x, graph.node("Transpose", [y], perm=[1, 0])], f"{scope}/MatMul")
        return graph.node("Add", [y, graph.tensor(f"{module}.bias", bias)], f"{scope}/Add")

    embedding = tensors["model.embed_tokens.weight"]
    scale = per_tensor(embedding)
    codes = codes_of(embedding, scale)
    floats["model.embed_tokens.weight"] = codes.astype(f32) * scale
    graph.tensor("model.embed_tokens.weight_quant", unsigned(codes))
    graph.tensor("embedding_scale", scale)
    x = graph.node("Gather", ["model.embed_tokens.weight_quant", "input_ids"], "/model/embed_tokens/Gather")
    x = graph.node("DequantizeLinear", [x, "embedding_scale", zero[np.uint8]])
    for name, vector in tensors.items():
        if "norm" in name:
            graph.tensor(name, vector)
            floats[name] = vector
    second = (runtime, qlinear, dequantized, quantized_by_graph, dequantized, runtime)
    for layer in (0, 1):
        for linear, form in zip(LINEAR, (sparseml,) * 6 if layer == 0 else second):
            module, scope = f"model.layers.{layer}.{linear}", f"/model/layers.{layer}/" + linear.replace(".", "/")
            x = form(x, module, scope, tensors[f"{module}.bias"])
    tensors["lm_head.weight"] = embedding
    sparseml(x, "lm_head", "/lm_head", None)
    graph.nodes[-1].output[0] = "logits"
    return graph, floats


def main():
    parser = argparse.ArgumentParser(description="Save a tiny model as model.onnx.")
    parser.add_argument("--out", type=Path, default=FOLDER / "onnx")
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    for name in ("scoped", "quantized", "floats"):
        (out / name).mkdir(parents=True)
        config = json.loads((MODEL / "config.json").read_text())
        if name == "floats":
            config["tie_word_embeddings"] = False  # the graph's head has codes of its own
        (out / name / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    tensors = {name: tensor.float().numpy().copy() for name, tensor in load_file(MODEL / "model.safetensors").items()}
    scoped(tensors).save(out / "scoped" / "model.onnx", "logits", True)
    graph, floats = quantized(tensors)
    graph.save(out / "quantized" / "model.onnx", "logits", False)
    safetensors.numpy.save_file({name: np.ascontiguousarray(values) for name, values in floats.items()},
                                out / "floats" / "model.safetensors")


if __name__ == "__main__":
    main()
