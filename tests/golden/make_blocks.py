#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make random blocks of GGUF types, and what the `gguf` package decodes them to.

Into tests/golden/models/gguf, for every type:

  NAME.blocks.bin   BLOCKS blocks of random bytes, whose f16 scales are finite
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
TYPES = {"q5_k": (gguf.GGMLQuantizationType.Q5_K, (0, 2))}  # name: type, where its f16 scales begin


def main():
    parser = argparse.ArgumentParser(description="Make random blocks of GGUF types.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "models" / "gguf")
    arguments = parser.parse_args()
    generator = np.random.Generator(np.random.PCG64(401))
    for name, (kind, scales) in TYPES.items():
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = generator.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
        for at in scales:
            values = generator.uniform(-0.1, 0.1, BLOCKS).astype(np.float16)
            values[::8] = np.float16(6e-8) * generator.integers(0, 9, len(values[::8]))  # subnormal, and zero
            blocks[:, at:at + 2] = values.view(np.uint8).reshape(BLOCKS, 2)
        blocks.tofile(arguments.out / f"{name}.blocks.bin")
        values = dequantize(blocks, kind).astype(np.float32).reshape(BLOCKS, elements)
        assert np.isfinite(values).all()
        np.save(arguments.out / f"{name}.values.npy", values)


if __name__ == "__main__":
    main()
