#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gradients of half blocks by torch, of layers of the golden models, into tests/golden/refinement.json.

For each model: of its first layer the attention half and the MLP half, as transformers computes them on 21 rows of fixed
residual values. The loss is the mean over the rows of |y - 0.9 x|^2 / |0.9 x|^2. Of every matrix's gradient the file has the
root of the sum of squares and 5 elements, at the places i * 7919 modulo their number.

usage: make_refinement.py [--out FILE]
Made with Python 3.11, torch 2.14.0, transformers 5.17.0.
"""
import argparse
import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

GOLDEN = Path(__file__).parent
TOKENS = 21
# model: (layers, norm, attention, norm after attention, norm, MLP, norm after it)
LLAMA = ("model.layers", "input_layernorm", "self_attn", None, "post_attention_layernorm", "mlp", None)
MODELS = {
    "llama-tiny-gqa": LLAMA,
    "qwen3-tiny": LLAMA,
    "gemma2-tiny": ("model.layers", "input_layernorm", "self_attn", "post_attention_layernorm",
                    "pre_feedforward_layernorm", "mlp", "post_feedforward_layernorm"),
    "starcoder2-tiny": LLAMA,
    "opt-tiny": ("model.decoder.layers", "self_attn_layer_norm", "self_attn", None, "final_layer_norm", None, None),
}


def stream(hidden):
    rows, columns = torch.arange(TOKENS)[:, None], torch.arange(hidden)[None, :]
    return (((rows * 31 + columns * 17 + rows * columns * 7) % 23).float() - 11) / 8


def attention(layer, names, model, x):
    positions = torch.arange(TOKENS)[None]
    arguments = {}
    if hasattr(model.model, "rotary_emb"):
        arguments["position_embeddings"] = model.model.rotary_emb(x[None], positions)
    mask = torch.full((TOKENS, TOKENS), float("-inf")).triu(1)
    window = getattr(model.config, "sliding_window", None) if getattr(layer.self_attn, "sliding_window", None) else None
    if window:
        mask = mask + torch.full((TOKENS, TOKENS), float("-inf")).tril(-window)
    normed = getattr(layer, names[1])(x)
    y = getattr(layer, names[2])(hidden_states=normed[None], attention_mask=mask[None, None], **arguments)[0][0]
    return getattr(layer, names[3])(y) if names[3] else y


def mlp(layer, names, x):
    normed = getattr(layer, names[4])(x)
    y = getattr(layer, names[5])(normed) if names[5] else layer.fc2(layer.activation_fn(layer.fc1(normed)))
    return getattr(layer, names[6])(y) if names[6] else y


def facts(name, names):
    model = AutoModelForCausalLM.from_pretrained(GOLDEN / "models" / name, dtype=torch.float32, attn_implementation="eager")
    model.eval()
    layer = model.get_submodule(names[0])[0]
    x = stream(model.config.hidden_size)
    found = {}
    for half, branch in (("attention", attention(layer, names, model, x)), ("mlp", mlp(layer, names, x))):
        error = ((x + branch - 0.9 * x).pow(2).sum(-1) / (0.81 * x.pow(2).sum(-1))).mean()
        model.zero_grad()
        error.backward()
        gradients = {}
        for key, weight in layer.named_parameters():
            if weight.grad is None or weight.dim() != 2:
                continue
            flat = weight.grad.flatten().double()
            places = [i * 7919 % flat.numel() for i in range(1, 6)]
            gradients[key.removesuffix(".weight")] = [float(flat.norm())] + [float(flat[place]) for place in places]
        found[half] = {"error": float(error.detach()), "gradients": gradients}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=GOLDEN / "refinement.json")
    made = {name: facts(name, names) for name, names in MODELS.items()}
    parser.parse_args().out.write_text(json.dumps(made, indent=1) + "\n")
