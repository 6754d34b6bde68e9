#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the tiny random models of tests/golden/models and their golden logits.

Every model is a Hugging Face model directory (config.json, generation_config.json, weights) of a few
hundred kilobytes with, beside it,

  golden.json   tokens (T ids), the greedy continuation of the first 8 of them, figures (see README.md)
  logits.npy    float32 [T, vocabulary]: the logits that transformers gives for every position (prefill, no cache)

The reference always computes in float32, from the values stored in the file (a BF16 or F16 file is widened
first). A second run that feeds one token at a time through transformers' cache must agree, or this script fails.

Weights are drawn with numpy's PCG64 from a seed per model, with gains that make the logits spread over
several units and attention depend on positions (the usual std of 0.02 gives nearly uniform logits).

usage: make_models.py [--out DIR] [name ...]
Made with Python 3.11, torch 2.14.0, transformers 5.17.0, compressed-tensors 0.19.0, safetensors 0.8.0,
numpy 2.4.6, all on the CPU.
"""
import argparse
import json
import os
import shutil
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

TOKENS = 80          # positions in the golden logits
PROMPT = 8           # the greedy continuation starts after so many of them ...
CONTINUATION = 32    # ... and has so many tokens


# ---------------------------------------------------------------------------------------------------------------
# Drawing weights
# ---------------------------------------------------------------------------------------------------------------

class Source:
    """Random float32 tensors from one seed."""

    def __init__(self, seed):
        self.generator = np.random.Generator(np.random.PCG64(seed))

    def normal(self, *shape, std=1.0):
        return torch.from_numpy(self.generator.standard_normal(shape, dtype=np.float32) * np.float32(std))

    def linear(self, rows, columns, gain=1.0):
        """A matrix that turns inputs of unit rms into outputs of rms `gain`."""
        return self.normal(rows, columns, std=gain / columns ** 0.5)

    def around_one(self, size):
        return torch.from_numpy(self.generator.uniform(0.5, 1.5, size).astype(np.float32))

    def tokens(self, count, vocabulary):
        return [int(t) for t in self.generator.integers(0, vocabulary, count)]


def llama_weights(source, config):
    """The tensors of a LlamaForCausalLM, drawn in file order, by the names of its checkpoint."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head = config.get("head_dim") or hidden // heads
    vocabulary = config["vocab_size"]
    tied = config["tie_word_embeddings"]
    tensors = {"model.embed_tokens.weight": source.normal(vocabulary, hidden, std=2.5 / hidden ** 0.5 if tied else 1.0)}
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        tensors[layer + "input_layernorm.weight"] = source.around_one(hidden)
        tensors[layer + "post_attention_layernorm.weight"] = source.around_one(hidden)
        for name, rows, columns, gain in (("self_attn.q_proj", heads * head, hidden, 1.3),
                                          ("self_attn.k_proj", kv_heads * head, hidden, 1.3),
                                          ("self_attn.v_proj", kv_heads * head, hidden, 1.0),
                                          ("self_attn.o_proj", hidden, heads * head, 1.5),
                                          ("mlp.gate_proj", inner, hidden, 1.3),
                                          ("mlp.up_proj", inner, hidden, 1.3),
                                          ("mlp.down_proj", hidden, inner, 1.0)):
            tensors[layer + name + ".weight"] = source.linear(rows, columns, gain)
            if config["mlp_bias" if name.startswith("mlp") else "attention_bias"]:
                tensors[layer + name + ".bias"] = source.normal(rows, std=0.3)
        if config["model_type"] in ("qwen3", "gemma3_text", "olmo2"):
            whole = config["model_type"] == "olmo2"
            for name, count in (("q_norm", heads), ("k_norm", kv_heads)):
                tensors[f"{layer}self_attn.{name}.weight"] = source.around_one(count * head if whole else head)
        if config["model_type"] in ("gemma3_text", "olmo2"):
            tensors[layer + "post_feedforward_layernorm.weight"] = source.around_one(hidden)
        if config["model_type"] == "gemma3_text":
            tensors[layer + "pre_feedforward_layernorm.weight"] = source.around_one(hidden)
        if config["model_type"] == "olmo2":
            del tensors[layer + "input_layernorm.weight"]
        if config["model_type"] == "phi3":
            for name, parts in (("self_attn.qkv_proj", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
                                ("mlp.gate_up_proj", ("mlp.gate_proj", "mlp.up_proj"))):
                tensors[f"{layer}{name}.weight"] = torch.cat([tensors.pop(f"{layer}{part}.weight") for part in parts])
    tensors["model.norm.weight"] = source.around_one(hidden)
    if not tied:
        tensors["lm_head.weight"] = source.linear(vocabulary, hidden, 2.5)
    return tensors


def codegen_weights(source, config):
    embed, vocabulary = config["n_embd"], config["vocab_size"]
    inner = config["n_inner"] or 4 * embed
    tensors = {"transformer.wte.weight": source.normal(vocabulary, embed)}

    def norm(name):
        tensors[name + ".weight"] = source.around_one(embed)
        tensors[name + ".bias"] = source.normal(embed, std=0.2)

    for i in range(config["n_layer"]):
        block = f"transformer.h.{i}."
        norm(block + "ln_1")
        tensors[block + "attn.qkv_proj.weight"] = source.linear(3 * embed, embed, 1.2)
        tensors[block + "attn.out_proj.weight"] = source.linear(embed, embed, 1.5)
        tensors[block + "mlp.fc_in.weight"] = source.linear(inner, embed, 1.3)
        tensors[block + "mlp.fc_in.bias"] = source.normal(inner, std=0.3)
        tensors[block + "mlp.fc_out.weight"] = source.linear(embed, inner, 1.5)
        tensors[block + "mlp.fc_out.bias"] = source.normal(embed, std=0.3)
    norm("transformer.ln_f")
    tensors["lm_head.weight"] = source.linear(vocabulary, embed, 2.5)
    tensors["lm_head.bias"] = source.normal(vocabulary, std=0.5)
    return tensors


# ---------------------------------------------------------------------------------------------------------------
# Writing files
# ---------------------------------------------------------------------------------------------------------------

def write_json(path, value):
    path.write_text(json.dumps(value, indent=2) + "\n")


def write_safetensors(directory, tensors, shards=1):
    """One model.safetensors, or `shards` files of whole tensors with an index."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    if shards == 1:
        save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
        return
    total = sum(t.nbytes for t in tensors.values())
    parts, filled = [{} for _ in range(shards)], 0
    for name, tensor in tensors.items():
        parts[min(shards - 1, filled * shards // total)][name] = tensor
        filled += tensor.nbytes
    where = {}
    for i, part in enumerate(parts):
        file = f"model-{i + 1:05d}-of-{shards:05d}.safetensors"
        save_file(part, directory / file, metadata={"format": "pt"})
        where.update(dict.fromkeys(part, file))
    write_json(directory / "model.safetensors.index.json",
               {"metadata": {"total_size": total}, "weight_map": dict(sorted(where.items()))})


def write_json_lines(path, value):
    """An object with one key a line, or one element of a list of objects: short diffs, and still JSON."""
    def dump(v):
        if isinstance(v, list) and v and isinstance(v[0], dict):
            return "[\n" + ",\n".join(f"    {json.dumps(e)}" for e in v) + "\n  ]"
        return json.dumps(v)
    path.write_text("{\n" + ",\n".join(f"  {json.dumps(k)}: {dump(v)}" for k, v in value.items()) + "\n}\n")


def write_golden(directory, logits, golden, name="logits.npy"):
    np.save(directory / name, np.ascontiguousarray(logits, dtype=np.float32))
    if golden is not None:
        write_json_lines(directory / "golden.json", golden)


# ---------------------------------------------------------------------------------------------------------------
# Running the reference
# ---------------------------------------------------------------------------------------------------------------

@torch.no_grad()
def prefill(model, tokens):
    return model(torch.tensor([tokens]), use_cache=False).logits[0].float().numpy()


@torch.no_grad()
def decode(model, tokens):
    """The same logits, one token at a time through the cache."""
    cache, rows = None, []
    for token in tokens:
        out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        rows.append(out.logits[0, -1].float().numpy())
    return np.stack(rows)


def greedy(model, prompt, count):
    """`count` argmax tokens (no stop at eos) and the smallest gap between the best and the second logit."""
    tokens, gap = list(prompt), float("inf")
    for _ in range(count):
        row = prefill(model, tokens)[-1]
        second, first = np.sort(row)[-2:]
        gap = min(gap, float(first - second))
        tokens.append(int(row.argmax()))
    return tokens[len(prompt):], gap


def reference(model, tokens, tolerance=1e-4):
    """golden.json's fields and the logits."""
    model.eval()
    whole, stepped = prefill(model, tokens), decode(model, tokens)
    difference = float(np.abs(whole - stepped).max())
    assert difference < tolerance, f"decode and prefill differ by {difference}"
    continuation, gap = greedy(model, tokens[:PROMPT], CONTINUATION)
    golden = {
        "tokens": tokens,
        "logits_shape": list(whole.shape),
        "greedy_prompt_tokens": PROMPT,
        "greedy": continuation,
        "greedy_smallest_gap": round(gap, 6),
        "logits_std": round(float(whole.std(axis=1).mean()), 4),
        "logits_max_abs": round(float(np.abs(whole).max()), 4),
        "decode_max_difference": float(f"{difference:.2g}"),
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__, "numpy": np.__version__},
    }
    return whole, golden


