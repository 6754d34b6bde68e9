#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cut a GGUF file into parts as llama.cpp's gguf-split does: models/gguf-parts, from gguf/q8_0.gguf.

The first part has the metadata and the first tensors, each other part tensors of its own; split.no (u16, from 0), split.count (u16) and
split.tensors.count (i32, of all parts) are in each. NAME-00001-of-00003.gguf is the first of three. The bytes are those that gguf-split
--split-max-tensors 7 writes.

usage: make_gguf_parts.py [FILE.gguf OUT/NAME COUNT]
"""
import shutil
import struct
import sys
from pathlib import Path

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9
ALIGNMENT = 32


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def number(self, form):
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def text(self):
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def skip_value(self, kind):
        if kind == STRING:
            self.text()
        elif kind == ARRAY:
            element = self.number("I")
            for _ in range(self.number("Q")):
                self.skip_value(element)
        else:
            self.at += SIZES[kind]


def pad(data):
    return data + bytes(-len(data) % ALIGNMENT)


def text(value):
    return struct.pack("<Q", len(value)) + value


def cut(source, stem, count):
    reader = Reader(source.read_bytes())
    assert reader.number("I") == int.from_bytes(b"GGUF", "little") and reader.number("I") == 3
    tensor_count, pair_count = reader.number("Q"), reader.number("Q")
    begin = reader.at
    for _ in range(pair_count):
        assert reader.text() != b"general.alignment"
        reader.skip_value(reader.number("I"))
    pairs = reader.data[begin:reader.at]
    tensors = []  # what precedes the offset in the list, offset
    for _ in range(tensor_count):
        begin = reader.at
        reader.text()
        rank = reader.number("I")
        reader.at += 8 * rank + 4
        tensors.append((reader.data[begin:reader.at], reader.number("Q")))
    data = reader.data[(reader.at + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT:]
    ends = [offset for _, offset in tensors[1:]] + [len(data)]

    each = -(-tensor_count // count)
    for number in range(count):
        own = list(zip(tensors, ends))[number * each:(number + 1) * each]
        split = b"".join(text(b"split." + key) + struct.pack("<I" + form, kind, value) for key, kind, form, value in
                         [(b"no", 2, "H", number), (b"tensors.count", 5, "i", tensor_count), (b"count", 2, "H", count)])
        body = b"GGUF" + struct.pack("<IQQ", 3, len(own), (pair_count if number == 0 else 0) + 3)
        body += (pairs if number == 0 else b"") + split
        at, contents = 0, b""
        for (entry, offset), end in own:
            body += entry + struct.pack("<Q", at)
            contents += pad(data[offset:end])
            at = len(contents)
        path = Path(f"{stem}-{number + 1:05}-of-{count:05}.gguf")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pad(body) + contents)


if __name__ == "__main__":
    if len(sys.argv) == 4:
        cut(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
    else:
        models = Path(__file__).parent / "models"
        cut(models / "gguf/q8_0.gguf", models / "gguf-parts/q8_0", 3)
        for name in ("golden.json", "logits.npy"):
            shutil.copy(models / f"gguf/q8_0.{name}", models / f"gguf-parts/{name}")
