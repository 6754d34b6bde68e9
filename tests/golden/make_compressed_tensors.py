#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make small matrices in the forms of compressed-tensors, written by that package, beside the floats it reads them as.

Every directory of quantized/ has a config.json and a model.safetensors with layers L of [8, 128] weights and "L.expected"
F32. Which directories are made depends on the version that is installed, for a form is written by a version that has it:
0.14.0.1 (the last one with sparse forms) makes all but ct_bitmask_0_8, which 0.8.1 makes (it compressed every tensor, under
other names).

usage: make_compressed_tensors.py [--out DIR]
Made with Python 3.11, torch 2.14.0, compressed-tensors 0.14.0.1 and 0.8.1, safetensors 0.8.0.
"""
import argparse
import json
import shutil
from importlib.metadata import version
from pathlib import Path

import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.config import SparsityCompressionConfig
from compressed_tensors.quantization import QuantizationArgs, QuantizationConfig, QuantizationScheme
from safetensors.torch import save_file

ROWS, COLUMNS = 8, 128
VERSION = version("compressed-tensors")


def arguments(**changes):
    return QuantizationArgs(**{"num_bits": 8, "type": "int", "symmetric": True, "strategy": "channel", "dynamic": False, **changes})


def draw(pruned=False, dtype=torch.float32):
    weight = torch.randn(ROWS, COLUMNS)
    if pruned:
        weight[torch.rand(ROWS, COLUMNS) < 0.6] = 0
        weight[3] = 0
        weight[4, 5] = -0.0
    return weight.to(dtype)


def scales_of(weight, args):
    """Scales and zero points; for a tensor, rows, or groups of columns."""
    parts = weight.reshape(1, 1, -1) if args.strategy == "tensor" else weight.reshape(ROWS, -1, args.group_size or COLUMNS)
    low, high = parts.amin(-1).clamp(max=0), parts.amax(-1).clamp(min=0)
    levels = 448 * 2 if args.type == "float" else 2 ** args.num_bits - 1
    if args.symmetric:
        scale = torch.maximum(-low, high) * 2 / levels
        scale = scale.clamp(min=torch.finfo(torch.float32).eps)
        return scale.reshape(-1) if args.strategy == "tensor" else scale, None
    scale = (high - low) / levels
    zero = torch.round(-2 ** (args.num_bits - 1) - low / scale).clamp(-2 ** (args.num_bits - 1), 2 ** (args.num_bits - 1) - 1)
    return scale, zero.to(torch.int8)


class Form:
    def __init__(self, name, format, seed):
        torch.manual_seed(seed)
        self.name, self.format, self.tensors, self.schemes, self.sparsity = name, format, {}, {}, None

    def quantize(self, layer, args, weight=None, scale_type=torch.float32, act_order=False, static=False):
        """The tensors of a layer, those of the package and those beside them. Returns what reads changed tensors instead."""
        weight = draw() if weight is None else weight
        scale, zero = scales_of(weight, args)
        scale = scale.to(scale_type).float() if scale_type != torch.float32 else scale
        index = torch.arange(COLUMNS)[torch.randperm(COLUMNS)].int() // args.group_size if act_order else None
        config = QuantizationConfig(config_groups={"group_0": QuantizationScheme(targets=[layer], weights=args)}, format=self.format)
        compressor = BaseCompressor.load_from_registry(self.format, config=config)
        made = compressor.compress_weight(weight=weight, scale=scale, zero_point=zero, g_idx=index, quantization_args=args)
        stored = {"weight_scale": scale.to(scale_type), **({} if index is None else {"weight_g_idx": index})}
        if zero is not None and "weight_zero_point" not in made:
            stored["weight_zero_point"] = zero
        stored.update(made)
        def read(weights):
            self.tensors[f"{layer}.expected"] = compressor.decompress_weight(
                {**stored, **weights, "weight_scale": scale}, quantization_args=args).float()

        if static:
            stored.update({"input_scale": torch.tensor([0.02]), "input_zero_point": torch.tensor([3], dtype=torch.int8)})
        self.tensors.update({f"{layer}.{name}": tensor.contiguous() for name, tensor in stored.items()})
        read({})
        activations = QuantizationArgs(num_bits=8, symmetric=False, strategy="tensor", dynamic=False) if static else None
        self.schemes[layer] = QuantizationScheme(targets=[layer], weights=args, input_activations=activations)
        return read

    def compress(self, format, structure, weights):
        """All of `weights` as the package's sparse compressor stores them. Returns what it reads, -128 lost in 2:4."""
        self.sparsity = {"format": format, "global_sparsity": 0.6, "sparsity_structure": structure, "targets": ["Linear"],
                         "ignore": [], "registry_requires_subclass": False}
        config = SparsityCompressionConfig.load_from_registry(format, global_sparsity=0.6, sparsity_structure=structure)
        compressor = BaseCompressor.load_from_registry(format, config=config)
        made = compressor.compress(weights)
        self.tensors.update({name: tensor.contiguous() for name, tensor in made.items()})
        return {name: compressor.decompress_weight({part: made[f"{stem}.{part}"] for part in compressor.compression_param_names})
                for name in weights for stem in [name.removesuffix(".weight")] if stem != name and f"{stem}.bitmask" in made}

    def expect(self, layer, weight):
        self.tensors[f"{layer}.expected"] = weight.float() + 0  # -0 becomes 0

    def settings(self):
        groups = {f"group_{i}": json.loads(scheme.model_dump_json()) for i, scheme in enumerate(self.schemes.values())}
        return {"quant_method": "compressed-tensors", "format": self.format, "quantization_status": "compressed",
                "config_groups": groups, "ignore": [], "kv_cache_scheme": None, "version": VERSION,
                **({"sparsity_config": self.sparsity} if self.sparsity else {})}

    def write(self, out, key="quantization_config"):
        directory = out / self.name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        (directory / "config.json").write_text(json.dumps({key: self.settings()}, indent=1) + "\n")
        save_file(self.tensors, directory / "model.safetensors")