def load(directory, **more):
    return transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32,
                                                             attn_implementation="eager", **more)


def run_reference(directory, tokens):
    model = load(directory)
    assert all(p.dtype == torch.float32 for p in model.parameters())
    logits, golden = reference(model, tokens)
    write_golden(directory, logits, golden)
    return golden


# ---------------------------------------------------------------------------------------------------------------
# The models
# ---------------------------------------------------------------------------------------------------------------

def llama_config(**changes):
    """The keys that both spellings share."""
    config = {
        "architectures": ["LlamaForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1,
        "eos_token_id": 2, "hidden_act": "silu", "hidden_size": 48, "initializer_range": 0.02, "intermediate_size": 80,
        "max_position_embeddings": 256, "mlp_bias": False, "model_type": "llama", "num_attention_heads": 4,
        "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1, "rms_norm_eps": 1e-05,
        "tie_word_embeddings": False, "use_cache": True, "vocab_size": 272,
    }
    config.update(changes)
    return dict(sorted(config.items()))


def generation_config(**changes):
    return {"_from_model_config": True, "bos_token_id": 1, "eos_token_id": 2, **changes}


def codegen_config():
    return {
        "activation_function": "gelu_new", "architectures": ["CodeGenForCausalLM"], "attn_pdrop": 0.0,
        "bos_token_id": 1, "embd_pdrop": 0.0, "eos_token_id": 2, "gradient_checkpointing": False,
        "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "codegen", "n_ctx": 128, "n_embd": 64,
        "n_head": 4, "n_inner": None, "n_layer": 2, "n_positions": 128, "resid_pdrop": 0.0, "rotary_dim": 8,
        "scale_attn_weights": True, "tokenizer_class": "GPT2Tokenizer", "torch_dtype": "float16",
        "transformers_version": "4.21.0", "use_cache": True, "vocab_size": 320,
    }


def make_codegen_tiny(directory):
    """CodeGen: fused qkv in 4 cores of (q, v, k), partial interleaved rope, biases; F16, with the mask buffers of the hub's files."""
    source, config = Source(101), codegen_config()
    tensors = {k: v.half() for k, v in codegen_weights(source, config).items()}
    positions = config["n_positions"]
    for i in range(config["n_layer"]):   # to be ignored by a reader
        tensors[f"transformer.h.{i}.attn.causal_mask"] = torch.tril(torch.ones(positions, positions, dtype=torch.bool))[None, None]
        tensors[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e4, dtype=torch.float16)
    write_json(directory / "config.json", config)
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.26.0"))
    write_safetensors(directory, tensors)
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_codegen_tiny_bin(directory):
    """A CodeGen as pytorch_model.bin (torch's zip form): F16, some matrices saved as transposed views, two tensors sharing one storage."""
    source, config = Source(102), {**codegen_config(), "n_embd": 32, "n_inner": 96, "rotary_dim": 4, "vocab_size": 256}
    tensors = {k: v.half() for k, v in codegen_weights(source, config).items()}
    for i in range(config["n_layer"]):
        name = f"transformer.h.{i}.mlp.fc_in.weight"
        tensors[name] = tensors[name].T.contiguous().T                                # stride (1, rows)
        both = torch.stack([tensors[f"transformer.h.{i}.ln_1.weight"], tensors[f"transformer.h.{i}.ln_1.bias"]])
        tensors[f"transformer.h.{i}.ln_1.weight"], tensors[f"transformer.h.{i}.ln_1.bias"] = both[0], both[1]   # one storage, offset 32
        tensors[f"transformer.h.{i}.attn.causal_mask"] = torch.tril(torch.ones(128, 128, dtype=torch.uint8))[None, None]
        tensors[f"transformer.h.{i}.attn.masked_bias"] = torch.tensor(-1e9)
    write_json(directory / "config.json", config)
    torch.save(tensors, directory / "pytorch_model.bin")
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_llama_tiny_gqa(directory):
    """Grouped queries (4 heads on 2), untied, F32 in two shards, the old spelling of config.json, head_dim 12."""
    source = Source(201)
    config = llama_config(rope_theta=10000.0, rope_scaling=None, torch_dtype="float32", transformers_version="4.44.2")
    write_json(directory / "config.json", config)
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.44.2"))
    write_safetensors(directory, llama_weights(source, config), shards=2)
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_llama_tiny_tied(directory):
    """Tied head, 3 heads on 1, head_dim 32 beside hidden 48, BF16, the spelling of transformers 5, no generation_config.json."""
    source = Source(202)
    config = llama_config(num_attention_heads=3, num_key_value_heads=1, head_dim=32, num_hidden_layers=3,
                          intermediate_size=112, vocab_size=257, tie_word_embeddings=True, dtype="bfloat16",
                          rope_parameters={"rope_theta": 100000.0, "rope_type": "default"}, transformers_version="5.17.0")
    write_json(directory / "config.json", config)
    write_safetensors(directory, {k: v.bfloat16() for k, v in llama_weights(source, config).items()})
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_llama_tiny_llama3(directory):
    """Llama-3 rope scaling that acts within the test's positions, biases everywhere, F16, a list of eos ids."""
    source = Source(203)
    scaling = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32,
               "rope_type": "llama3"}
    config = llama_config(hidden_size=64, head_dim=16, intermediate_size=96, attention_bias=True, mlp_bias=True,
                          rope_theta=10000.0, rope_scaling=scaling, torch_dtype="float16", eos_token_id=[2, 5, 9],
                          vocab_size=256, transformers_version="4.45.0")
    write_json(directory / "config.json", config)
    write_json(directory / "generation_config.json", {"bos_token_id": 1, "do_sample": True, "eos_token_id": [2, 5, 9],
               "temperature": 0.6, "top_p": 0.9, "transformers_version": "4.45.0"})
    write_safetensors(directory, {k: v.half() for k, v in llama_weights(source, config).items()})
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_llama_tiny_linear(directory):
    """Linear rope scaling in the old spelling ("type"), one kv head per head, F32, no head_dim key, three layers."""
    source = Source(204)
    config = llama_config(hidden_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=3,
                          intermediate_size=64, vocab_size=256, rope_theta=10000.0,
                          rope_scaling={"type": "linear", "factor": 2.0}, torch_dtype="float32",
                          transformers_version="4.36.0")
    write_json(directory / "config.json", config)
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.36.0"))
    write_safetensors(directory, llama_weights(source, config))
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_qwen2(directory, seed, **changes):
    """Biases of q, k and v but not of the output."""
    source = Source(seed)
    config = llama_config(architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=64, intermediate_size=96, vocab_size=256,
                          attention_bias=True, rope_theta=1000000.0, max_window_layers=1, sliding_window=16, torch_dtype="bfloat16",
                          transformers_version="4.43.1", **changes)
    tensors = {k: v.bfloat16() for k, v in llama_weights(source, config).items() if not k.endswith("o_proj.bias")}
    write_json(directory / "config.json", {k: v for k, v in config.items() if k not in ("attention_bias", "mlp_bias", "pretraining_tp")})
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.43.1"))
    write_safetensors(directory, tensors)
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_qwen2_tiny(directory):
    """Qwen2: biases on q, k, v alone, 4 heads on 2, tied, BF16, rope theta 1e6, a window that is not used."""
    return make_qwen2(directory, 206, rms_norm_eps=1e-6, tie_word_embeddings=True, use_sliding_window=False)


