#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make tiny models in the forms that `tulle export` and `tulle compress` write, and their golden logits.

Written from include/tulle/format/README.md without Tulle's code: the bitmask form by numpy, packed codes by compressed-tensors'
own function. Codes of 8 bits are those of models/llama-tiny-int8; codes of 4 bits are made of the weights that it was drawn
from. The reference computes in float32 from codes times scales. Each model is read by a second reader, too: by transformers,
or the bitmask form by the reader in the documentation.

The prompts were searched, so that also kernels that round activations give the greedy tokens.

usage: make_forms.py [--out DIR] [name ...]
Made with Python 3.11, torch 2.14.0, transformers 5.17.0, compressed-tensors 0.19.0, safetensors 0.8.0, numpy 2.4.6.
"""
import argparse
import json
import re
import shutil
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file

from form_tensors import GROUP, Form, bitmask_4, bitmask_8, packed, prune_8_16_gap4, prune_half_of_rows, quantize_4
from make_models import (CONTINUATION, PROMPT, TOKENS, Source, generation_config, llama_weights, load, prefill, reference,
                         write_golden, write_json, write_safetensors)

FOLDER = Path(__file__).parent
INT8 = FOLDER / "models" / "llama-tiny-int8"
FORMAT_README = FOLDER.parent.parent / "include" / "tulle" / "format" / "README.md"
CONFIG = {key: value for key, value in json.loads((INT8 / "config.json").read_text()).items() if key != "quantization_config"}
PROMPTS = 4096
DISTINCT = 12  # tokens of a continuation, at least: a model that repeats itself shows little


def int8_layers(tensors):
    """layer -> codes and scale, of llama-tiny-int8."""
    return {name[:-len(".weight")]: (codes, tensors[name + "_scale"]) for name, codes in tensors.items()
            if name.endswith("_proj.weight")}


def drawn_layers():
    """layer -> the weights that llama-tiny-int8 was made of."""
    return {name[:-len(".weight")]: weight.numpy() for name, weight in llama_weights(Source(205), CONFIG).items()
            if name.endswith("_proj.weight")}


def add_others(form, tensors, dtype=torch.float32, but=()):
    """Norms, embedding and head."""
    for name, values in tensors.items():
        if "_proj." not in name and name not in but:
            form.add_floats(name, values, torch.float32 if "norm" in name else dtype)


def weights_arguments(bits, group=None):
    return {"actorder": None, "block_structure": None, "dynamic": False, "group_size": group, "num_bits": bits,
            "observer": "minmax", "observer_kwargs": {}, "strategy": "channel" if group is None else "group",
            "symmetric": True, "type": "int"}


def compressed_tensors_config(storage, *groups):
    """`groups`: targets, the form of each, and weights."""
    return {"config_groups": {f"group_{number}": {"format": each, "input_activations": None, "output_activations": None,
                                                  "targets": targets, "weights": weights}
                              for number, (targets, each, weights) in enumerate(groups)},
            "format": storage, "global_compression_ratio": None, "ignore": ["lm_head"], "kv_cache_scheme": None,
            "quant_method": "compressed-tensors", "quantization_status": "compressed", "sparsity_config": {},
            "transform_config": {}, "version": "0.19.0"}


BITMASK_CONFIG = {"quant_method": "tulle-bitmask", "version": 1}


def bitmask_int8(form, tensors):
    """A scale per row; embedding I8 with a scale per row; head pruned, BF16."""
    for layer, (codes, scale) in int8_layers(tensors).items():
        form.add_codes(layer, bitmask_8(codes), codes, scale)
    embedding = tensors["model.embed_tokens.weight"]
    scale = np.abs(embedding).max(axis=1, keepdims=True) / np.float32(127)
    codes = np.rint(embedding / scale).astype(np.int8)
    form.add_codes("model.embed_tokens", {"weight": codes}, codes, scale)
    form.add_pruned_floats("lm_head", prune_half_of_rows(tensors["lm_head.weight"]))
    add_others(form, tensors, but=("model.embed_tokens.weight", "lm_head.weight"))
    return BITMASK_CONFIG


def bitmask_int4(form, tensors):
    """Layer 0 half of every row, its v_proj dense and packed; layer 1 8:16 with gaps of 4. F16 scales of 32 columns."""
    odd = 0
    for layer, weight in drawn_layers().items():
        if layer == "model.layers.0.self_attn.v_proj":
            codes, scale = quantize_4(weight, np.float16)
            form.add_codes(layer, packed(codes, 4), codes, scale)
            continue
        codes, scale = quantize_4((prune_8_16_gap4 if ".layers.1." in layer else prune_half_of_rows)(weight), np.float16)
        form.add_codes(layer, bitmask_4(codes), codes, scale)
        odd += int(((codes != 0).sum(axis=1) % 2).sum())
    assert odd > 0, "no row ends in the middle of a byte"
    add_others(form, tensors, torch.float16)
    return BITMASK_CONFIG


def pack_quantized_int4(form, tensors):
    """Groups of 32 columns; embedding and head F16."""
    for layer, weight in drawn_layers().items():
        codes, scale = quantize_4(weight, np.float32)
        form.add_codes(layer, packed(codes, 4), codes, scale)
    add_others(form, tensors, torch.float16)
    return compressed_tensors_config("pack-quantized", (["Linear"], "pack-quantized", weights_arguments(4, GROUP)))


def int_quantized_int8(form, tensors):
    """Weights only, a scale per row."""
    for layer, (codes, scale) in int8_layers(tensors).items():
        form.add_codes(layer, {"weight": codes}, codes, scale)
    add_others(form, tensors)
    return compressed_tensors_config("int-quantized", (["Linear"], "int-quantized", weights_arguments(8)))


def mixed_precision(form, tensors):
    """pack-quantized: layer 0 of 4 bits in groups of 32 columns, layer 1 of 8 bits with a scale per row."""
    layers = int8_layers(tensors)
    for layer, weight in drawn_layers().items():
        if ".layers.0." in layer:
            codes, scale = quantize_4(weight, np.float32)
            form.add_codes(layer, packed(codes, 4), codes, scale)
        else:
            codes, scale = layers[layer]
            form.add_codes(layer, packed(codes, 8), codes, scale)
    add_others(form, tensors, torch.float16)
    targets = [[layer for layer in layers if f".layers.{number}." in layer] for number in (0, 1)]
    return compressed_tensors_config("mixed-precision", (targets[0], "pack-quantized", weights_arguments(4, GROUP)),
                                     (targets[1], "pack-quantized", weights_arguments(8)))


MODELS = {"bitmask-int8": bitmask_int8, "bitmask-int4": bitmask_int4, "pack-quantized-int4": pack_quantized_int4,
          "int-quantized-int8": int_quantized_int8, "mixed-precision": mixed_precision}


@torch.no_grad()
def clear_prompt(model, source):
    """Of PROMPTS drawn ones the prompt whose greedy tokens are the furthest ahead of the second best."""
    prompts = torch.tensor([source.tokens(PROMPT, CONFIG["vocab_size"]) for _ in range(PROMPTS)])
    rows, cache, found, gaps = prompts, None, [], torch.full((PROMPTS,), torch.inf)
    for _ in range(CONTINUATION):
        out = model(rows, past_key_values=cache, use_cache=True)
        values, tokens = out.logits[:, -1].topk(2)
        gaps = torch.minimum(gaps, values[:, 0] - values[:, 1])
        rows, cache = tokens[:, :1], out.past_key_values
        found.append(rows)
    distinct = torch.tensor([len(set(row)) for row in torch.cat(found, dim=1).tolist()])
    return prompts[torch.where(distinct >= DISTINCT, gaps, 0).argmax()].tolist()


def check_second_reader(directory, form, tokens, logits):
    """transformers on the directory as it is, or the documentation's reader of the bitmask form."""
    if not directory.name.startswith("bitmask"):
        difference = np.abs(prefill(load(directory), tokens) - logits).max()
        assert difference < 1e-4, f"transformers reads other weights: logits differ by {difference}"
        return
    names = {}
    exec(re.search(r"```python\n(.*?)```", FORMAT_README.read_text(), re.DOTALL)[1], names)
    matrices = names["read_bitmask"](directory / "model.safetensors")
    assert len(matrices) > 10
    for layer, matrix in matrices.items():
        assert np.array_equal(matrix, form.weights[f"{layer}.weight"].numpy()), layer


