# SPDX-License-Identifier: Apache-2.0
"""Models for the tests: the golden ones, and one of CodeGen's shape whose weights are random."""
import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "golden"


@pytest.fixture(scope="session")
def golden():
    return GOLDEN


@pytest.fixture(scope="session")
def tiny():
    """A Llama of 288 tokens with a tokenizer and a chat template."""
    return str(GOLDEN / "models" / "gguf" / "f32.gguf")


def write_safetensors(path, tensors):
    header, at = {}, 0
    for name, values in tensors.items():
        header[name] = {"dtype": "F16", "shape": list(values.shape), "data_offsets": [at, at + values.nbytes]}
        at += values.nbytes
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in tensors.values():
            file.write(values.tobytes())


@pytest.fixture(scope="session")
def codegen(tmp_path_factory):
    """CodeGen's vocabulary (51200 rows, its own tokenizer) on two narrow layers of random weights."""
    folder, hidden, layers, vocabulary = tmp_path_factory.mktemp("codegen"), 64, 2, 51200
    subprocess.run([sys.executable, GOLDEN / "codegen_tokenizer.py", folder], check=True)
    config = json.loads((GOLDEN / "models" / "codegen-tiny" / "config.json").read_text(encoding="utf-8"))
    config.update(vocab_size=vocabulary, n_layer=layers, bos_token_id=1, eos_token_id=50256,
                  n_positions=2048, n_ctx=2048)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    draw = np.random.default_rng(7)

    def matrix(*shape):
        return draw.normal(0, 0.3, shape).astype(np.float16)

    tensors = {"transformer.wte.weight": matrix(vocabulary, hidden)}
    for layer in range(layers):
        name = f"transformer.h.{layer}."
        tensors |= {name + "ln_1.weight": 1 + matrix(hidden), name + "ln_1.bias": matrix(hidden),
                    name + "attn.qkv_proj.weight": matrix(3 * hidden, hidden),
                    name + "attn.out_proj.weight": matrix(hidden, hidden),
                    name + "mlp.fc_in.weight": matrix(4 * hidden, hidden), name + "mlp.fc_in.bias": matrix(4 * hidden),
                    name + "mlp.fc_out.weight": matrix(hidden, 4 * hidden), name + "mlp.fc_out.bias": matrix(hidden)}
    tensors |= {"transformer.ln_f.weight": 1 + matrix(hidden), "transformer.ln_f.bias": matrix(hidden),
                "lm_head.weight": matrix(vocabulary, hidden), "lm_head.bias": matrix(vocabulary)}
    write_safetensors(folder / "model.safetensors", tensors)
    return str(folder)