def make_llama_like(directory, seed, class_name, model_type, embedding_gain=1.0, final_gain=1.0, norm_offset=0.0, **changes):
    """A family whose tensors have Llama's names."""
    source = Source(seed)
    config = llama_config(architectures=[class_name], model_type=model_type, hidden_size=64, intermediate_size=96,
                          vocab_size=256, torch_dtype="bfloat16", **changes)
    tensors = llama_weights(source, config)
    tensors["model.embed_tokens.weight"] *= embedding_gain
    tensors["model.norm.weight"] *= final_gain
    for name in tensors:
        if name.endswith("norm.weight"):
            tensors[name] -= norm_offset
    left_out = {"attention_bias", "mlp_bias", "pretraining_tp"}
    write_json(directory / "config.json", {k: v for k, v in config.items() if k not in left_out})
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.57.1"))
    write_safetensors(directory, {k: v.bfloat16() for k, v in tensors.items()})
    return run_reference(directory, source.tokens(TOKENS, config["vocab_size"]))


def make_qwen2_tiny_window(directory):
    """Qwen2 with a window of 16 positions on the layers from the second on."""
    return make_qwen2(directory, 207, num_hidden_layers=3, use_sliding_window=True)


def make_qwen3_tiny(directory):
    """Qwen3: norms of the heads of queries and keys, head_dim 32 beside hidden 64 and 4 heads, tied."""
    return make_llama_like(directory, 208, "Qwen3ForCausalLM", "qwen3", head_dim=32, rope_theta=1000000.0, rms_norm_eps=1e-6,
                           tie_word_embeddings=True, max_window_layers=2, sliding_window=None, use_sliding_window=False)


