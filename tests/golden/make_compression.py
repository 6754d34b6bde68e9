#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compress one linear layer by llm-compressor's own functions, in float64.

The layer: 24 x 128 weights, 200 inputs whose columns are correlated; columns 5 and 77 are outliers, 9 and 100 always 0.
tests/unit/compress/layer_solver_test.cpp draws the same numbers. Into tests/golden/compression, each float32 [24, 128]:

  sparsegpt.npy      50 %, blocks of 64 columns, damping 0.01
  sparsegpt_2_4.npy  2:4, the same
  wanda.npy          50 % of every row
  wanda_2_4.npy      2:4
  gptq_i8.npy        8 bits per row, damping 0.01
  gptq_i4.npy        4 bits, scales of groups of 32 columns

The scales of GPTQ are those of compressed-tensors (largest / 127.5 or 7.5), found before anything is quantized and without
columns 9 and 100; those of groups are rounded to float16, as they are stored.

usage: make_compression.py [--out DIR]
Made with Python 3.11, torch 2.14.0, llmcompressor 0.14.0.1, compressed-tensors 0.19.0, numpy 2.4.6.
"""
import argparse
import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import torch
from compressed_tensors.quantization import QuantizationArgs


def without_initialization(package):
    """Registers a package whose __init__.py does not run: that of llmcompressor imports all of its dependencies."""
    module = types.ModuleType(package)
    module.__path__ = list(importlib.util.find_spec(package).submodule_search_locations)
    sys.modules[package] = module


for name in ("llmcompressor", "llmcompressor.modifiers", "llmcompressor.modifiers.gptq", "llmcompressor.modifiers.pruning",
             "llmcompressor.modifiers.pruning.sparsegpt", "llmcompressor.modifiers.pruning.wanda"):
    without_initialization(name)

from llmcompressor.modifiers.gptq import gptq_quantize, helpers
from llmcompressor.modifiers.pruning.sparsegpt import sgpt_sparsify
from llmcompressor.modifiers.pruning.wanda import wanda_sparsify

ROWS, COLUMNS, TOKENS = 24, 128, 200
sgpt_sparsify.SGPT_PRECISION = wanda_sparsify.WANDA_PRECISION = torch.float64
gptq_quantize.GPTQ_PRECISION = helpers.GPTQ_PRECISION = torch.float64


class Numbers:
    """A linear congruential generator; each number is the sum of four uniform ones, less 2: exact in float32."""

    def __init__(self):
        self.state = 2026

    def next(self):
        total = 0
        for _ in range(4):
            self.state = (self.state * 1664525 + 1013904223) % 2**32
            total += self.state >> 20
        return total / 4096 - 2


def layer():
    numbers = Numbers()
    weights = np.array([[numbers.next() / 8 for _ in range(COLUMNS)] for _ in range(ROWS)])
    inputs = np.empty((TOKENS, COLUMNS))
    for token in range(TOKENS):
        common = numbers.next()
        for column in range(COLUMNS):
            inputs[token, column] = numbers.next() + common * (column % 4)
    inputs[:, 5] *= 40
    inputs[:, 77] *= 15
    inputs[:, [9, 100]] = 0
    return torch.from_numpy(weights), torch.from_numpy(inputs)


def module_of(weights):
    module = torch.nn.Linear(COLUMNS, ROWS, bias=False, dtype=torch.float64)
    module.weight = torch.nn.Parameter(weights.clone(), requires_grad=False)
    return module


def sparsegpt(weights, inputs, n, m):
    module = module_of(weights)
    hessian, _ = sgpt_sparsify.accumulate_hessian(inputs, module, sgpt_sparsify.make_empty_hessian(module), 0)
    return sgpt_sparsify.sparsify_weight(module, {module: hessian}, 0.5, n, m, 64, 0.01, False)[1]


def wanda(weights, inputs, n, m):
    module = module_of(weights)
    scalars = torch.zeros(COLUMNS, dtype=torch.float64)
    scalars, _ = wanda_sparsify.accumulate_row_scalars(inputs, module, scalars, 0)
    return wanda_sparsify.sparsify_weight(module, {module: scalars}, 0.5, n, m)


def gptq(weights, inputs, bits, group):
    weights = weights.clone()
    weights[:, [9, 100]] = 0
    width = group or COLUMNS
    largest = weights.reshape(ROWS, -1, width).abs().amax(-1)
    scale = largest / (2 ** (bits - 1) - 0.5)
    if group:
        scale = scale.half().double()
    arguments = QuantizationArgs(num_bits=bits, symmetric=True, strategy="group" if group else "channel",
                                 group_size=group)
    hessian = 2 * inputs.T @ inputs
    return gptq_quantize.quantize_weight(weights[None], hessian[None], scale[None], torch.zeros_like(scale)[None], None,
                                         arguments, 128, 0.01)[0][0]


def main():
    parser = argparse.ArgumentParser(description="Compress one linear layer by llm-compressor's own functions.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "compression")
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True)
    weights, inputs = layer()
    results = {
        "sparsegpt": sparsegpt(weights, inputs, 0, 0), "sparsegpt_2_4": sparsegpt(weights, inputs, 2, 4),
        "wanda": wanda(weights, inputs, 0, 0), "wanda_2_4": wanda(weights, inputs, 2, 4),
        "gptq_i8": gptq(weights, inputs, 8, None), "gptq_i4": gptq(weights, inputs, 4, 32),
    }
    for name, result in results.items():
        assert torch.isfinite(result).all()
        np.save(arguments.out / f"{name}.npy", result.numpy().astype(np.float32))


if __name__ == "__main__":
    main()
