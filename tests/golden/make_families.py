#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the tiny models of further families in tests/golden/models and their golden logits.

The form of a directory, the drawing of weights and the reference are those of make_models.py; here the golden logits
have 40 positions (80 where a window or a scaled rotation needs them) and the greedy continuation 16 tokens. The
configurations are spelled as the hub spells them for that family, and so are the names of tensors. For every
model this script requires that

- transformers loads the directory without missing, unexpected or mismatched tensors and would save the same names
  (what a file adds on purpose stands beside its model),
- one pass and decoding through the cache agree (exceptions and their reasons stand beside the model),
- the order of earlier tokens changes the logits, and so does every property listed in `matters`,
- no greedy step is closer than 0.01 and no choice of experts closer than 1e-3 in router logits, and the continuation has
  at least four different tokens.

usage: make_families.py [--out DIR] [name ...]
Made with Python 3.11, torch 2.14.0, transformers 5.17.0, safetensors 0.8.0, numpy 2.4.6, all on the CPU.
"""
import argparse
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from make_models import PROMPT, Source, decode, greedy, llama_config, prefill, write_golden, write_json, write_safetensors
from safetensors.torch import load_file

TOKENS = 40
LONG = 80            # positions where a window or a scaled rotation needs them
CONTINUATION = 16


# ---------------------------------------------------------------------------------------------------------------
# Drawing weights
# ---------------------------------------------------------------------------------------------------------------

class Weights:
    """Tensors by name, drawn in order from one seed."""

    def __init__(self, seed):
        self.source = Source(seed)
        self.tensors = {}

    def embedding(self, name, rows, columns, std=1.0):
        self.tensors[name] = self.source.normal(rows, columns, std=std)

    def linear(self, name, rows, columns, gain, bias=False):
        self.tensors[name + ".weight"] = self.source.linear(rows, columns, gain)
        if bias:
            self.tensors[name + ".bias"] = self.source.normal(rows, std=0.3)

    def layer_norm(self, name, size, bias=True):
        self.tensors[name + ".weight"] = self.source.around_one(size)
        if bias:
            self.tensors[name + ".bias"] = self.source.normal(size, std=0.2)

    def rms_norm(self, name, size):
        self.layer_norm(name, size, bias=False)

    def gated(self, name, hidden, inner, gain=1.3):
        self.linear(name + ".gate_proj", inner, hidden, gain)
        self.linear(name + ".up_proj", inner, hidden, gain)
        self.linear(name + ".down_proj", hidden, inner, 1.0)


TIED = 2.5           # gain of a head; a tied embedding has this std over sqrt(columns)


def llama_like(seed, config, biases=(), tied=False, mlp=True):
    """The embedding, attention, norms and (with mlp) the gated branch of a model with Llama's names."""
    w = Weights(seed)
    hidden, heads, kv_heads = (config[k] for k in ("hidden_size", "num_attention_heads", "num_key_value_heads"))
    head = config.get("head_dim") or hidden // heads
    w.embedding("model.embed_tokens.weight", config["vocab_size"], hidden, TIED / hidden ** 0.5 if tied else 1.0)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        w.rms_norm(layer + "input_layernorm", hidden)
        for name, rows, columns, gain in (("q_proj", heads * head, hidden, 1.3), ("k_proj", kv_heads * head, hidden, 1.3),
                                          ("v_proj", kv_heads * head, hidden, 1.0), ("o_proj", hidden, heads * head, 1.5)):
            w.linear(f"{layer}self_attn.{name}", rows, columns, gain, name in biases)
        w.rms_norm(layer + "post_attention_layernorm", hidden)
        if mlp:
            w.gated(layer + "mlp", hidden, config["intermediate_size"])
    w.rms_norm("model.norm", hidden)
    if not tied:
        w.linear("lm_head", config["vocab_size"], hidden, TIED)
    return w


# ---------------------------------------------------------------------------------------------------------------
# Running the reference and checking
# ---------------------------------------------------------------------------------------------------------------

def check_names(model, stored, prefix, added):
    """The names and shapes that save_pretrained of this class would write are those of the file."""
    with tempfile.TemporaryDirectory() as saved:
        model.save_pretrained(saved)
        theirs = {name: list(t.shape) for name, t in load_file(Path(saved) / "model.safetensors").items()}
    ours = {(prefix + name if not name.startswith(prefix) else name): list(t.shape)
            for name, t in stored.items() if name not in added}
    assert ours == theirs, (ours.keys() ^ theirs.keys(), [n for n in ours if ours[n] != theirs.get(n)])


