#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make small matrices in the forms of GPTQ and AWQ, each beside the floats that it stands for.

Every directory of quantized/ has a config.json and a model.safetensors with layers L of [8, 128] weights in one form and
"L.expected" F32. Packed by numpy as AutoGPTQ and AutoAWQ do it (their qlinear pack functions), without Tulle's code.

usage: make_quantized.py [--out DIR]
Made with Python 3.11, numpy 2.4.6, safetensors 0.8.0.
"""
import argparse
import json
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

ROWS, COLUMNS = 8, 128
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)  # which of 8 neighbours lies in nibble i


def packed(codes, bits, order=None):
    """uint32 words along the last axis, the first in the lowest bits."""
    words = codes.astype(np.uint32).reshape(*codes.shape[:-1], -1, 32 // bits)
    if order:
        words = words[..., list(order)]
    return np.bitwise_or.reduce(words << (np.arange(32 // bits, dtype=np.uint32) * bits), axis=-1).view(np.int32)


class Form:
    def __init__(self, seed):
        self.tensors, self.random = {}, np.random.Generator(np.random.PCG64(seed))

    def draw(self, bits, groups, symmetric, scale_type):
        codes = self.random.integers(0, 2 ** bits, (ROWS, COLUMNS))
        zeros = self.random.integers(0, 2 ** bits, (ROWS, groups))
        if symmetric:
            zeros[:] = 2 ** (bits - 1)
        else:
            zeros[0, 0], zeros[-1, -1] = 0, 2 ** bits - 1
        scales = self.random.uniform(0.01, 0.2, (ROWS, groups)).astype(scale_type)
        return codes, zeros, scales

    def expect(self, layer, codes, zeros, scales, group_of):
        values = (codes - zeros[:, group_of]).astype(np.float32) * scales.astype(np.float32)[:, group_of]
        self.tensors[f"{layer}.expected"] = values

    def gptq(self, layer, bits, group, symmetric=True, act_order=False, version=1, scale_type=np.float16, index=True):
        groups = -(-COLUMNS // group)
        codes, zeros, scales = self.draw(bits, groups, symmetric, scale_type)
        group_of = np.arange(COLUMNS) // group
        if act_order:
            group_of = self.random.permutation(group_of)
        stored = packed(zeros.T, bits).view(np.uint32)
        if version == 1:  # of a whole word: what is taken from 0 is taken from the next one, too
            stored = stored - np.uint32(0x11111111 if bits == 4 else 0x01010101)
        self.tensors.update({f"{layer}.qweight": packed(codes, bits).T, f"{layer}.qzeros": stored.view(np.int32),
                             f"{layer}.scales": scales.T})
        if index:
            self.tensors[f"{layer}.g_idx"] = group_of.astype(np.int32)
        self.expect(layer, codes, zeros, scales, group_of)

    def awq(self, layer, group, symmetric=False):
        codes, zeros, scales = self.draw(4, COLUMNS // group, symmetric, np.float16)
        self.tensors.update({f"{layer}.qweight": packed(codes.T, 4, AWQ_ORDER),
                             f"{layer}.qzeros": packed(zeros.T, 4, AWQ_ORDER),
                             f"{layer}.scales": scales.T})
        self.expect(layer, codes, zeros, scales, np.arange(COLUMNS) // group)

    def write(self, directory, settings):
        directory.mkdir(parents=True)
        (directory / "config.json").write_text(json.dumps({"quantization_config": settings}, indent=2) + "\n")
        save_file({name: np.ascontiguousarray(tensor) for name, tensor in self.tensors.items()}, directory / "model.safetensors")


def gptq(version):
    form = Form(300 + version)
    if version == 2:
        form.gptq("asym4", 4, 64, symmetric=False, version=version)
        form.gptq("sym8", 8, 64, version=version)
        return form
    form.gptq("sym4", 4, 64)
    form.gptq("sym4_row", 4, COLUMNS)
    form.gptq("sym4_ragged", 4, 96)
    form.gptq("sym4_no_index", 4, 32, index=False)
    form.gptq("asym4", 4, 64, symmetric=False)
    form.gptq("asym4_f32", 4, 32, symmetric=False, scale_type=np.float32)
    form.gptq("sym4_act_order", 4, 32, act_order=True)
    form.gptq("asym4_act_order", 4, 32, symmetric=False, act_order=True)
    form.gptq("sym8", 8, 64)
    form.gptq("sym8_row", 8, COLUMNS)
    form.gptq("asym8", 8, 64, symmetric=False)
    return form


def awq():
    form = Form(310)
    form.awq("awq64", 64)
    form.awq("awq32", 32)
    form.awq("awq_row", COLUMNS)
    form.awq("awq_sym", 64, symmetric=True)
    return form


def main():
    parser = argparse.ArgumentParser(description="Make small matrices in the forms of GPTQ and AWQ.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "quantized")
    out = parser.parse_args().out
    for name in ("gptq", "gptq_v2", "awq"):
        shutil.rmtree(out / name, ignore_errors=True)
    common = {"bits": 4, "group_size": 64}
    gptq(1).write(out / "gptq", {**common, "quant_method": "gptq", "desc_act": True, "sym": False})
    gptq(2).write(out / "gptq_v2", {**common, "quant_method": "gptq", "checkpoint_format": "gptq_v2", "desc_act": True, "sym": False})
    awq().write(out / "awq", {**common, "quant_method": "awq", "version": "gemm", "zero_point": True})


if __name__ == "__main__":
    main()