def make_mistral_tiny(directory):
    """Mistral: a window of 24 positions on every layer, head_dim 24 beside hidden 64 and 4 heads."""
    return make_llama_like(directory, 209, "MistralForCausalLM", "mistral", head_dim=24, sliding_window=24, rope_theta=10000.0)


def make_smollm3_tiny(directory):
    """SmolLM3: nothing rotates in every fourth of five layers, tied."""
    return make_llama_like(directory, 210, "SmolLM3ForCausalLM", "smollm3", num_hidden_layers=5, rope_theta=5000000.0,
                           tie_word_embeddings=True, no_rope_layers=[1, 1, 1, 0, 1], no_rope_layer_interval=4,
                           use_sliding_window=False, sliding_window=None, pad_token_id=3)


def make_granite_tiny(directory):
    """Granite 3: factors of embeddings, queries, branches and logits, tied."""
    return make_llama_like(directory, 211, "GraniteForCausalLM", "granite", rope_theta=10000.0, tie_word_embeddings=True,
                           embedding_multiplier=0.6, attention_multiplier=0.4, residual_multiplier=0.7, logits_scaling=1.25)


def make_gemma_tiny(directory):
    """Gemma: a gate by gelu, norms that hold their difference from 1, embeddings times sqrt(hidden), one kv head, tied."""
    return make_llama_like(directory, 212, "GemmaForCausalLM", "gemma", norm_offset=1.0, embedding_gain=1 / 8, final_gain=8.0, num_key_value_heads=1, head_dim=32,
                           hidden_act="gelu_pytorch_tanh", hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6,
                           rope_theta=10000.0, tie_word_embeddings=True)