def quantized(out):
    form = Form("ct_int", "int-quantized", 401)
    form.quantize("channel", arguments())
    form.quantize("tensor", arguments(strategy="tensor"))
    form.quantize("group", arguments(strategy="group", group_size=64), scale_type=torch.bfloat16)
    form.quantize("asymmetric", arguments(symmetric=False), static=True)
    form.quantize("act_order", arguments(strategy="group", group_size=32, actorder="group"), act_order=True)
    form.write(out)
    form = Form("ct_pack", "pack-quantized", 402)
    form.quantize("channel4", arguments(num_bits=4))
    form.quantize("group4", arguments(num_bits=4, strategy="group", group_size=32), scale_type=torch.float16)
    form.quantize("asymmetric4", arguments(num_bits=4, strategy="group", group_size=64, symmetric=False), scale_type=torch.bfloat16)
    form.quantize("asymmetric4_f32", arguments(num_bits=4, strategy="group", group_size=32, symmetric=False))
    form.quantize("asymmetric4_channel", arguments(num_bits=4, symmetric=False))
    form.quantize("act_order4", arguments(num_bits=4, strategy="group", group_size=32, actorder="group"), act_order=True)
    form.quantize("act_order4_asymmetric", arguments(num_bits=4, strategy="group", group_size=32, actorder="group", symmetric=False),
                  act_order=True)
    form.quantize("group8", arguments(strategy="group", group_size=64), scale_type=torch.float16)
    form.quantize("asymmetric8", arguments(symmetric=False))
    form.write(out)
    form = Form("ct_float", "float-quantized", 403)
    form.quantize("channel", arguments(type="float"))
    form.quantize("tensor", arguments(type="float", strategy="tensor"))
    form.quantize("group", arguments(type="float", strategy="group", group_size=32), scale_type=torch.bfloat16)
    form.write(out)
    form = Form("ct_naive", "naive-quantized", 404)
    form.quantize("int4", arguments(num_bits=4, strategy="group", group_size=32))
    form.quantize("float8", arguments(type="float"))
    form.write(out)


def two_of_four(weight):
    groups = weight.abs().reshape(-1, 4)
    mask = torch.zeros_like(groups).scatter_(1, groups.topk(2, dim=1).indices, 1)
    return weight * mask.reshape(weight.shape).to(weight.dtype)


def sparse(out):
    form = Form("ct_bitmask", "dense", 405)
    weights = {"f32": draw(True), "f16": draw(True, torch.float16), "bf16": draw(True, torch.bfloat16)}
    weights["odd"] = draw(True)[:, :13].contiguous()
    form.compress("sparse-bitmask", "unstructured", {f"{layer}.weight": weight for layer, weight in weights.items()})
    for layer, weight in weights.items():
        form.expect(layer, weight)
    form.write(out)
    form = Form("ct_24", "dense", 406)
    weights = {"f32": two_of_four(draw()), "bf16": two_of_four(draw(dtype=torch.bfloat16)), "zeros": torch.zeros(ROWS, COLUMNS)}
    form.compress("sparse-24-bitmask", "2:4", {f"{layer}.weight": weight for layer, weight in weights.items()})
    for layer, weight in weights.items():
        form.expect(layer, weight)
    form.write(out)
    for name, format, structure in (("ct_stacked", "sparse-bitmask", "unstructured"), ("ct_stacked_24", "sparse-24-bitmask", "2:4")):
        form = Form(name, "int-quantized", 407)
        pruned = draw(True) if structure == "unstructured" else two_of_four(draw())
        readers = {"int8": form.quantize("int8", arguments(), weight=pruned),
                   "int8_group": form.quantize("int8_group", arguments(strategy="group", group_size=32), weight=pruned)}
        form.format = "float-quantized"
        readers["float8"] = form.quantize("float8", arguments(type="float"), weight=pruned)
        form.format = "int-quantized"
        dense = {f"{layer}.weight": form.tensors.pop(f"{layer}.weight") for layer in readers}
        found = form.compress(format, structure, dense)
        for layer, read in readers.items():
            read({"weight": found[f"{layer}.weight"]})
        form.write(out)


def sparse_0_8(out):
    form = Form("ct_bitmask_0_8", "dense", 408)
    weights = {"layer.weight": draw(True), "half.weight": draw(True, torch.bfloat16), "norm.weight": draw(True)[0].clone(),
               "layer.bias": draw()[0, :ROWS].clone()}
    form.compress("sparse-bitmask", "unstructured", weights)
    for name, weight in weights.items():
        form.expect(name.removesuffix(".weight") if weight.dim() == 2 else name, weight)
    form.sparsity["format"] = "sparse-bitmask"
    form.write(out, "compression_config")


def main():
    parser = argparse.ArgumentParser(description="Make small matrices in the forms of compressed-tensors.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "quantized")
    out = parser.parse_args().out
    if VERSION.startswith("0.8"):
        sparse_0_8(out)
    else:
        quantized(out)
        sparse(out)


if __name__ == "__main__":
    main()
