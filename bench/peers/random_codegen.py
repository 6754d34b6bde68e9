# SPDX-License-Identifier: Apache-2.0
"""CodeGen-350M with random weights as a Hugging Face folder (float16), and the same weights in int8 for CTranslate2:
for speed only. Each takes the rows of attn.qkv_proj in its own order, so their texts differ; the work is the same.

usage: random_codegen.py FOLDER CTRANSLATE2_FOLDER
"""

import json
import struct
import sys
from pathlib import Path

import ctranslate2
import numpy

HIDDEN, LAYERS, HEADS, ROTARY, VOCABULARY = 1024, 20, 16, 32, 51200
CONFIG = {
    "architectures": ["CodeGenForCausalLM"],
    "model_type": "codegen",
    "vocab_size": VOCABULARY,
    "n_embd": HIDDEN,
    "n_layer": LAYERS,
    "n_head": HEADS,
    "n_positions": 16384,  # CodeGen's are 2048; rotary positions need no more weights
    "rotary_dim": ROTARY,
    "eos_token_id": 0,
    "bos_token_id": 0,
}


def shapes():
    """name -> shape, as in CodeGen's checkpoints."""
    norm = {"weight": [HIDDEN], "bias": [HIDDEN]}
    layer = {f"ln_1.{part}": shape for part, shape in norm.items()}
    layer |= {
        "attn.qkv_proj.weight": [3 * HIDDEN, HIDDEN],
        "attn.out_proj.weight": [HIDDEN, HIDDEN],
        "mlp.fc_in.weight": [4 * HIDDEN, HIDDEN],
        "mlp.fc_in.bias": [4 * HIDDEN],
        "mlp.fc_out.weight": [HIDDEN, 4 * HIDDEN],
        "mlp.fc_out.bias": [HIDDEN],
    }
    tensors = {"transformer.wte.weight": [VOCABULARY, HIDDEN]}
    tensors |= {f"transformer.h.{number}.{name}": shape for number in range(LAYERS) for name, shape in layer.items()}
    tensors |= {f"transformer.ln_f.{part}": shape for part, shape in norm.items()}
    return tensors | {"lm_head.weight": [VOCABULARY, HIDDEN], "lm_head.bias": [VOCABULARY]}


def random_weights():
    random = numpy.random.default_rng(1)
    weights = {}
    for name, shape in shapes().items():
        if "ln_" in name:
            weights[name] = numpy.full(shape, name.endswith("weight"), numpy.float16)
        else:  # of variance 1 / columns
            values = random.random(shape, numpy.float32) - numpy.float32(0.5)
            weights[name] = (values * (12 / shape[-1]) ** 0.5).astype(numpy.float16)
    return weights


def tokens():
    """Byte-level: the stand-ins of GPT-2 for the bytes, and numbered words."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    spare = iter(range(256, 512))
    letters = [chr(byte if byte in printable else next(spare)) for byte in range(256)]
    return ["<|endoftext|>", *letters, *(f"<{number}>" for number in range(VOCABULARY - 257))]


def write_folder(folder, weights):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    vocabulary = {token: number for number, token in enumerate(tokens())}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    tokenizer = {"version": "1.0", "added_tokens": [], "pre_tokenizer": byte_level, "decoder": byte_level,
                 "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    head, end = {}, 0
    for name, values in weights.items():
        begin, end = end, end + values.nbytes
        head[name] = {"dtype": "F16", "shape": values.shape, "data_offsets": [begin, end]}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for values in weights.values():
            file.write(values.tobytes())


def write_ctranslate2(folder, weights):
    """As its converter for CodeGen does, which needs torch and transformers."""
    spec = ctranslate2.specs.TransformerDecoderModelSpec.from_config(
        LAYERS, HEADS, activation=ctranslate2.specs.Activation.GELUTanh, rotary_dim=ROTARY, rotary_interleave=False,
        parallel_residual=True, shared_layer_norm=True,
    )  # fmt: skip

    def f32(name):
        return weights[name].astype(numpy.float32)

    def fill_norm(norm, name):
        norm.gamma, norm.beta = f32(name + ".weight"), f32(name + ".bias")

    def fill_linear(linear, name):
        linear.weight = f32(name + ".weight")
        if name + ".bias" in weights:
            linear.bias = f32(name + ".bias")

    decoder = spec.decoder
    decoder.scale_embeddings = False
    decoder.embeddings.weight = f32("transformer.wte.weight")
    for number, layer in enumerate(decoder.layer):
        prefix = f"transformer.h.{number}."
        fill_norm(layer.shared_layer_norm, prefix + "ln_1")
        fill_linear(layer.self_attention.linear[0], prefix + "attn.qkv_proj")
        fill_linear(layer.self_attention.linear[1], prefix + "attn.out_proj")
        fill_linear(layer.ffn.linear_0, prefix + "mlp.fc_in")
        fill_linear(layer.ffn.linear_1, prefix + "mlp.fc_out")
    fill_norm(decoder.layer_norm, "transformer.ln_f")
    fill_linear(decoder.projection, "lm_head")
    spec.register_vocabulary(tokens())
    for token in ("bos_token", "eos_token", "unk_token"):
        setattr(spec.config, token, "<|endoftext|>")
    spec.validate()
    spec.optimize(quantization="int8")
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))


def write(folder, ctranslate2_folder):
    weights = random_weights()
    write_folder(folder, weights)
    write_ctranslate2(ctranslate2_folder, weights)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(*map(Path, sys.argv[1:]))