def make_gemma3_tiny(directory):
    """Gemma 3: norms everywhere, a window of 16 positions on all of four layers but the third, two rotations, one of them scaled."""
    return make_llama_like(directory, 213, "Gemma3ForCausalLM", "gemma3_text", norm_offset=1.0, embedding_gain=1 / 8, final_gain=8.0,
                           num_hidden_layers=4, num_key_value_heads=1, head_dim=32, hidden_activation="gelu_pytorch_tanh",
                           rms_norm_eps=1e-6, rope_theta=1000000.0, rope_local_base_freq=10000.0, query_pre_attn_scalar=24,
                           rope_scaling={"rope_type": "linear", "factor": 8.0}, sliding_window=16, sliding_window_pattern=3,
                           tie_word_embeddings=True)


def make_olmo2_tiny(directory):
    """OLMo 2: norms behind the branches alone, and of whole rows of queries and keys."""
    return make_llama_like(directory, 214, "Olmo2ForCausalLM", "olmo2", rope_theta=500000.0)


def make_phi3_tiny(directory):
    """Phi-3: fused tensors, a window of 30 positions, three quarters of a head rotate."""
    return make_llama_like(directory, 215, "Phi3ForCausalLM", "phi3", rope_theta=10000.0, rope_scaling=None, sliding_window=30,
                           original_max_position_embeddings=256, partial_rotary_factor=0.75, pad_token_id=3)