@torch.no_grad()
def decode_from(model, tokens, first):
    """The logits of a first pass over `first` tokens and then of one token at a time through the cache."""
    if first == 1:
        return decode(model, tokens)
    out = model(torch.tensor([tokens[:first]]), use_cache=True)
    rows, cache = [out.logits[0].float().numpy()], out.past_key_values
    for token in tokens[first:]:
        out = model(torch.tensor([[token]]), past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        rows.append(out.logits[0, -1:].float().numpy())
    return np.concatenate(rows)


class RouterGap:
    """The smallest gap between the last expert chosen and the first one left out, over all tokens seen."""

    def __init__(self, model):
        self.smallest = None
        for name, module in model.named_modules():
            if type(module).__name__.endswith("TopKRouter"):
                module.register_forward_hook(self.see)

    def see(self, module, inputs, outputs):
        best = outputs[0].float().sort(dim=-1, descending=True).values
        gap = float((best[..., module.top_k - 1] - best[..., module.top_k]).min())
        self.smallest = gap if self.smallest is None else min(self.smallest, gap)


def difference(a, b):
    return float(np.abs(a - b).max())


def reference(model, ids, first=1, steps=True, extra=None):
    """The logits and golden.json's fields."""
    gap = RouterGap(model)
    whole, stepped = prefill(model, ids), None
    if steps:
        stepped = difference(whole, decode_from(model, ids, first))
        assert stepped < 1e-4, f"decode and prefill differ by {stepped}"
    continuation, closest = greedy(model, ids[:PROMPT], CONTINUATION)
    assert closest > 0.01 and len(set(continuation)) > 3, f"greedy gap {closest}, {continuation}: take another seed"
    assert gap.smallest is None or gap.smallest > 1e-3, f"router gap {gap.smallest}: take another seed"
    return whole, {
        "tokens": ids,
        "logits_shape": list(whole.shape),
        "greedy_prompt_tokens": PROMPT,
        "greedy": continuation,
        "greedy_smallest_gap": round(closest, 6),
        "logits_std": round(float(whole.std(axis=1).mean()), 4),
        "logits_max_abs": round(float(np.abs(whole).max()), 4),
        **({} if stepped is None else {"decode_max_difference": float(f"{stepped:.2g}")}),
        **({} if gap.smallest is None else {"router_smallest_gap": round(gap.smallest, 6)}),
        **(extra(model, ids) if extra else {}),
        "made_with": {"torch": torch.__version__, "transformers": transformers.__version__, "numpy": np.__version__},
    }


def finish(directory, weights, config, *, dtype=torch.bfloat16, tokens=TOKENS, first=1, steps=True, matters=(),
           attention="eager", prefix="", added=None, generation=None, extra=None):
    """Write the directory, check it and make its golden data.

    first: tokens of the pass before decoding; steps: whether decoding is compared at all; matters: changes of the
    configuration, or functions of the model, that must change the logits; prefix: what the file's names lack;
    added: tensors, as they are, that only the file has; extra: function of (model, tokens) that returns more fields of
    golden.json.
    """
    stored = {name: tensor.to(dtype) for name, tensor in weights.tensors.items()}
    added = added or {}
    stored.update(added)
    write_json(directory / "config.json", config)
    ids = {k: config[k] for k in ("bos_token_id", "eos_token_id", "pad_token_id") if config.get(k) is not None}
    version = {"transformers_version": config["transformers_version"]} if "transformers_version" in config else {}
    write_json(directory / "generation_config.json", generation or {"_from_model_config": True, **ids, **version})
    write_safetensors(directory, stored)

    def loaded(changes={}):
        settings = transformers.AutoConfig.from_pretrained(directory)
        if changes:
            settings = transformers.AutoConfig.for_model(**{**config, **changes})
        experts = {"experts_implementation": "eager"} if "experts" in " ".join(stored) else {}
        model, info = transformers.AutoModelForCausalLM.from_pretrained(
            directory, config=settings, dtype=torch.float32, attn_implementation=attention, output_loading_info=True, **experts)
        assert all(p.dtype == torch.float32 for p in model.parameters())
        return model.eval(), info

    model, info = loaded()
    problems = {k: v for k, v in info.items() if v and k in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs")}
    assert not problems, problems
    check_names(model, stored, prefix, added)
    ids = weights.source.tokens(tokens, config["vocab_size"])
    whole, golden = reference(model, ids, first, steps, extra)
    turned = prefill(model, ids[:TOKENS - 1][::-1] + ids[TOKENS - 1:TOKENS])[-1]
    assert difference(turned, prefill(model, ids[:TOKENS])[-1]) > 0.3, "positions hardly matter"
    for change in matters:
        other, _ = loaded({} if callable(change) else change)
        if callable(change):
            change(other)
        moved = difference(prefill(other, ids), whole)
        label = change.__doc__ if callable(change) else ", ".join(change)
        print(f"  {directory.name}: {label} changed: logits move by {moved:.2g}")
        assert moved > 1e-3, f"{label} hardly matters: {moved}"
    write_golden(directory, whole, golden)
    return golden


# ---------------------------------------------------------------------------------------------------------------
# OPT
# ---------------------------------------------------------------------------------------------------------------

def opt_config(**changes):
    """Spelled as facebook/opt-125m."""
    return {
        "activation_dropout": 0.0, "activation_function": "relu", "architectures": ["OPTForCausalLM"],
        "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": True, "dropout": 0.1, "eos_token_id": 2,
        "ffn_dim": 128, "hidden_size": 32, "init_std": 0.02, "layerdrop": 0.0, "max_position_embeddings": 96,
        "model_type": "opt", "num_attention_heads": 4, "num_hidden_layers": 2, "pad_token_id": 1, "prefix": "</s>",
        "torch_dtype": "float16", "transformers_version": "4.21.0.dev0", "use_cache": True, "vocab_size": 96,
        "word_embed_proj_dim": 32, **changes,
    }


def opt_weights(seed, config, prefix):
    w = Weights(seed)
    hidden, projected = config["hidden_size"], config["word_embed_proj_dim"]
    w.embedding(prefix + "embed_tokens.weight", config["vocab_size"], projected, TIED / projected ** 0.5)
    w.embedding(prefix + "embed_positions.weight", config["max_position_embeddings"] + 2, hidden, 0.4)
    if projected != hidden:
        w.linear(prefix + "project_in", hidden, projected, 1.0)
        w.linear(prefix + "project_out", projected, hidden, 1.0)
    for i in range(config["num_hidden_layers"]):
        layer = f"{prefix}layers.{i}."
        for name, gain in (("q_proj", 1.5), ("k_proj", 1.5), ("v_proj", 1.0), ("out_proj", 1.5)):
            w.linear(f"{layer}self_attn.{name}", hidden, hidden, gain, bias=True)
        w.layer_norm(layer + "self_attn_layer_norm", hidden)
        w.linear(layer + "fc1", config["ffn_dim"], hidden, 1.3, bias=True)
        w.linear(layer + "fc2", hidden, config["ffn_dim"], 1.5, bias=True)
        w.layer_norm(layer + "final_layer_norm", hidden)
    if config["do_layer_norm_before"]:
        w.layer_norm(prefix + "final_layer_norm", hidden)
    return w


def make_opt_tiny(directory):
    """OPT: learned positions from row 2 on, relu, biases, norms before the branches, tied; F16."""
    config = opt_config()
    return finish(directory, opt_weights(401, config, "model.decoder."), config, dtype=torch.float16,
                  matters=[{"activation_function": "gelu"}])


def make_opt_tiny_350m(directory):
    """OPT 350m: embeddings of 24 beside hidden 32, norms behind the branches, none at the end; names without "model."."""
    config = opt_config(do_layer_norm_before=False, word_embed_proj_dim=24, torch_dtype="bfloat16")
    return finish(directory, opt_weights(502, config, "decoder."), config, prefix="model.",
                  matters=[{"activation_function": "gelu"}])


# ---------------------------------------------------------------------------------------------------------------
# GPT-2, GPT-J, GPT-Neo, GPT-NeoX
# ---------------------------------------------------------------------------------------------------------------

SUMMARY = {"summary_activation": None, "summary_first_dropout": 0.1, "summary_proj_to_labels": True,
           "summary_type": "cls_index", "summary_use_proj": True}


def causal_mask(size, dtype):
    return torch.tril(torch.ones(size, size)).reshape(1, 1, size, size).to(dtype)


def make_gpt2_tiny(directory):
    """GPT-2: matrices stored [in, out], names without "transformer.", the mask buffers of the hub's file (F32), tied."""
    config = {
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1, "bos_token_id": 95,
        "embd_pdrop": 0.1, "eos_token_id": 95, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "gpt2",
        "n_ctx": 48, "n_embd": 32, "n_head": 4, "n_inner": None, "n_layer": 2, "n_positions": 48, "resid_pdrop": 0.1,
        **SUMMARY, "task_specific_params": {"text-generation": {"do_sample": True, "max_length": 50}}, "vocab_size": 96,
    }
    w, embed = Weights(403), config["n_embd"]
    w.embedding("wte.weight", config["vocab_size"], embed, TIED / embed ** 0.5)
    w.embedding("wpe.weight", config["n_positions"], embed, 0.4)
    for i in range(config["n_layer"]):
        block = f"h.{i}."
        w.layer_norm(block + "ln_1", embed)
        w.linear(block + "attn.c_attn", 3 * embed, embed, 1.3, bias=True)
        w.linear(block + "attn.c_proj", embed, embed, 1.5, bias=True)
        w.layer_norm(block + "ln_2", embed)
        w.linear(block + "mlp.c_fc", 4 * embed, embed, 2.0, bias=True)
        w.linear(block + "mlp.c_proj", embed, 4 * embed, 2.0, bias=True)
    w.layer_norm("ln_f", embed)
    for name in w.tensors:
        if ".c_" in name and name.endswith(".weight"):
            w.tensors[name] = w.tensors[name].T
    masks = {f"h.{i}.attn.bias": causal_mask(config["n_positions"], torch.float32) for i in range(config["n_layer"])}
    return finish(directory, w, config, prefix="transformer.", added=masks, matters=[{"activation_function": "gelu"}])


def make_gptj_tiny(directory):
    """GPT-J: half of a head rotates, adjacent pairs, one norm for both branches, biases in the branch and the head."""
    config = {
        "activation_function": "gelu_new", "architectures": ["GPTJForCausalLM"], "attn_pdrop": 0.0, "bos_token_id": 95,
        "embd_pdrop": 0.0, "eos_token_id": 95, "gradient_checkpointing": False, "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05, "model_type": "gptj", "n_embd": 32, "n_head": 4, "n_inner": None, "n_layer": 2,
        "n_positions": 96, "resid_pdrop": 0.0, "rotary": True, "rotary_dim": 4, "scale_attn_weights": True, **SUMMARY,
        "tie_word_embeddings": False, "tokenizer_class": "GPT2Tokenizer", "transformers_version": "4.18.0.dev0",
        "use_cache": True, "vocab_size": 96,
    }
    w, embed = Weights(404), config["n_embd"]
    w.embedding("transformer.wte.weight", config["vocab_size"], embed)
    for i in range(config["n_layer"]):
        block = f"transformer.h.{i}."
        w.layer_norm(block + "ln_1", embed)
        for name, gain in (("k_proj", 1.4), ("v_proj", 1.0), ("q_proj", 1.4), ("out_proj", 1.5)):
            w.linear(f"{block}attn.{name}", embed, embed, gain)
        w.linear(block + "mlp.fc_in", 4 * embed, embed, 2.0, bias=True)
        w.linear(block + "mlp.fc_out", embed, 4 * embed, 2.0, bias=True)
    w.layer_norm("transformer.ln_f", embed)
    w.linear("lm_head", config["vocab_size"], embed, TIED, bias=True)
    return finish(directory, w, config, matters=[{"rotary_dim": 8}, {"activation_function": "gelu"}])


def make_gpt_neo_tiny(directory):
    """GPT-Neo: every second layer sees 16 positions, scores without a scale, learned positions, tied; F32."""
    config = {
        "activation_function": "gelu_new", "architectures": ["GPTNeoForCausalLM"], "attention_dropout": 0,
        "attention_layers": ["global", "local"], "attention_types": [[["global", "local"], 1]], "bos_token_id": 95,
        "embed_dropout": 0, "eos_token_id": 95, "gradient_checkpointing": False, "hidden_size": 32,
        "initializer_range": 0.02, "intermediate_size": 64, "layer_norm_epsilon": 1e-05, "max_position_embeddings": 96,
        "model_type": "gpt_neo", "num_heads": 4, "num_layers": 2, "resid_dropout": 0, **SUMMARY,
        "transformers_version": "4.9.0.dev0", "use_cache": True, "vocab_size": 96, "window_size": 16,
    }
    w, hidden = Weights(305), config["hidden_size"]
    w.embedding("transformer.wte.weight", config["vocab_size"], hidden, TIED / hidden ** 0.5)
    w.embedding("transformer.wpe.weight", config["max_position_embeddings"], hidden, 0.4)
    for i in range(config["num_layers"]):
        block = f"transformer.h.{i}."
        w.layer_norm(block + "ln_1", hidden)
        for name, gain in (("k_proj", 0.8), ("v_proj", 1.0), ("q_proj", 0.8), ("out_proj", 1.5)):
            w.linear(f"{block}attn.attention.{name}", hidden, hidden, gain, bias=name == "out_proj")
        w.layer_norm(block + "ln_2", hidden)
        w.linear(block + "mlp.c_fc", config["intermediate_size"], hidden, 2.0, bias=True)
        w.linear(block + "mlp.c_proj", hidden, config["intermediate_size"], 2.0, bias=True)
    w.layer_norm("transformer.ln_f", hidden)
    return finish(directory, w, config, dtype=torch.float32, matters=[{"window_size": 15}, {"activation_function": "gelu"}])


def gpt_neox(directory, seed, dtype, matters, **changes):
    """Spelled as EleutherAI/pythia-70m; one matrix of q, k, v whose rows go by head; the buffers of those files."""
    config = {
        "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
        "hidden_size": 48, "initializer_range": 0.02, "intermediate_size": 96, "layer_norm_eps": 1e-05,
        "max_position_embeddings": 64, "model_type": "gpt_neox", "num_attention_heads": 3, "num_hidden_layers": 2,
        "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": False, "torch_dtype": "float16",
        "transformers_version": "4.24.0", "use_cache": True, "use_parallel_residual": True, "vocab_size": 96, **changes,
    }
    w, hidden, inner, buffers = Weights(seed), config["hidden_size"], config["intermediate_size"], {}
    w.embedding("gpt_neox.embed_in.weight", config["vocab_size"], hidden)
    for i in range(config["num_hidden_layers"]):
        layer = f"gpt_neox.layers.{i}."
        w.layer_norm(layer + "input_layernorm", hidden)
        w.layer_norm(layer + "post_attention_layernorm", hidden)
        w.linear(layer + "attention.query_key_value", 3 * hidden, hidden, 1.3, bias=True)
        w.linear(layer + "attention.dense", hidden, hidden, 1.5, bias=True)
        w.linear(layer + "mlp.dense_h_to_4h", inner, hidden, 2.0, bias=True)
        w.linear(layer + "mlp.dense_4h_to_h", hidden, inner, 2.0, bias=True)
        if changes.get("use_parallel_residual", True):
            rotates = int(hidden // config["num_attention_heads"] * config["rotary_pct"])
            buffers[layer + "attention.bias"] = causal_mask(config["max_position_embeddings"], torch.bool)
            buffers[layer + "attention.masked_bias"] = torch.tensor(-1e9)
            buffers[layer + "attention.rotary_emb.inv_freq"] = 10000.0 ** (-torch.arange(0, rotates, 2) / rotates)
    w.layer_norm("gpt_neox.final_layer_norm", hidden)
    w.linear("embed_out", config["vocab_size"], hidden, TIED)
    return finish(directory, w, config, dtype=dtype, added=buffers, matters=matters)


def make_gpt_neox_tiny(directory):
    """GPT-NeoX: both branches read the same row, each its own norm; a quarter of a head rotates, gelu by erf; F16."""
    return gpt_neox(directory, 306, torch.float16, matters=[
        {"rotary_pct": 0.5}, {"use_parallel_residual": False}, {"hidden_act": "gelu_new"}])


def make_gpt_neox_tiny_serial(directory):
    """GPT-NeoX with one branch after the other, half of a head, gelu by tanh ("gelu_fast", as the 20B model's), theta 1000."""
    return gpt_neox(directory, 407, torch.bfloat16, use_parallel_residual=False, rotary_pct=0.5, rotary_emb_base=1000,
                    hidden_act="gelu_fast", torch_dtype="bfloat16", matters=[
                        {"rotary_emb_base": 10000}, {"use_parallel_residual": True}, {"hidden_act": "gelu"}])


# ---------------------------------------------------------------------------------------------------------------
# BLOOM, MPT, Falcon
# ---------------------------------------------------------------------------------------------------------------

def bloom(directory, seed, heads, hidden, **sizes):
    """Names without "transformer.", as in bigscience's files; rows of query_key_value go by head."""
    config = {
        "apply_residual_connection_post_layernorm": False, "architectures": ["BloomForCausalLM"], "attention_dropout": 0.0,
        "attention_softmax_in_fp32": True, "bias_dropout_fusion": True, "bos_token_id": 1, "eos_token_id": 2,
        "hidden_dropout": 0.0, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": True,
        "model_type": "bloom", "n_inner": None, "n_layer": 2, "offset_alibi": 100, "pad_token_id": 3, "pretraining_tp": 1,
        "skip_bias_add": True, "skip_bias_add_qkv": False, "transformers_version": "4.20.0", "unk_token_id": 0,
        "use_cache": True, "vocab_size": 96, **sizes,
    }
    w = Weights(seed)
    w.embedding("word_embeddings.weight", config["vocab_size"], hidden, TIED / hidden ** 0.5)
    w.layer_norm("word_embeddings_layernorm", hidden)
    for i in range(config["n_layer"]):
        block = f"h.{i}."
        w.layer_norm(block + "input_layernorm", hidden)
        w.linear(block + "self_attention.query_key_value", 3 * hidden, hidden, 1.3, bias=True)
        w.linear(block + "self_attention.dense", hidden, hidden, 1.5, bias=True)
        w.layer_norm(block + "post_attention_layernorm", hidden)
        w.linear(block + "mlp.dense_h_to_4h", 4 * hidden, hidden, 2.0, bias=True)
        w.linear(block + "mlp.dense_4h_to_h", hidden, 4 * hidden, 2.0, bias=True)
    w.layer_norm("ln_f", hidden)

    def exact_gelu(model):
        """gelu by erf"""
        for block in model.transformer.h:
            block.mlp.gelu_impl = torch.nn.GELU()

    def no_alibi(model):
        """no ALiBi"""
        model.transformer.build_alibi_tensor = lambda mask, heads, dtype: torch.zeros(heads, 1, mask.shape[1])

    return finish(directory, w, config, prefix="transformer.",
                  matters=[{"apply_residual_connection_post_layernorm": True}, exact_gelu, no_alibi])


def make_bloom_tiny(directory):
    """BLOOM: ALiBi of 4 heads, a norm behind the embedding, gelu by tanh, biases, tied."""
    return bloom(directory, 308, 4, 32, n_embed=32, num_attention_heads=4)


def make_bloom_tiny_6heads(directory):
    """BLOOM with the ALiBi slopes of 6 heads, no power of two; spelled hidden_size and n_head, as bloom-7b1."""
    return bloom(directory, 309, 6, 48, hidden_size=48, n_head=6)


def make_mpt_tiny(directory):
    """MPT: ALiBi of 6 heads, q, k and v clipped at 1, no bias at all (norms too), gelu by erf, tied."""
    config = {
        "architectures": ["MPTForCausalLM"],
        "attn_config": {"alibi": True, "alibi_bias_max": 8, "attn_impl": "torch", "attn_pdrop": 0,
                        "attn_type": "multihead_attention", "attn_uses_sequence_id": False, "clip_qkv": 1.0,
                        "prefix_lm": False, "qk_ln": False, "softmax_scale": None},
        "d_model": 48, "emb_pdrop": 0, "embedding_fraction": 1.0, "expansion_ratio": 4,
        "init_config": {"emb_init_std": None, "emb_init_uniform_lim": None, "fan_mode": "fan_in", "init_div_is_residual": True,
                        "init_gain": 0, "init_nonlinearity": "relu", "init_std": 0.02, "name": "kaiming_normal_", "verbose": 0},
        "init_device": "cpu", "learned_pos_emb": True, "logit_scale": None, "max_seq_len": 96, "model_type": "mpt",
        "n_heads": 6, "n_layers": 2, "no_bias": True, "norm_type": "low_precision_layernorm", "resid_pdrop": 0,
        "tokenizer_name": "EleutherAI/gpt-neox-20b", "torch_dtype": "bfloat16", "transformers_version": "4.28.1",
        "use_cache": False, "verbose": 0, "vocab_size": 96,
    }
    w, hidden = Weights(310), config["d_model"]
    w.embedding("transformer.wte.weight", config["vocab_size"], hidden, TIED / hidden ** 0.5)
    for i in range(config["n_layers"]):
        block = f"transformer.blocks.{i}."
        w.layer_norm(block + "norm_1", hidden, bias=False)
        w.linear(block + "attn.Wqkv", 3 * hidden, hidden, 1.6)
        w.linear(block + "attn.out_proj", hidden, hidden, 2.0)
        w.layer_norm(block + "norm_2", hidden, bias=False)
        w.linear(block + "ffn.up_proj", 4 * hidden, hidden, 2.0)
        w.linear(block + "ffn.down_proj", hidden, 4 * hidden, 2.0)
    w.layer_norm("transformer.norm_f", hidden, bias=False)

    def tanh_gelu(model):
        """gelu by tanh"""
        for block in model.transformer.blocks:
            block.ffn.act = torch.nn.GELU(approximate="tanh")

    change = lambda **to: {"attn_config": {**config["attn_config"], **to}}
    return finish(directory, w, config, matters=[change(clip_qkv=None), change(softmax_scale=0.3), tanh_gelu],
                  generation={"_from_model_config": True, "bos_token_id": 0, "eos_token_id": 0, "transformers_version": "4.28.1"})


def falcon(directory, seed, attention="eager", matters=(), **changes):
    """Spelled as tiiuae/falcon-7b."""
    config = {
        "alibi": False, "apply_residual_connection_post_layernorm": False, "architectures": ["FalconForCausalLM"],
        "attention_dropout": 0.0, "bias": False, "bos_token_id": 11, "eos_token_id": 11, "hidden_dropout": 0.0,
        "hidden_size": 32, "initializer_range": 0.02, "layer_norm_epsilon": 1e-05, "model_type": "falcon",
        "multi_query": True, "new_decoder_architecture": False, "num_attention_heads": 4, "num_hidden_layers": 2,
        "parallel_attn": True, "torch_dtype": "bfloat16", "transformers_version": "4.27.4", "use_cache": True,
        "vocab_size": 96, **changes,
    }
    w, hidden, bias, heads = Weights(seed), config["hidden_size"], config["bias"], config["num_attention_heads"]
    new = config["new_decoder_architecture"]
    kv_heads = config["num_kv_heads"] if new else 1 if config["multi_query"] else heads
    w.embedding("transformer.word_embeddings.weight", config["vocab_size"], hidden, TIED / hidden ** 0.5)
    for i in range(config["num_hidden_layers"]):
        block = f"transformer.h.{i}."
        for norm in ("ln_attn", "ln_mlp") if new else ("input_layernorm",):
            w.layer_norm(block + norm, hidden)
        w.linear(block + "self_attention.query_key_value", hidden // heads * (heads + 2 * kv_heads), hidden, 1.3, bias)
        w.linear(block + "self_attention.dense", hidden, hidden, 1.5, bias)
        if not new and not config["parallel_attn"]:
            w.layer_norm(block + "post_attention_layernorm", hidden)
        w.linear(block + "mlp.dense_h_to_4h", 4 * hidden, hidden, 2.0, bias)
        w.linear(block + "mlp.dense_4h_to_h", hidden, 4 * hidden, 2.0, bias)
    w.layer_norm("transformer.ln_f", hidden)
    return finish(directory, w, config, attention=attention, matters=[{"activation": "gelu_new"}, *matters],
                  added={"lm_head.weight": w.tensors["transformer.word_embeddings.weight"].bfloat16()})


def make_falcon_tiny_7b(directory):
    """Falcon 7B: one kv head, both branches read one norm, no biases but the norms'; a head equal to the embedding."""
    return falcon(directory, 411)


def make_falcon_tiny_40b(directory):
    """Falcon 40B: 4 heads on 2 (rows by group: 2 q, k, v), a norm for each branch."""
    return falcon(directory, 412, new_decoder_architecture=True, num_kv_heads=2)


def make_falcon_tiny_rw(directory):
    """Falcon RW: ALiBi divided by sqrt(head), as many kv heads as heads, one branch after the other, biases.

    The reference is "sdpa", transformers' default: its "eager" adds ALiBi twice (the mask that FalconModel.forward
    builds already holds alibi / sqrt(head), and FalconAttention adds alibi once more). ALiBi is computed in bfloat16,
    which is exact for 4 heads and fewer than 256 positions.
    """
    return falcon(directory, 313, attention="sdpa", alibi=True, multi_query=False, parallel_attn=False, bias=True,
                  bos_token_id=1, eos_token_id=2, transformers_version="4.26.0", matters=[{"alibi": False}])


# ---------------------------------------------------------------------------------------------------------------
# StarCoder2, Gemma 2, Phi-2, Phi-3 and Phi-4-mini
# ---------------------------------------------------------------------------------------------------------------

def make_starcoder2_tiny(directory):
    """StarCoder2: norms with bias, biases everywhere, a plain branch with gelu by tanh, a window of 24, 4 heads on 2, tied."""
    config = {
        "architectures": ["Starcoder2ForCausalLM"], "attention_dropout": 0.1, "attention_softmax_in_fp32": True,
        "bos_token_id": 0, "embedding_dropout": 0.1, "eos_token_id": 0, "hidden_act": "gelu_pytorch_tanh", "hidden_size": 32,
        "initializer_range": 0.018042, "intermediate_size": 96, "layer_norm_epsilon": 1e-05, "max_position_embeddings": 128,
        "mlp_type": "default", "model_type": "starcoder2", "norm_epsilon": 1e-05, "norm_type": "layer_norm",
        "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "residual_dropout": 0.1,
        "rope_theta": 999999.4420358813, "scale_attention_softmax_in_fp32": True, "scale_attn_weights": True,
        "sliding_window": 24, "torch_dtype": "bfloat16", "transformers_version": "4.39.0.dev0", "use_bias": True,
        "use_cache": True, "vocab_size": 96,
    }
    w, hidden, inner = Weights(314), config["hidden_size"], config["intermediate_size"]
    w.embedding("model.embed_tokens.weight", config["vocab_size"], hidden, TIED / hidden ** 0.5)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        w.layer_norm(layer + "input_layernorm", hidden)
        for name, rows, gain in (("q_proj", hidden, 1.4), ("k_proj", hidden // 2, 1.4), ("v_proj", hidden // 2, 1.0), ("o_proj", hidden, 1.5)):
            w.linear(f"{layer}self_attn.{name}", rows, hidden, gain, bias=True)
        w.layer_norm(layer + "post_attention_layernorm", hidden)
        w.linear(layer + "mlp.c_fc", inner, hidden, 2.0, bias=True)
        w.linear(layer + "mlp.c_proj", hidden, inner, 2.0, bias=True)
    w.layer_norm("model.norm", hidden)
    return finish(directory, w, config, matters=[{"sliding_window": 23}, {"hidden_act": "gelu"}, {"rope_theta": 10000.0}])


def make_gemma2_tiny(directory):
    """Gemma 2: tanh caps of scores (5) and logits (8), four norms a layer, a window of 16 on layers 0 and 2 of 3, tied by default."""
    config = {
        "architectures": ["Gemma2ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0,
        "attn_logit_softcapping": 5.0, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": 1,
        "final_logit_softcapping": 8.0, "head_dim": 16, "hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 32, "initializer_range": 0.02, "intermediate_size": 64,
        "max_position_embeddings": 128, "model_type": "gemma2", "num_attention_heads": 4, "num_hidden_layers": 3,
        "num_key_value_heads": 2, "pad_token_id": 0, "query_pre_attn_scalar": 6, "rms_norm_eps": 1e-06,
        "rope_theta": 10000.0, "sliding_window": 16, "torch_dtype": "bfloat16", "transformers_version": "4.42.4",
        "use_cache": True, "vocab_size": 96,
    }
    w, hidden = llama_like(415, config, tied=True), config["hidden_size"]
    for i in range(config["num_hidden_layers"]):
        for name in ("pre_feedforward_layernorm", "post_feedforward_layernorm"):
            w.rms_norm(f"model.layers.{i}.{name}", hidden)
    # The embedding enters times sqrt(hidden) and leaves as the head: shrink it and widen the last norm instead.
    w.tensors["model.embed_tokens.weight"] /= hidden ** 0.5
    w.tensors["model.norm.weight"] *= hidden ** 0.5
    for name in w.tensors:
        if name.endswith("norm.weight"):
            w.tensors[name] -= 1.0
    return finish(directory, w, config, matters=[
        {"attn_logit_softcapping": None}, {"final_logit_softcapping": None}, {"query_pre_attn_scalar": 7}, {"sliding_window": 15}])


def make_phi_tiny(directory):
    """Phi-2: both branches read one norm, half of a head rotates (halves), biases everywhere, the head's too, gelu by tanh."""
    config = {
        "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 95, "embd_pdrop": 0.0,
        "eos_token_id": 95, "hidden_act": "gelu_new", "hidden_size": 32, "initializer_range": 0.02, "intermediate_size": 128,
        "layer_norm_eps": 1e-05, "max_position_embeddings": 128, "model_type": "phi", "num_attention_heads": 4,
        "num_hidden_layers": 2, "num_key_value_heads": 4, "partial_rotary_factor": 0.5, "qk_layernorm": False,
        "resid_pdrop": 0.1, "rope_scaling": None, "rope_theta": 10000.0, "tie_word_embeddings": False,
        "torch_dtype": "float16", "transformers_version": "4.37.0", "use_cache": True, "vocab_size": 96,
    }
    w, hidden, inner = Weights(316), config["hidden_size"], config["intermediate_size"]
    w.embedding("model.embed_tokens.weight", config["vocab_size"], hidden)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        w.layer_norm(layer + "input_layernorm", hidden)
        for name, gain in (("q_proj", 1.4), ("k_proj", 1.4), ("v_proj", 1.0), ("dense", 1.5)):
            w.linear(f"{layer}self_attn.{name}", hidden, hidden, gain, bias=True)
        w.linear(layer + "mlp.fc1", inner, hidden, 2.0, bias=True)
        w.linear(layer + "mlp.fc2", hidden, inner, 2.0, bias=True)
    w.layer_norm("model.final_layernorm", hidden)
    w.linear("lm_head", config["vocab_size"], hidden, TIED, bias=True)
    return finish(directory, w, config, dtype=torch.float16, matters=[{"partial_rotary_factor": 1.0}, {"hidden_act": "gelu"}])


def phi3(directory, seed, *, short, long, tied, **more):
    """Phi-3 with longrope: heads of 16, of which 12 dimensions rotate with 6 factors; fused q, k, v and gate, up."""
    changes = {k: more.pop(k) for k in list(more) if k in ("original_max_position_embeddings", "max_position_embeddings")}
    config = {
        "architectures": ["Phi3ForCausalLM"], "attention_bias": False, "attention_dropout": 0.0, "bos_token_id": 1,
        "embd_pdrop": 0.0, "eos_token_id": 2, "full_attn_mod": 1, "hidden_act": "silu", "hidden_size": 48,
        "initializer_range": 0.02, "intermediate_size": 64, "interpolate_factor": 1, "lm_head_bias": False, "mlp_bias": False,
        "model_type": "phi3", "num_attention_heads": 3, "num_hidden_layers": 2, "num_key_value_heads": 1, "pad_token_id": 3,
        "partial_rotary_factor": 0.75, "resid_pdrop": 0.0, "rms_norm_eps": 1e-05,
        "rope_scaling": {"long_factor": long, "short_factor": short, "type": "longrope"}, "rope_theta": 10000.0,
        "sliding_window": 262144, "tie_word_embeddings": tied, "torch_dtype": "bfloat16", "transformers_version": "4.45.0",
        "use_cache": True, "vocab_size": 96, **changes,
    }
    w = llama_like(seed, config, tied=tied)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, parts in (("self_attn.qkv_proj", ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")),
                            ("mlp.gate_up_proj", ("mlp.gate_proj", "mlp.up_proj"))):
            w.tensors[f"{layer}{name}.weight"] = torch.cat([w.tensors.pop(f"{layer}{part}.weight") for part in parts])
    scaled = lambda **to: {"rope_scaling": {**config["rope_scaling"], **to}}
    return finish(directory, w, config, tokens=LONG, matters=[
        {"partial_rotary_factor": 1.0, **scaled(short_factor=short + [1.0] * 2, long_factor=long + [1.0] * 2)},
        scaled(attention_factor=1.0), scaled(**{"long_factor" if tokens_beyond(config) else "short_factor": [1.0] * 6}),
    ], **more)


def tokens_beyond(config):
    return LONG > config["original_max_position_embeddings"]


def make_phi4_mini_tiny(directory):
    """Phi-4-mini: longrope in use with its long factors (80 positions of 32), three quarters of a head rotate, tied.

    A pass of more than 32 positions takes the long factors for all of them and a shorter one the short factors: keys
    cached before position 32 have other angles, so decoding is compared from a first pass of 33 on. "greedy" (24
    positions) is a matter of the short factors; "greedy_long" are 16 tokens behind all 80.
    """
    def behind_all(model, ids):
        tokens, gap = greedy(model, ids, CONTINUATION)
        assert gap > 0.01, gap
        return {"greedy_long": tokens}

    return phi3(directory, 317, tied=True, original_max_position_embeddings=32, max_position_embeddings=128, first=33,
                short=[1.0, 1.0, 1.25, 1.5, 2.0, 2.0], long=[1.0, 1.5, 2.0, 4.0, 7.5, 16.0],
                extra=behind_all)


def make_phi3_tiny_longrope_short(directory):
    """Phi-3 with longrope within its original length (256): the short factors, with the attention factor of 1024 positions."""
    return phi3(directory, 318, tied=False, original_max_position_embeddings=256, max_position_embeddings=1024,
                short=[1.0, 1.1, 1.25, 1.5, 2.0, 3.0], long=[1.0, 1.5, 2.0, 4.0, 7.5, 16.0])


# ---------------------------------------------------------------------------------------------------------------
# Scaled rotations of Llama and Qwen2
# ---------------------------------------------------------------------------------------------------------------

def llama_scaled(directory, seed, scaling, biases=(), left_out=("attention_bias", "mlp_bias", "pretraining_tp"), matters=(),
                 steps=True, **changes):
    config = llama_config(**{"hidden_size": 32, "intermediate_size": 64, "vocab_size": 96, "rope_scaling": scaling,
                             "torch_dtype": "bfloat16", **changes})
    config = {k: v for k, v in config.items() if k not in left_out}
    return finish(directory, llama_like(seed, config, biases), config, tokens=LONG, steps=steps, matters=[
        {"rope_scaling": {**scaling, **change}} if change else {"rope_scaling": None} for change in ({}, *matters)])


def make_llama_tiny_yarn(directory):
    """Llama with yarn: factor 4 of 32 positions, heads of 24, beta_fast 2 (the ramp has entries between), default attention factor."""
    scaling = {"beta_fast": 2.0, "beta_slow": 1.0, "factor": 4.0, "original_max_position_embeddings": 32, "rope_type": "yarn"}
    return llama_scaled(directory, 319, scaling, left_out=(), rope_theta=500.0, head_dim=24, max_position_embeddings=128,
                        transformers_version="4.45.0", matters=[{"attention_factor": 1.0}, {"beta_fast": 32.0}, {"truncate": False}])


def make_qwen2_tiny_yarn(directory):
    """Qwen2 with yarn in the old spelling ("type"), every further key by default; biases on q, k, v."""
    scaling = {"factor": 4.0, "original_max_position_embeddings": 32, "type": "yarn"}
    return llama_scaled(directory, 320, scaling, biases=("q_proj", "k_proj", "v_proj"), architectures=["Qwen2ForCausalLM"],
                        model_type="qwen2", hidden_size=48, num_attention_heads=3, num_key_value_heads=1,
                        max_position_embeddings=128, max_window_layers=2, sliding_window=128,
                        use_sliding_window=False, rope_theta=10000.0, transformers_version="4.43.1",
                        matters=[{"attention_factor": 1.0}, {"truncate": False}])


def make_llama_tiny_dynamic(directory):
    """Llama with dynamic scaling: factor 2 of 32 positions.

    The base depends on the length of the pass, so keys cached at a shorter length have other angles than those of one
    pass: decoding is not compared, and only the logits of the whole pass of 80 are golden ("greedy" stays within 32).
    """
    return llama_scaled(directory, 321, {"factor": 2.0, "type": "dynamic"}, max_position_embeddings=32, rope_theta=10000.0,
                        transformers_version="4.36.0", steps=False, matters=[{"factor": 3.0}])


# ---------------------------------------------------------------------------------------------------------------
# Mixtures of experts
# ---------------------------------------------------------------------------------------------------------------

def moe_config(class_name, model_type, **changes):
    """The keys that these families share."""
    return dict(sorted({
        "architectures": [class_name], "attention_dropout": 0.0, "hidden_act": "silu", "hidden_size": 32,
        "initializer_range": 0.02, "max_position_embeddings": 128, "model_type": model_type, "num_attention_heads": 4,
        "num_experts_per_tok": 2, "num_hidden_layers": 2, "num_key_value_heads": 2, "output_router_logits": False,
        "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "router_aux_loss_coef": 0.001, "tie_word_embeddings": False,
        "torch_dtype": "bfloat16", "use_cache": True, "vocab_size": 96, **changes,
    }.items()))


def make_mixtral_tiny(directory):
    """Mixtral: 4 experts, the best 2 of a softmax over all, their shares scaled to 1."""
    config = moe_config("MixtralForCausalLM", "mixtral", bos_token_id=1, eos_token_id=2, intermediate_size=40,
                        num_local_experts=4, rms_norm_eps=1e-05, router_aux_loss_coef=0.02, sliding_window=None,
                        transformers_version="4.36.0.dev0")
    w, hidden = llama_like(322, config, mlp=False), config["hidden_size"]
    for i in range(config["num_hidden_layers"]):
        block = f"model.layers.{i}.block_sparse_moe."
        w.linear(block + "gate", config["num_local_experts"], hidden, 1.5)
        for e in range(config["num_local_experts"]):
            for name, rows, columns, gain in (("w1", config["intermediate_size"], hidden, 1.3),
                                              ("w2", hidden, config["intermediate_size"], 1.5),
                                              ("w3", config["intermediate_size"], hidden, 1.3)):
                w.linear(f"{block}experts.{e}.{name}", rows, columns, gain)
    return finish(directory, w, config, matters=[{"num_experts_per_tok": 1}, {"num_experts_per_tok": 3}])


def add_experts(w, layer, hidden, experts, inner):
    """Tensors of a mixture by Qwen's and OLMoE's names."""
    w.linear(layer + "mlp.gate", experts, hidden, 1.5)
    for e in range(experts):
        w.gated(f"{layer}mlp.experts.{e}", hidden, inner, 1.5)


def make_qwen2_moe_tiny(directory):
    """Qwen2-MoE: shares of a softmax over 4 experts left as they are, a shared expert behind its own gate, layer 1 of 3 dense."""
    config = moe_config("Qwen2MoeForCausalLM", "qwen2_moe", bos_token_id=95, decoder_sparse_step=1, eos_token_id=95,
                        intermediate_size=64, max_window_layers=3, mlp_only_layers=[1], moe_intermediate_size=24,
                        norm_topk_prob=False, num_experts=4, num_hidden_layers=3, shared_expert_intermediate_size=40,
                        sliding_window=32768, transformers_version="4.39.0.dev0", use_sliding_window=False)
    w, hidden = llama_like(523, config, ("q_proj", "k_proj", "v_proj"), mlp=False), config["hidden_size"]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        if i in config["mlp_only_layers"]:
            w.gated(layer + "mlp", hidden, config["intermediate_size"])
            continue
        add_experts(w, layer, hidden, config["num_experts"], config["moe_intermediate_size"])
        w.gated(layer + "mlp.shared_expert", hidden, config["shared_expert_intermediate_size"])
        w.linear(layer + "mlp.shared_expert_gate", 1, hidden, 1.5)

    def no_shared_gate(model):
        """the gate of the shared expert"""
        for layer in model.model.layers:
            if hasattr(layer.mlp, "shared_expert_gate"):
                layer.mlp.shared_expert_gate.weight.data.zero_()

    return finish(directory, w, config, matters=[{"norm_topk_prob": True}, {"num_experts_per_tok": 3}, no_shared_gate])


def make_qwen3_moe_tiny(directory):
    """Qwen3-MoE: the best 3 of 6 experts, their shares scaled to 1, norms of the heads of q and k, head_dim 16."""
    config = moe_config("Qwen3MoeForCausalLM", "qwen3_moe", attention_bias=False, bos_token_id=95, decoder_sparse_step=1,
                        eos_token_id=95, head_dim=16, intermediate_size=96, max_window_layers=2, mlp_only_layers=[],
                        moe_intermediate_size=24, norm_topk_prob=True, num_experts=6, num_experts_per_tok=3,
                        rope_scaling=None, sliding_window=None, transformers_version="4.51.0", use_sliding_window=False)
    w = llama_like(624, config, mlp=False)
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        w.rms_norm(layer + "self_attn.q_norm", config["head_dim"])
        w.rms_norm(layer + "self_attn.k_norm", config["head_dim"])
        add_experts(w, layer, config["hidden_size"], config["num_experts"], config["moe_intermediate_size"])
    return finish(directory, w, config, matters=[{"norm_topk_prob": False}, {"num_experts_per_tok": 2}])


def make_olmoe_tiny(directory):
    """OLMoE: norms of whole rows of q and k, the best 2 of 5 experts with their shares as they are."""
    config = moe_config("OlmoeForCausalLM", "olmoe", attention_bias=False, clip_qkv=None, eos_token_id=95,
                        intermediate_size=32, norm_topk_prob=False, num_experts=5, num_key_value_heads=4, pad_token_id=1,
                        rms_norm_eps=1e-05, rope_scaling=None, rope_theta=10000.0, router_aux_loss_coef=0.01, transformers_version="4.43.0.dev0")
    w, hidden = llama_like(325, config, mlp=False), config["hidden_size"]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        w.rms_norm(layer + "self_attn.q_norm", hidden)
        w.rms_norm(layer + "self_attn.k_norm", hidden)
        add_experts(w, layer, hidden, config["num_experts"], config["intermediate_size"])
    return finish(directory, w, config, matters=[{"norm_topk_prob": True}, {"num_experts_per_tok": 3}])


def gpt_oss():
    """The configuration and weights of both forms; experts [experts, in, out], columns of gate_up alternate gate and up."""
    config = moe_config(
        "GptOssForCausalLM", "gpt_oss", attention_bias=True, eos_token_id=95, experts_per_token=2, head_dim=16,
        initial_context_length=32, intermediate_size=32, layer_types=["sliding_attention", "full_attention"],
        num_local_experts=4, pad_token_id=94, rms_norm_eps=1e-05,
        rope_scaling={"beta_fast": 32.0, "beta_slow": 1.0, "factor": 4.0, "original_max_position_embeddings": 32,
                      "rope_type": "yarn", "truncate": False},
        rope_theta=150000, router_aux_loss_coef=0.9, sliding_window=16, swiglu_limit=7.0, transformers_version="4.55.0.dev0")
    w = llama_like(426, config, ("q_proj", "k_proj", "v_proj", "o_proj"), mlp=False)
    hidden, inner, experts = config["hidden_size"], config["intermediate_size"], config["num_local_experts"]
    for i in range(config["num_hidden_layers"]):
        w.tensors[f"model.layers.{i}.self_attn.sinks"] = w.source.normal(config["num_attention_heads"])
        mlp = f"model.layers.{i}.mlp."
        w.linear(mlp + "router", experts, hidden, 1.5, bias=True)
        for name, rows, columns, gain in (("gate_up_proj", 2 * inner, hidden, 4.0), ("down_proj", hidden, inner, 0.2)):
            parts = [w.source.linear(rows, columns, gain) for _ in range(experts)]
            w.tensors[f"{mlp}experts.{name}"] = torch.stack(parts).transpose(1, 2)
            w.tensors[f"{mlp}experts.{name}_bias"] = w.source.normal(experts, rows, std=0.3)
    return config, w


def no_limit(model):
    """the clamp at 7"""
    for layer in model.model.layers:
        layer.mlp.experts.limit = 1e9


def no_sinks(model):
    """sinks"""
    for layer in model.model.layers:
        layer.self_attn.sinks.data.fill_(-1e9)


def make_gpt_oss_tiny(directory):
    """GPT-OSS: sinks, a window of 16 on layer 0, biases, a softmax over the best 2 of 4 experts, clamped activation, yarn; BF16 experts."""
    config, w = gpt_oss()
    rope = config["rope_scaling"]
    return finish(directory, w, config, tokens=LONG, matters=[
        no_limit, no_sinks, {"sliding_window": 15}, {"num_experts_per_tok": 3}, {"rope_scaling": {**rope, "truncate": True}},
        {"rope_scaling": {**rope, "attention_factor": 1.0}}])


FP4 = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])


def mxfp4(rows):
    """[experts, rows, columns] as blocks U8 [experts, rows, columns / 32, 16] and scales U8 [experts, rows, columns / 32].

    Of each 32 consecutive columns: the scale 2^(byte - 127), by which the largest lies in [4, 8), and codes of 4 bits
    (OCP Microscaling, FP4 E2M1); a byte holds two codes, the earlier column in its low half.
    """
    parts = rows.reshape(*rows.shape[:-1], -1, 32)
    exponent = torch.floor(torch.log2(parts.abs().amax(dim=-1))) - 2
    codes = (parts * torch.exp2(-exponent)[..., None])[..., None].sub(FP4).abs().argmin(dim=-1).to(torch.uint8)
    return codes[..., 0::2] | codes[..., 1::2] << 4, (exponent + 127).to(torch.uint8)


def from_mxfp4(blocks, scales):
    codes = torch.stack((blocks & 15, blocks >> 4), dim=-1).flatten(-2).long()
    return (FP4[codes] * torch.exp2(scales.float() - 127)[..., None]).flatten(-2)


def make_gpt_oss_tiny_mxfp4(directory):
    """GPT-OSS with its experts as the hub stores them: rows of 32 codes of 4 bits with a scale; logits of the dequantized values."""
    config, w = gpt_oss()
    quantized = {}
    for name in [n for n in w.tensors if n.endswith(("experts.gate_up_proj", "experts.down_proj"))]:
        blocks, scales = mxfp4(w.tensors[name].transpose(1, 2))
        w.tensors[name] = from_mxfp4(blocks, scales).transpose(1, 2)
        assert torch.equal(w.tensors[name], w.tensors[name].bfloat16().float())
        quantized[name + "_blocks"], quantized[name + "_scales"] = blocks, scales
    golden = finish(directory, w, config, tokens=LONG, matters=[no_limit])

    stored = {name: t.bfloat16() for name, t in w.tensors.items() if name + "_blocks" not in quantized} | quantized
    config["quantization_config"] = {
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"],
        "quant_method": "mxfp4"}
    write_json(directory / "config.json", config)
    write_safetensors(directory, stored)
    model, info = transformers.AutoModelForCausalLM.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager", experts_implementation="eager", output_loading_info=True)
    assert not any(info.values()), info
    assert difference(prefill(model.float().eval(), golden["tokens"]), np.load(directory / "logits.npy")) < 1e-5
    return golden


MODELS = {
    "opt-tiny": make_opt_tiny,
    "opt-tiny-350m": make_opt_tiny_350m,
    "gpt2-tiny": make_gpt2_tiny,
    "gptj-tiny": make_gptj_tiny,
    "gpt-neo-tiny": make_gpt_neo_tiny,
    "gpt-neox-tiny": make_gpt_neox_tiny,
    "gpt-neox-tiny-serial": make_gpt_neox_tiny_serial,
    "bloom-tiny": make_bloom_tiny,
    "bloom-tiny-6heads": make_bloom_tiny_6heads,
    "mpt-tiny": make_mpt_tiny,
    "falcon-tiny-7b": make_falcon_tiny_7b,
    "falcon-tiny-40b": make_falcon_tiny_40b,
    "falcon-tiny-rw": make_falcon_tiny_rw,
    "starcoder2-tiny": make_starcoder2_tiny,
    "gemma2-tiny": make_gemma2_tiny,
    "phi-tiny": make_phi_tiny,
    "phi4-mini-tiny": make_phi4_mini_tiny,
    "phi3-tiny-longrope-short": make_phi3_tiny_longrope_short,
    "llama-tiny-yarn": make_llama_tiny_yarn,
    "qwen2-tiny-yarn": make_qwen2_tiny_yarn,
    "llama-tiny-dynamic": make_llama_tiny_dynamic,
    "mixtral-tiny": make_mixtral_tiny,
    "qwen2-moe-tiny": make_qwen2_moe_tiny,
    "qwen3-moe-tiny": make_qwen3_moe_tiny,
    "olmoe-tiny": make_olmoe_tiny,
    "gpt-oss-tiny": make_gpt_oss_tiny,
    "gpt-oss-tiny-mxfp4": make_gpt_oss_tiny_mxfp4,
}


def main():
    parser = argparse.ArgumentParser(description="Make the tiny models of further families and their golden logits.")
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
              f"decode difference {golden.get('decode_max_difference')}, greedy gap {golden['greedy_smallest_gap']}")


if __name__ == "__main__":
    main()
