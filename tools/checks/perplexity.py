# SPDX-License-Identifier: Apache-2.0
import array
import json
import math
import tempfile
from pathlib import Path

from _commands import ROOT, build, model, output

MINUTES = 15
ABOUT = "perplexity of every kernel on the default model and the golden prose, over that of dense_f32"
TOKENS = 512  # of tests/golden/prose.txt, in one window; the test real_model reads all of it with three kernels
KERNELS = ("dense_f32", "dense_f16", "dense_i8", "dense_i4", "i8", "auto")
LIMITS = {"dense_f16": 1.001, "dense_i8": 1.01, "i8": 1.01, "auto": 1.01}  # dense_i4 and others are reported alone


def perplexity(kernel):
    """exp of the mean negative log-likelihood of each token but the first."""
    tulle = ROOT / "build" / "release" / "bin" / "tulle"
    ids = json.loads((ROOT / "tests/golden/smollm2.json").read_text())["prose"]["ids"][:TOKENS]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "logits.npy"
        output(tulle, "logits", "--model", model(), "--kernel", kernel, "--tokens", ",".join(map(str, ids)), "-o", file)
        data = file.read_bytes()
    begin = 10 + int.from_bytes(data[8:10], "little")
    values = array.array("f", data[begin:])
    vocabulary = len(values) // len(ids)
    loss = 0.0
    for position, token in enumerate(ids[1:]):
        row = values[position * vocabulary:(position + 1) * vocabulary]
        top = max(row)
        loss += top + math.log(sum(math.exp(value - top) for value in row)) - row[token]
    return math.exp(loss / (len(ids) - 1))


def measure(kernel):
    build("release", "tulle_command")
    value, reference = perplexity(kernel), perplexity("dense_f32")
    ratio = value / reference
    return {"passed": ratio <= LIMITS.get(kernel, math.inf), "perplexity": round(value, 4), "over_dense_f32": round(ratio, 5)}


def cells():
    return {kernel: lambda kernel=kernel: measure(kernel) for kernel in KERNELS}