def quantize_rows(weight):
    """int8 codes and scales [rows, 1] as compressed-tensors makes them: the divisor is 127.5, halves go to even."""
    scale = weight.abs().amax(dim=1, keepdim=True) / 127.5
    return torch.round(torch.clamp(weight / scale, -128, 127)).to(torch.int8), scale


def prune_half(weight, group):
    """Zero the smaller half of every `group` consecutive entries of a row."""
    rows, columns = weight.shape
    cut = weight.reshape(rows, columns // group, group)
    order = cut.abs().argsort(dim=2)
    cut = cut.scatter(2, order[:, :, :group // 2], 0.0)
    return cut.reshape(rows, columns)


QUANTIZATION_CONFIG = {
    "config_groups": {"group_0": {
        "format": "int-quantized",
        "input_activations": {"actorder": None, "block_structure": None, "dynamic": True, "group_size": None, "num_bits": 8,
                              "observer": None, "observer_kwargs": {}, "strategy": "token", "symmetric": True, "type": "int"},
        "output_activations": None,
        "targets": ["Linear"],
        "weights": {"actorder": None, "block_structure": None, "dynamic": False, "group_size": None, "num_bits": 8,
                    "observer": "memoryless_minmax", "observer_kwargs": {}, "strategy": "channel", "symmetric": True, "type": "int"},
    }},
    "format": "int-quantized", "global_compression_ratio": None, "ignore": ["lm_head"], "kv_cache_scheme": None,
    "quant_method": "compressed-tensors", "quantization_status": "compressed", "sparsity_config": {},
    "transform_config": {}, "version": "0.19.0",
}


def make_llama_tiny_int8(directory):
    """compressed-tensors int-quantized W8A8: layer 0 pruned to 50 % per row, layer 1 to 8:16; head and embedding F32."""
    source = Source(205)
    config = llama_config(hidden_size=64, head_dim=16, intermediate_size=128, vocab_size=256, rope_theta=10000.0,
                          rope_scaling=None, torch_dtype="float32", transformers_version="4.57.6")
    stored, dequantized = {}, {}
    for name, weight in llama_weights(source, config).items():
        if not name.endswith("_proj.weight"):
            stored[name] = dequantized[name] = weight
            continue
        weight = prune_half(weight, weight.shape[1] if ".layers.0." in name else 16)
        codes, scale = quantize_rows(weight)
        assert (codes == 0).float().mean() >= 0.5
        stored[name], stored[name + "_scale"] = codes, scale
        dequantized[name] = codes.float() * scale
    write_json(directory / "config.json", {**config, "quantization_config": QUANTIZATION_CONFIG})
    write_json(directory / "generation_config.json", generation_config(transformers_version="4.57.6"))
    write_safetensors(directory, stored)
    tokens = source.tokens(TOKENS, config["vocab_size"])

    # Weights only: an ordinary float32 model of the dequantized values.
    plain = directory / "dequantized"
    plain.mkdir()
    write_json(plain / "config.json", config)
    write_safetensors(plain, dequantized)
    logits, golden = reference(load(plain), tokens)
    shutil.rmtree(plain)

    # What transformers does with the quantized directory itself: int8 activations too, one scale per token.
    both = prefill(load(directory), tokens)
    by_hand, _ = prefill_w8a8(w8a8_model(config, dequantized, 127.5), tokens)
    assert np.abs(both - by_hand).max() < 1e-4, np.abs(both - by_hand).max()
    shaken = dict(dequantized)           # rounding an activation is a step: how much does float32 noise cost?
    name = "model.embed_tokens.weight"
    shaken[name] = shaken[name] * (1 + 1e-6 * source.normal(*shaken[name].shape))
    shaken, _ = prefill_w8a8(w8a8_model(config, shaken, 127.5), tokens)
    rms = lambda difference: float(f"{np.sqrt(np.square(difference).mean()):.2g}")
    golden["w8a8_rms_difference_to_weight_only"] = rms(both - logits)
    golden["w8a8_rms_difference_under_1e-6_noise"] = rms(both - shaken)
    write_golden(directory, both, None, "logits_w8a8.npy")

    # The same with the divisor 127, for tokens chosen so that no activation lies near a rounding boundary: float32
    # noise then changes nothing and an implementation can be held to a small tolerance.
    model, best = w8a8_model(config, dequantized, 127.0), (0.0, None, None)
    for _ in range(1500):
        draw = source.tokens(16, config["vocab_size"])
        found, margin = prefill_w8a8(model, draw)
        if margin > best[0]:
            best = (margin, draw, found)
    golden["w8a8_127_tokens"] = best[1]
    golden["w8a8_127_margin"] = float(f"{best[0]:.2g}")
    write_golden(directory, best[2], None, "logits_w8a8_127.npy")
    write_golden(directory, logits, golden)
    return golden


class FakeQuantizedLinear(torch.nn.Linear):
    """Its input becomes round(clamp(x / s)) * s with s = max|x| / divisor, per token."""

    divisor, margin = 127.5, 1.0

    def forward(self, x):
        scale = x.abs().amax(dim=-1, keepdim=True) / self.divisor
        steps = x / scale
        distance = (steps - torch.floor(steps) - 0.5).abs().min()     # to the nearest rounding boundary
        FakeQuantizedLinear.margin = min(FakeQuantizedLinear.margin, float(distance))
        return super().forward(torch.round(torch.clamp(steps, -128, 127)) * scale)


def w8a8_model(config, tensors, divisor):
    settings = transformers.LlamaConfig(**{k: v for k, v in config.items() if k != "torch_dtype"}, attn_implementation="eager")
    model = transformers.LlamaForCausalLM(settings)
    model.load_state_dict(tensors)
    for name, module in model.named_modules():
        if name.endswith("_proj"):
            module.__class__ = FakeQuantizedLinear
            module.divisor = divisor
    return model.eval()


def prefill_w8a8(model, tokens):
    """Logits, and how near (in quantization steps) any activation came to a rounding boundary."""
    FakeQuantizedLinear.margin = 1.0
    return prefill(model, tokens), FakeQuantizedLinear.margin


MODELS = {
    "codegen-tiny": make_codegen_tiny,
    "codegen-tiny-bin": make_codegen_tiny_bin,
    "llama-tiny-gqa": make_llama_tiny_gqa,
    "llama-tiny-tied": make_llama_tiny_tied,
    "llama-tiny-llama3": make_llama_tiny_llama3,
    "llama-tiny-linear": make_llama_tiny_linear,
    "llama-tiny-int8": make_llama_tiny_int8,
    "qwen2-tiny": make_qwen2_tiny,
    "qwen2-tiny-window": make_qwen2_tiny_window,
    "qwen3-tiny": make_qwen3_tiny,
    "mistral-tiny": make_mistral_tiny,
    "smollm3-tiny": make_smollm3_tiny,
    "granite-tiny": make_granite_tiny,
    "gemma-tiny": make_gemma_tiny,
    "gemma3-tiny": make_gemma3_tiny,
    "olmo2-tiny": make_olmo2_tiny,
    "phi3-tiny": make_phi3_tiny,
}


def main():
    parser = argparse.ArgumentParser(description="Make the tiny models and their golden logits.")
    parser.add_argument("names", nargs="*", help="models to make (default: all): " + " ".join(MODELS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "models")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in arguments.names or MODELS:
        directory = arguments.out / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        golden = MODELS[name](directory)
        for file in directory.iterdir():
            file.chmod(0o644)
        size = sum(f.stat().st_size for f in directory.iterdir())
        print(f"{name}: {size} bytes, logits std {golden['logits_std']}, max {golden['logits_max_abs']}, "
              f"decode difference {golden['decode_max_difference']}, greedy gap {golden['greedy_smallest_gap']}")


if __name__ == "__main__":
    main()