def make(name, directory):
    form, source = Form(), Source(207 + list(MODELS).index(name))
    settings = MODELS[name](form, load_file(INT8 / "model.safetensors"))
    write_json(directory / "config.json", {**CONFIG, "quantization_config": settings})
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.57.6"))
    write_safetensors(directory, form.stored)

    plain = directory / "dequantized"
    plain.mkdir()
    write_json(plain / "config.json", CONFIG)
    write_safetensors(plain, form.weights)
    model = load(plain)
    shutil.rmtree(plain)
    tokens = clear_prompt(model, source) + source.tokens(TOKENS - PROMPT, CONFIG["vocab_size"])
    logits, golden = reference(model, tokens)
    check_second_reader(directory, form, tokens, logits)
    write_golden(directory, logits, golden)
    return golden


def main():
    parser = argparse.ArgumentParser(description="Make tiny models in the forms that Tulle writes.")
    parser.add_argument("names", nargs="*", help="models to make (default: all): " + " ".join(MODELS))
    parser.add_argument("--out", type=Path, default=FOLDER / "models")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in arguments.names or MODELS:
        directory = arguments.out / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        golden = make(name, directory)
        for file in directory.iterdir():
            file.chmod(0o644)
        size = sum(file.stat().st_size for file in directory.iterdir())
        print(f"{name:24} {size:8} bytes, smallest gap {golden['greedy_smallest_gap']:.3f}, greedy {golden['greedy'][:12]}")


if __name__ == "__main__":
    main()
