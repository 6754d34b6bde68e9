#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make GGUF files of the families in tests/golden/models: NAME-tiny as gguf/NAME.gguf, beside the same golden logits.

Names of tensors and keys are those of the `gguf` package; rows of q and k are permuted where llama.cpp's converter does
(convert_hf_to_gguf.py, the classes that derive from LlamaModel). Matrices are BF16 as in the directory, so the
values are the same.

usage: make_gguf_families.py [--models DIR]
Made with Python 3.11, gguf 0.19.0, torch 2.14.0, safetensors 0.8.0, numpy 2.4.6.
"""
import argparse
import json
import shutil
from pathlib import Path

import gguf
import gguf.quants
import numpy as np
from safetensors.torch import load_file

FAMILIES = {  # architecture, whether rows are permuted
    "qwen2": (gguf.MODEL_ARCH.QWEN2, False),
    "qwen3": (gguf.MODEL_ARCH.QWEN3, False),
    "smollm3": (gguf.MODEL_ARCH.SMOLLM3, True),
    "granite": (gguf.MODEL_ARCH.GRANITE, True),
}


def permuted(rows, heads):
    """Halves of a rotary head as adjacent pairs."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def write(directory, path, architecture, permutes):
    config = json.loads((directory / "config.json").read_text())
    layers, heads, kv_heads = config["num_hidden_layers"], config["num_attention_heads"], config["num_key_value_heads"]
    head_dim = config.get("head_dim") or config["hidden_size"] // heads
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[architecture])
    writer.add_block_count(layers)
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_file_type(0)
    if architecture == gguf.MODEL_ARCH.GRANITE:
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])
    names = gguf.get_tensor_name_map(architecture, layers)
    for name, tensor in load_file(directory / "model.safetensors").items():
        values = tensor.float().numpy()
        if permutes and ".q_proj." in name:
            values = permuted(values, heads)
        elif permutes and ".k_proj." in name:
            values = permuted(values, kv_heads)
        values, kind = np.ascontiguousarray(values), None
        if values.ndim == 2:
            kind = gguf.GGMLQuantizationType.BF16
            values = gguf.quants.quantize(values, kind)
        writer.add_tensor(names.get_name(name, (".weight", ".bias")), values, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    parser = argparse.ArgumentParser(description="Make tiny GGUF files of the families.")
    parser.add_argument("--models", type=Path, default=Path(__file__).parent / "models")
    models = parser.parse_args().models
    for family, (architecture, permutes) in FAMILIES.items():
        directory, path = models / f"{family}-tiny", models / "gguf" / f"{family}.gguf"
        write(directory, path, architecture, permutes)
        shutil.copy(directory / "golden.json", path.with_suffix(".golden.json"))
        shutil.copy(directory / "logits.npy", path.with_suffix(".logits.npy"))
        path.chmod(0o644)
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
