# SPDX-License-Identifier: Apache-2.0
"""A Llama model as a Q8_0 GGUF file with random weights and a tokenizer of bytes and numbered words: for speed only.

usage: random_gguf.py tinyllama-1.1b FILE.gguf [SHARE | N:M | N:M-gapG]
The last argument prunes all matrices but the embedding: to a sparsity, such as 0.5; to N of M neighbours, such as 8:16;
or to these with gaps of at most G, such as 8:16-gap4.
"""

import itertools
import struct
import sys
from typing import NamedTuple

import numpy


class Shape(NamedTuple):
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    vocabulary: int


SHAPES = {
    "tinyllama-1.1b": Shape(2048, 5632, 22, 32, 4, 32000),
}
U32, I32, F32, STRING, ARRAY = 4, 5, 6, 8, 9  # types of metadata
TENSOR_F32, TENSOR_Q8_0 = 0, 8
ALIGNMENT = 32
BLOCK = numpy.dtype([("scale", "<f2"), ("codes", "i1", 32)])


def text(value):
    return struct.pack("<Q", len(value.encode())) + value.encode()


def array(kind, values):
    if kind == STRING:
        packed = b"".join(map(text, values))
    else:
        packed = numpy.asarray(values, {I32: "<i4", F32: "<f4"}[kind]).tobytes()
    return struct.pack("<IQ", kind, len(values)) + packed


def u32(value):
    return U32, struct.pack("<I", value)


def f32(value):
    return F32, struct.pack("<f", value)


def string(value):
    return STRING, text(value)


def metadata(name, shape):
    """[(key, type, value in bytes)]"""
    words = ["<unk>", "<s>", "</s>"] + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2, 3, 3] + [6] * 256  # unknown, control, byte; 1 is a plain word
    words += [f"\u2581{number}" for number in range(shape.vocabulary - len(words))]
    kinds += [1] * (shape.vocabulary - len(kinds))
    entries = {
        "general.architecture": string("llama"),
        "general.name": string(f"{name}, random weights"),
        "general.file_type": u32(7),  # mostly Q8_0
        "llama.block_count": u32(shape.layers),
        "llama.context_length": u32(2048),
        "llama.embedding_length": u32(shape.hidden),
        "llama.feed_forward_length": u32(shape.intermediate),
        "llama.attention.head_count": u32(shape.heads),
        "llama.attention.head_count_kv": u32(shape.kv_heads),
        "llama.attention.layer_norm_rms_epsilon": f32(1e-5),
        "llama.rope.dimension_count": u32(shape.hidden // shape.heads),
        "llama.rope.freq_base": f32(10000.0),
        "llama.vocab_size": u32(shape.vocabulary),
        "tokenizer.ggml.model": string("llama"),
        "tokenizer.ggml.tokens": (ARRAY, array(STRING, words)),
        "tokenizer.ggml.scores": (ARRAY, array(F32, -numpy.arange(shape.vocabulary))),
        "tokenizer.ggml.token_type": (ARRAY, array(I32, kinds)),
        "tokenizer.ggml.bos_token_id": u32(1),
        "tokenizer.ggml.eos_token_id": u32(2),
        "tokenizer.ggml.unknown_token_id": u32(0),
    }
    return [(key, kind, value) for key, (kind, value) in entries.items()]


def tensors(shape):
    """(name, rows, columns); a norm has no rows."""
    kv_rows = shape.hidden // shape.heads * shape.kv_heads
    yield "token_embd.weight", shape.vocabulary, shape.hidden
    yield "output_norm.weight", 0, shape.hidden
    yield "output.weight", shape.vocabulary, shape.hidden
    for layer in range(shape.layers):
        prefix = f"blk.{layer}."
        yield prefix + "attn_norm.weight", 0, shape.hidden
        yield prefix + "attn_q.weight", shape.hidden, shape.hidden
        yield prefix + "attn_k.weight", kv_rows, shape.hidden
        yield prefix + "attn_v.weight", kv_rows, shape.hidden
        yield prefix + "attn_output.weight", shape.hidden, shape.hidden
        yield prefix + "ffn_norm.weight", 0, shape.hidden
        yield prefix + "ffn_gate.weight", shape.intermediate, shape.hidden
        yield prefix + "ffn_up.weight", shape.intermediate, shape.hidden
        yield prefix + "ffn_down.weight", shape.hidden, shape.intermediate


def size_of(rows, columns):
    return rows * columns // 32 * BLOCK.itemsize if rows else columns * 4


def keepers(zeros):
    """For a pattern N:M-gapG, every way to keep N of M neighbours: [ways][M] of 0 and 1."""
    pattern, _, max_gap = zeros.partition("-gap")
    kept, group = map(int, pattern.split(":"))
    max_gap = int(max_gap or group)
    ways = [
        way
        for way in itertools.combinations(range(group), kept)
        if all(after - before <= max_gap for before, after in zip((-1, *way), way))
    ]
    table = numpy.zeros((len(ways), group), numpy.int8)
    table[numpy.arange(len(ways))[:, None], ways] = 1
    return table


class Weights:
    def __init__(self, zeros):
        self.random = numpy.random.default_rng(1)
        self.ways = keepers(zeros) if ":" in zeros else None
        self.share = 0.0 if ":" in zeros else float(zeros)

    def matrix(self, rows, columns, pruned):
        """Codes are zero only where they are pruned."""
        blocks = numpy.empty(rows * columns // 32, BLOCK)
        codes = self.random.integers(1, 128, rows * columns, numpy.int8)
        codes *= self.random.integers(0, 2, codes.size, numpy.int8) * numpy.int8(2) - numpy.int8(1)
        if pruned and self.ways is not None:
            codes *= self.ways[self.random.integers(0, len(self.ways), codes.size // self.ways.shape[1])].ravel()
        elif pruned and self.share > 0:
            codes[self.random.random(codes.size, numpy.float32) < self.share] = 0
        blocks["codes"] = codes.reshape(-1, 32)
        blocks["scale"] = 1 / (73 * columns**0.5)
        return blocks


def write(name, path, zeros="0"):
    """Needs numpy; takes a quarter of a minute for a gigabyte."""
    shape, weights = SHAPES[name], Weights(zeros)
    entries, all_tensors = metadata(name, shape), list(tensors(shape))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(all_tensors), len(entries))
    for key, kind, value in entries:
        head += text(key) + struct.pack("<I", kind) + value
    offset = 0
    for tensor, rows, columns in all_tensors:
        extents = [columns, rows] if rows else [columns]
        head += text(tensor) + struct.pack(f"<I{len(extents)}Q", len(extents), *extents)
        head += struct.pack("<IQ", TENSOR_Q8_0 if rows else TENSOR_F32, offset)
        offset += -(-size_of(rows, columns) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(head)
        for tensor, rows, columns in all_tensors:
            file.write(b"\0" * (-file.tell() % ALIGNMENT))
            pruned = tensor != "token_embd.weight"
            file.write((weights.matrix(rows, columns, pruned) if rows else numpy.ones(columns, "<f4")).tobytes())
        file.write(b"\0" * (-file.tell() % ALIGNMENT))


if __name__ == "__main__":
    if not 3 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    write(*sys.argv[1:])
