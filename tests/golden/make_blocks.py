#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make random blocks of GGUF types, and what the `gguf` package decodes them to.

Into tests/golden/models/gguf, for every type:

  NAME.blocks.bin   BLOCKS blocks of random bytes, one of zeros and one of ones; the f16 scales of some are subnormal, zero,
                    negative and the largest
  NAME.values.npy   float32 [BLOCKS, elements of a block]: gguf.quants.dequantize of them

usage: make_blocks.py [--out DIR]
Made with Python 3.11, gguf 0.19.0, numpy 2.4.6.
"""
import argparse
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize

BLOCKS = 24
Type = gguf.GGMLQuantizationType
TYPES = {  # name: type, where its f16 scales begin
    "q4_0": (Type.Q4_0, (0,)), "q4_1": (Type.Q4_1, (0, 2)), "q5_0": (Type.Q5_0, (0,)), "q5_1": (Type.Q5_1, (0, 2)), "q8_0": (Type.Q8_0, (0,)),
    "q2_k": (Type.Q2_K, (80, 82)), "q3_k": (Type.Q3_K, (108,)), "q4_k": (Type.Q4_K, (0, 2)), "q5_k": (Type.Q5_K, (0, 2)),
    "q6_k": (Type.Q6_K, (208,)), "iq4_nl": (Type.IQ4_NL, (0,)), "iq4_xs": (Type.IQ4_XS, (0,)), "mxfp4": (Type.MXFP4, ()),
    "tq1_0": (Type.TQ1_0, (52,)), "tq2_0": (Type.TQ2_0, (64,))}
HALVES = np.array([0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF], np.uint16)  # f16 at its edges


def random_blocks(generator, size, scales):
    blocks = generator.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
    blocks[1], blocks[2] = 0, 255
    for at in scales:
        halves = generator.uniform(-0.1, 0.1, BLOCKS).astype(np.float16).view(np.uint16)
        halves[:len(HALVES)] = generator.permutation(HALVES)
        blocks[:, at:at + 2] = halves.view(np.uint8).reshape(BLOCKS, 2)
    return blocks


def main():
    parser = argparse.ArgumentParser(description="Make random blocks of GGUF types.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "models" / "gguf")
    arguments = parser.parse_args()
    for seed, (name, (kind, scales)) in enumerate(TYPES.items(), 401):
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = random_blocks(np.random.Generator(np.random.PCG64(seed)), size, scales)
        blocks.tofile(arguments.out / f"{name}.blocks.bin")
        with np.errstate(over="ignore"):  # MXFP4's largest
            values = dequantize(blocks, kind).astype(np.float32).reshape(BLOCKS, elements)
        assert not np.isnan(values).any()
        np.save(arguments.out / f"{name}.values.npy", values)


if __name__ == "__main__":
    main()
