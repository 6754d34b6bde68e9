#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make GGUF files of the families in tests/golden/models, each beside its golden logits: gguf/NAME.gguf.

Names of tensors and keys are those of the `gguf` package and of llama.cpp's converter (convert_hf_to_gguf.py, whose
classes lie in conversion/*.py; each convention below names its file there). Matrices have the type of the directory
(BF16 or F16), so the values are the same; the tensors that the converter keeps in F32 are F32. Without tokenizers.

The golden files are copies of the directory's, but where an architecture cannot say what the directory's
configuration says: there transformers computes them anew, under the configuration that the file stands for.

usage: make_gguf_families.py [--models DIR] [name ...]
Made with Python 3.11, gguf 0.19.0, torch 2.14.0, transformers 5.17.0, safetensors 0.8.0, numpy 2.4.6.
"""
import argparse
import json
import math
import shutil
import tempfile
from pathlib import Path

import gguf
import gguf.quants
import make_families
import numpy as np
import torch
import transformers
from make_models import write_golden, write_json, write_safetensors
from safetensors.torch import load_file

ARCH = gguf.MODEL_ARCH


# ---------------------------------------------------------------------------------------------------------------
# Orders of rows
# ---------------------------------------------------------------------------------------------------------------

def permuted(rows, heads):
    """Halves of a rotary head as adjacent pairs."""
    return rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def regrouped(rows, groups, *counts):
    """Rows of `groups` groups, each of counts[0] heads of q, then of k, then of v, as all q, all k, all v."""
    heads = rows.reshape(groups, sum(counts), -1, *rows.shape[1:])
    parts = np.split(heads, np.cumsum(counts)[:-1], axis=1)
    return np.concatenate([part.reshape(-1, *rows.shape[1:]) for part in parts])


# ---------------------------------------------------------------------------------------------------------------
# Tensors: each function takes the directory's, by name, as numpy arrays, and returns those of the file
# ---------------------------------------------------------------------------------------------------------------

def as_they_are(tensors, config):
    return tensors


def llama_pairs(tensors, config):
    """LlamaModel.permute in conversion/llama.py: q and k in "llama", "smollm3" and "granite" rotate adjacent pairs."""
    heads = {".q_proj.": config["num_attention_heads"], ".k_proj.": config["num_key_value_heads"]}
    return {name: next((permuted(t, n) for part, n in heads.items() if part in name), t) for name, t in tensors.items()}


def one_added(tensors, config):
    """conversion/gemma.py, modify_tensors: norms hold their whole factor."""
    return {name: t + 1 if name.endswith("norm.weight") else t for name, t in tensors.items()}


def gpt2_tensors(tensors, config):
    """conversion/gpt2.py: no mask buffers; Conv1D's [in, out] becomes [out, in]."""
    transposed = (".c_attn.weight", ".c_proj.weight", ".c_fc.weight")
    return {name: t.T if name.endswith(transposed) else t for name, t in tensors.items() if not name.endswith(".attn.bias")}


def by_head_regrouped(tensors, config):
    """conversion/bloom.py and gptneox.py: [q, k, v] of each head become q of all heads, k of all, v of all."""
    heads = config.get("n_head") or config["num_attention_heads"]
    buffers = (".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq")          # conversion/base.py
    return {name: regrouped(t, heads, 1, 1, 1) if ".query_key_value." in name else t
            for name, t in tensors.items() if not name.endswith(buffers)}


def falcon_tensors(tensors, config):
    """conversion/falcon.py: [q .., k, v] of each kv head become all q, all k, all v."""
    kv_heads = config.get("num_kv_heads") or 1
    return {name: regrouped(t, kv_heads, config["num_attention_heads"] // kv_heads, 1, 1) if ".query_key_value." in name else t
            for name, t in tensors.items()}


def phi3_tensors(tensors, config):
    """conversion/phi.py, Phi3MiniModel: fused tensors stay; the factors of longrope are tensors."""
    scaling = config["rope_scaling"] or {}
    factors = {f"rope_factors_{part}.weight": np.float32(scaling[f"{part}_factor"]) for part in ("long", "short") if scaling}
    return {**factors, **tensors}


def stacked(tensors, config):
    """conversion/qwen.py, olmo.py and llama.py: the matrices of all experts become one [experts, out, in]."""
    count = config.get("num_experts") or config["num_local_experts"]
    result = {name: t for name, t in tensors.items() if ".experts." not in name}
    for name in tensors:
        if ".experts.0." in name:
            merged = name.replace(".experts.0.", ".experts.")
            if "block_sparse_moe" in name:                       # the name that the package's map has, in llama.py
                merged = merged.replace("model.layers", "layers").replace("block_sparse_moe", "feed_forward")
            result[merged] = np.stack([tensors[name.replace(".experts.0.", f".experts.{e}.")] for e in range(count)])
    return result


def gpt_oss_tensors(tensors, config):
    """conversion/gpt_oss.py: gate and up are the even and odd columns (rows of the blocks); matrices become [experts, out, in]."""
    result = {}
    for name, t in tensors.items():
        base, _, last = name.rpartition(".")
        if name.endswith("sinks"):
            result[name + ".weight"] = t
        elif ".experts." not in name:
            result[name] = t
        elif last.endswith("_scales"):
            continue
        else:
            kind = "bias" if last.endswith("_bias") else "weight"
            if last.endswith("_blocks"):
                t = mxfp4_blocks(t, tensors[name.replace("_blocks", "_scales")])
            elif kind == "weight":
                t = t.swapaxes(1, 2)
            if last.startswith("gate_up_proj"):
                result[f"{base}.gate_proj.{kind}"], result[f"{base}.up_proj.{kind}"] = t[:, 0::2], t[:, 1::2]
            else:
                result[f"{base}.down_proj.{kind}"] = t
    return result


def mxfp4_blocks(blocks, scales):
    """repack_mxfp4_blocks in conversion/base.py: 17 bytes for 32 columns, the scale, then columns j and j + 16 in a byte."""
    codes = np.stack((blocks & 15, blocks >> 4), axis=-1).reshape(*blocks.shape[:-1], 32)
    halves = codes[..., :16] | codes[..., 16:] << 4
    return np.concatenate((scales[..., None], halves), axis=-1).reshape(*scales.shape[:-1], -1)


# ---------------------------------------------------------------------------------------------------------------
# Keys
# ---------------------------------------------------------------------------------------------------------------

def first_keys(writer, config, architecture):
    """The keys of qwen2, qwen3, smollm3 and granite."""
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    head = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    writer.add_key_length(head)
    writer.add_value_length(head)
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_file_type(0)
    if architecture == ARCH.GRANITE:
        writer.add_attention_scale(config["attention_multiplier"])
        writer.add_embedding_scale(config["embedding_multiplier"])
        writer.add_residual_scale(config["residual_multiplier"])
        writer.add_logit_scale(config["logits_scaling"])


def sizes(writer, config, names=("hidden_size", "num_hidden_layers", "num_attention_heads"), inner=None, context=None):
    """The keys that every class of the converter writes."""
    hidden, layers, heads = (config[name] for name in names)
    writer.add_context_length(context or config["max_position_embeddings"])
    writer.add_embedding_length(hidden)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(inner or 4 * hidden)
    writer.add_head_count(heads)


def text_model_keys(writer, config, architecture):
    """TextModel.set_gguf_parameters in conversion/base.py, for the keys that these configurations have."""
    sizes(writer, config, inner=config["intermediate_size"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("rope_type") or scaling.get("type")
    if kind == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(scaling["factor"])
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
        writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])
        writer.add_rope_scaling_yarn_beta_slow(scaling["beta_slow"])
    writer.add_rope_freq_base(config["rope_theta"])
    if "rms_norm_eps" in config:
        writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    else:
        writer.add_layer_norm_eps(config["norm_epsilon"])
    experts = config.get("num_local_experts") or config.get("num_experts")
    if experts:
        writer.add_expert_count(experts)
        writer.add_expert_used_count(config["num_experts_per_tok"])
    if config.get("head_dim"):
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])


def llama_keys(writer, config, architecture):
    """LlamaModel in conversion/llama.py."""
    text_model_keys(writer, config, architecture)
    writer.add_vocab_size(config["vocab_size"])
    writer.add_rope_dimension_count(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def moe_keys(writer, config, architecture):
    """Qwen2MoeModel in conversion/qwen.py."""
    text_model_keys(writer, config, architecture)
    writer.add_expert_feed_forward_length(config["moe_intermediate_size"])
    if "shared_expert_intermediate_size" in config:
        writer.add_expert_shared_feed_forward_length(config["shared_expert_intermediate_size"])


def gpt_oss_keys(writer, config, architecture):
    """GptOssModel in conversion/gpt_oss.py. No key says `truncate`: it is false in this architecture."""
    text_model_keys(writer, config, architecture)
    writer.add_sliding_window(config["sliding_window"])
    writer.add_expert_feed_forward_length(config["intermediate_size"])


def gemma_keys(writer, config, architecture):
    """GemmaModel, Gemma2Model and Gemma3Model in conversion/gemma.py; the base 10000 is left out."""
    sizes(writer, config, inner=config["intermediate_size"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_key_length(config["head_dim"])
    writer.add_value_length(config["head_dim"])
    if architecture == ARCH.GEMMA2:
        writer.add_attn_logit_softcapping(config["attn_logit_softcapping"])
        writer.add_final_logit_softcapping(config["final_logit_softcapping"])
        writer.add_sliding_window(config["sliding_window"])
    if architecture == ARCH.GEMMA3:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(config["rope_scaling"]["factor"])
        writer.add_rope_freq_base(config["rope_theta"])
        writer.add_rope_freq_base_swa(config["rope_local_base_freq"])
        writer.add_sliding_window(config["sliding_window"])
        # Not by the converter, whose models have llama.cpp's default of 6; llama.cpp reads it (load_swa_pattern).
        writer.add_sliding_window_pattern(config["sliding_window_pattern"])


def phi3_keys(writer, config, architecture):
    """Phi3MiniModel in conversion/phi.py."""
    original, longest = config["original_max_position_embeddings"], config["max_position_embeddings"]
    sizes(writer, config, inner=config["intermediate_size"])
    writer.add_rope_scaling_orig_ctx_len(original)
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(int(config["partial_rotary_factor"] * config["hidden_size"]) // config["num_attention_heads"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_sliding_window(config["sliding_window"] or 0)
    if config["rope_scaling"]:
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(longest / original) / math.log(original)))


def gpt2_keys(writer, config, architecture):
    """GPT2Model in conversion/gpt2.py."""
    sizes(writer, config, ("n_embd", "n_layer", "n_head"), context=config["n_ctx"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


def gptneox_keys(writer, config, architecture):
    """GPTNeoXModel in conversion/gptneox.py: the base is 10000."""
    sizes(writer, config, inner=config["intermediate_size"])
    writer.add_rope_dimension_count(int(config["rotary_pct"] * (config["hidden_size"] // config["num_attention_heads"])))
    writer.add_parallel_residual(config["use_parallel_residual"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])


def phi2_keys(writer, config, architecture):
    """Phi2Model in conversion/phi.py: the base is 10000."""
    sizes(writer, config)
    writer.add_head_count_kv(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_rope_dimension_count(int(config["partial_rotary_factor"] * config["hidden_size"]) // config["num_attention_heads"])


def bloom_keys(writer, config, architecture):
    """BloomModel in conversion/bloom.py; without seq_length the context length is n_embed there, and no limit."""
    sizes(writer, config, ("n_embed", "n_layer", "num_attention_heads"), context=config["n_embed"])
    writer.add_head_count_kv(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


def mpt_keys(writer, config, architecture):
    """MPTModel in conversion/mpt.py."""
    attention = config["attn_config"]
    sizes(writer, config, ("d_model", "n_layers", "n_heads"), context=config["max_seq_len"])
    writer.add_layer_norm_eps(1e-5)
    writer.add_clamp_kqv(attention["clip_qkv"])
    writer.add_max_alibi_bias(attention["alibi_bias_max"])


def falcon_keys(writer, config, architecture):
    """FalconModel in conversion/falcon.py: always 2048 positions, the base is 10000."""
    sizes(writer, config, context=2048)
    writer.add_tensor_data_layout("jploski")
    writer.add_head_count_kv(config.get("num_kv_heads") or 1)
    writer.add_layer_norm_eps(config["layer_norm_epsilon"])


# ---------------------------------------------------------------------------------------------------------------
# The files
# ---------------------------------------------------------------------------------------------------------------

class File:
    """`changes`: what the file's configuration has otherwise than the directory's; `layers`: those that it keeps."""

    def __init__(self, directory, architecture, keys, *tensors, changes=None, layers=None):
        self.directory, self.architecture, self.keys, self.tensors = directory, architecture, keys, tensors
        self.changes, self.layers = changes or {}, layers

    def load(self, models):
        """The configuration and tensors that the file stands for."""
        directory = models / self.directory
        config = {**json.loads((directory / "config.json").read_text()), **self.changes}
        tensors = load_file(directory / "model.safetensors")
        if self.layers:
            config["num_hidden_layers"] = len(self.layers)
            kept = {}
            for name, tensor in tensors.items():
                layer = next((i for i in range(9) if name.startswith(f"model.layers.{i}.")), None)
                if layer is None or layer in self.layers:
                    kept[name if layer is None else name.replace(f".{layer}.", f".{self.layers.index(layer)}.", 1)] = tensor
            tensors = kept
        return config, tensors

    def write(self, models, path):
        config, tensors = self.load(models)
        half = next(t.dtype for t in tensors.values() if t.dtype in (torch.bfloat16, torch.float16))
        kind = {torch.bfloat16: gguf.GGMLQuantizationType.BF16, torch.float16: gguf.GGMLQuantizationType.F16}[half]
        values = {name: t.numpy() if t.dtype == torch.uint8 else t.float().numpy() for name, t in tensors.items()}
        for change in self.tensors or (as_they_are,):
            values = change(values, config)
        writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[self.architecture])
        self.keys(writer, config, self.architecture)
        if self.keys is not first_keys:
            mixed = any(t.dtype == np.uint8 for t in values.values())
            writer.add_file_type(gguf.LlamaFileType.MOSTLY_MXFP4_MOE if mixed else gguf.LlamaFileType[f"MOSTLY_{kind.name}"])
        names = gguf.get_tensor_name_map(self.architecture, config.get("num_hidden_layers") or config.get("n_layer") or config["n_layers"])
        for name, array in values.items():
            written = name if name.startswith("rope_factors") else names.get_name(name, (".weight", ".bias"))
            array, stored = np.ascontiguousarray(array), None
            if array.dtype == np.uint8:
                stored = gguf.GGMLQuantizationType.MXFP4
            elif array.ndim > 1 and not always_f32(written):
                stored = kind
                array = gguf.quants.quantize(array, kind)
            writer.add_tensor(written, array, raw_dtype=stored)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()

    def golden(self, models, path):
        directory = models / self.directory
        if not (self.changes or self.layers):
            shutil.copy(directory / "golden.json", path.with_suffix(".golden.json"))
            shutil.copy(directory / "logits.npy", path.with_suffix(".logits.npy"))
            return
        config, tensors = self.load(models)
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            write_json(folder / "config.json", config)
            write_safetensors(folder, tensors)
            model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
            if any(".experts." in name for name in tensors):
                model.set_experts_implementation("eager")
            logits, golden = make_families.reference(model, json.loads((directory / "golden.json").read_text())["tokens"])
            write_golden(folder, logits, golden)
            shutil.copy(folder / "golden.json", path.with_suffix(".golden.json"))
            shutil.copy(folder / "logits.npy", path.with_suffix(".logits.npy"))


def always_f32(name):
    """prepare_tensors in conversion/base.py: norms, routers, learned positions and everything that is no ".weight"."""
    parts = ("ffn_gate_inp", "ffn_gate_inp_shexp", "position_embd")
    return name.endswith("_norm.weight") or not name.endswith(".weight") or name.split(".")[-2] in parts


FILES = {
    "qwen2": File("qwen2-tiny", ARCH.QWEN2, first_keys),
    "qwen3": File("qwen3-tiny", ARCH.QWEN3, first_keys),
    "smollm3": File("smollm3-tiny", ARCH.SMOLLM3, first_keys, llama_pairs),
    "granite": File("granite-tiny", ARCH.GRANITE, first_keys, llama_pairs),
    "gemma": File("gemma-tiny", ARCH.GEMMA, gemma_keys, one_added),
    # No key holds query_pre_attn_scalar: scores are divided by the root of the head's size (src/models/gemma2.cpp, gemma3.cpp).
    "gemma2": File("gemma2-tiny", ARCH.GEMMA2, gemma_keys, one_added, changes={"query_pre_attn_scalar": 16}),
    "gemma3": File("gemma3-tiny", ARCH.GEMMA3, gemma_keys, one_added, changes={"query_pre_attn_scalar": 32}),
    "phi2": File("phi-tiny", ARCH.PHI2, phi2_keys),
    "phi3": File("phi3-tiny", ARCH.PHI3, phi3_keys, phi3_tensors),
    "phi4-mini": File("phi4-mini-tiny", ARCH.PHI3, phi3_keys, phi3_tensors),
    # conversion/starcoder.py writes no window.
    "starcoder2": File("starcoder2-tiny", ARCH.STARCODER2, text_model_keys, changes={"sliding_window": None}),
    "olmo2": File("olmo2-tiny", ARCH.OLMO2, text_model_keys),
    "gpt2": File("gpt2-tiny", ARCH.GPT2, gpt2_keys, gpt2_tensors),
    "gptneox": File("gpt-neox-tiny", ARCH.GPTNEOX, gptneox_keys, by_head_regrouped),
    "bloom": File("bloom-tiny", ARCH.BLOOM, bloom_keys, by_head_regrouped),
    "mpt": File("mpt-tiny", ARCH.MPT, mpt_keys),
    "falcon": File("falcon-tiny-7b", ARCH.FALCON, falcon_keys, falcon_tensors),
    "falcon-40b": File("falcon-tiny-40b", ARCH.FALCON, falcon_keys, falcon_tensors),
    "llama-yarn": File("llama-tiny-yarn", ARCH.LLAMA, llama_keys, llama_pairs),
    "mixtral": File("mixtral-tiny", ARCH.LLAMA, llama_keys, llama_pairs, stacked),
    # Dense layers have no form: layers 0 and 2.
    "qwen2moe": File("qwen2-moe-tiny", ARCH.QWEN2MOE, moe_keys, stacked, changes={"mlp_only_layers": []}, layers=[0, 2]),
    "qwen3moe": File("qwen3-moe-tiny", ARCH.QWEN3MOE, moe_keys, stacked),
    "olmoe": File("olmoe-tiny", ARCH.OLMOE, text_model_keys, stacked),
    "gpt-oss": File("gpt-oss-tiny", ARCH.GPT_OSS, gpt_oss_keys, gpt_oss_tensors),
    "gpt-oss-mxfp4": File("gpt-oss-tiny-mxfp4", ARCH.GPT_OSS, gpt_oss_keys, gpt_oss_tensors),
}


def main():
    parser = argparse.ArgumentParser(description="Make tiny GGUF files of the families.")
    parser.add_argument("names", nargs="*", help="files to make (default: all): " + " ".join(FILES))
    parser.add_argument("--models", type=Path, default=Path(__file__).parent / "models")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for name in arguments.names or FILES:
        path = arguments.models / "gguf" / f"{name}.gguf"
        FILES[name].write(arguments.models, path)
        FILES[name].golden(arguments.models, path)
        for file in (path, path.with_suffix(".golden.json"), path.with_suffix(".logits.npy")):
            file.chmod(0o644)
        print(f"{path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
