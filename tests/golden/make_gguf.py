#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the tiny GGUF files of tests/golden/models/gguf and their golden logits.

All are of the "llama" architecture, written with the `gguf` package, q and k rows permuted as llama.cpp's converter
does. The golden logits are those of transformers' LlamaForCausalLM in float32 on the weights that
gguf.quants.dequantize reads back from the file. Beside NAME.gguf:

  NAME.golden.json   tokens, greedy continuation, the model's shape, and for every tensor its type, shape, first values and sums
  NAME.logits.npy    float32 [T, vocabulary]

Q4_K to Q6_K are packed here, since the package has no quantizer for them. Other types that it does not quantize are blocks
of random codes and scales (any valid blocks do: the reference is what they decode to).

usage: make_gguf.py [--out DIR] [name ...]
Made with Python 3.11, gguf 0.19.0, torch 2.14.0, transformers 5.17.0, tokenizers 0.23.3, numpy 2.4.6.
"""
import argparse
import os
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import gguf
import numpy as np
import torch
import transformers
from gguf.quants import dequantize, quantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

import make_models
from make_models import Source, llama_config, llama_weights

Type = gguf.GGMLQuantizationType
TOKENS = 40


# ---------------------------------------------------------------------------------------------------------------
# A byte-level tokenizer of 288 tokens: 4 control, 256 bytes, 28 merges
# ---------------------------------------------------------------------------------------------------------------

CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|reserved|>"]
MERGES = ["h e", "Ġ t", "Ġt he", "i n", "Ġ a", "e r", "o n", "r e", "a n", "Ġa n", "Ġan d", "Ġ w", "Ġ s", "o u", "n d", "in g",
          "i s", "a t", "e n", "Ġ o", "Ġo f", "t o", "l l", "Ġ Ġ", "ĠĠ ĠĠ", "Ċ Ċ", "1 2", "Ã ©"]
CHAT_TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}"
                 "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
TEXTS = ["", "the answer is 42", "  two  spaces    four", "\n\nline\n\n\nline\n", "caf\u00e9 \u00bd \u4e16\u754c \U0001f600", "x = 1212 ; y =    12",
         "<|im_start|>user\nhe said: \"then\"<|im_end|>\n", "it's the anderson's and we'll", "\t\tinning\r\nthe end  ", "<|endoftext|>the<|endoftext|"]


def byte_alphabet():
    """GPT-2's printable character for every byte, in byte order."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = [], 256
    for byte in range(256):
        if byte in plain:
            table.append(chr(byte))
        else:
            table.append(chr(extra))
            extra += 1
    return table


VOCABULARY = CONTROL + byte_alphabet() + [m.replace(" ", "") for m in MERGES]
assert len(VOCABULARY) == len(set(VOCABULARY)) == 288


def tokenizer():
    """What `tokenizer.ggml.pre` = "smollm" means, in Hugging Face's terms."""
    made = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(VOCABULARY)}, merges=[tuple(m.split(" ")) for m in MERGES]))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False)])
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(CONTROL)
    return made


# ---------------------------------------------------------------------------------------------------------------
# Packing k-quants
# ---------------------------------------------------------------------------------------------------------------

def half_bytes(values):
    return values.astype("<f2").view(np.uint8).reshape(len(values), 2)


def pack_six_bit_pairs(scales, minimums):
    """8 scales and 8 minimums of 6 bits each in 12 bytes."""
    out = np.zeros((len(scales), 12), np.uint8)
    out[:, 0:4] = scales[:, :4] | (scales[:, 4:] >> 4) << 6
    out[:, 4:8] = minimums[:, :4] | (minimums[:, 4:] >> 4) << 6
    out[:, 8:12] = (scales[:, 4:] & 15) | (minimums[:, 4:] & 15) << 4
    return out


def pack_q4_or_q5_k(weights, bits):
    """Blocks of 256 as 8 groups of 32: w = d * scale * q - dmin * minimum."""
    rows, columns = weights.shape
    top = 2 ** bits - 1
    w = weights.reshape(-1, 8, 32)
    low = np.minimum(w.min(axis=2), 0)
    step = (w.max(axis=2) - low) / top
    d = (step.max(axis=1) / 63).astype(np.float16).astype(np.float32)
    dmin = (-low.min(axis=1) / 63).astype(np.float16).astype(np.float32)
    scales = np.clip(np.round(step / d[:, None]), 1, 63).astype(np.uint8)
    minimums = np.clip(np.round(-low / dmin[:, None]), 0, 63).astype(np.uint8)
    q = np.round((w + (dmin[:, None] * minimums)[:, :, None]) / (d[:, None] * scales)[:, :, None])
    q = np.clip(q, 0, top).astype(np.uint8).reshape(-1, 4, 2, 32)
    parts = [half_bytes(d), half_bytes(dmin), pack_six_bit_pairs(scales, minimums)]
    if bits == 5:
        high = np.zeros((len(w), 32), np.uint8)
        for c in range(4):
            high |= (q[:, c, 0] >> 4) << (2 * c) | (q[:, c, 1] >> 4) << (2 * c + 1)
        parts.append(high)
    parts.append(((q[:, :, 0] & 15) | (q[:, :, 1] & 15) << 4).reshape(-1, 128))
    return np.concatenate(parts, axis=1).reshape(rows, -1)


def pack_q6_k(weights, source):
    """Blocks of 256 as 16 groups of 16: w = d * scale * (q - 32); some scales are negative, to try a reader's sign."""
    rows, columns = weights.shape
    w = weights.reshape(-1, 16, 16)
    step = np.abs(w).max(axis=2) / 31
    d = (step.max(axis=1) / 127).astype(np.float16).astype(np.float32)
    scales = np.clip(np.round(step / d[:, None]), 1, 127).astype(np.int8)
    scales = np.where(source.generator.random(scales.shape) < 0.25, -scales, scales).astype(np.int8)
    q = np.clip(np.round(w / (d[:, None] * scales)[:, :, None]), -32, 31).astype(np.int8) + 32
    q = q.astype(np.uint8).reshape(-1, 2, 4, 32)                  # half, quarter, lane
    low = np.concatenate([(q[:, :, 0] & 15) | (q[:, :, 2] & 15) << 4, (q[:, :, 1] & 15) | (q[:, :, 3] & 15) << 4], axis=2)
    high = q[:, :, 0] >> 4 | q[:, :, 1] >> 4 << 2 | q[:, :, 2] >> 4 << 4 | q[:, :, 3] >> 4 << 6
    return np.concatenate([low.reshape(-1, 128), high.reshape(-1, 64), scales.view(np.uint8), half_bytes(d)], axis=1).reshape(rows, -1)


# type: (where its f16 scale begins, its size), and the same for the minimum where it has one; sizes make values of about 0.06
RANDOM = {Type.Q2_K: ((80, 0.004), (82, 0.006)), Type.Q3_K: ((108, 0.0014),), Type.IQ4_NL: ((0, 8e-4),), Type.IQ4_XS: ((0, 5e-5),),
          Type.TQ1_0: ((52, 0.07),), Type.TQ2_0: ((64, 0.05),), Type.MXFP4: (), Type.Q8_K: ()}


def random_blocks(shape, kind, source):
    """Random codes and factors; the block's own numbers lie within a half of their size."""
    rows, columns = shape
    elements, size = gguf.GGML_QUANT_SIZES[kind]
    blocks = source.generator.integers(0, 256, (rows * columns // elements, size), dtype=np.uint8)
    for at, scale in RANDOM[kind]:
        blocks[:, at:at + 2] = half_bytes(source.generator.uniform(0.5, 1.5, len(blocks)) * scale)
    if kind == Type.MXFP4:
        blocks[:, 0] = source.generator.integers(121, 124, len(blocks))
    if kind == Type.Q8_K:
        blocks[:, :4] = (source.generator.uniform(0.5, 1.5, len(blocks)) * 8e-4).astype("<f4").view(np.uint8).reshape(-1, 4)
    return blocks.reshape(rows, -1)


PLAIN = {Type.F64: np.float64, Type.F32: np.float32, Type.F16: np.float16, Type.I8: np.int8, Type.I16: np.int16, Type.I32: np.int32, Type.I64: np.int64}


def pack(weights, kind, source):
    if kind in PLAIN:
        return weights.astype(PLAIN[kind])
    if kind in RANDOM:
        return random_blocks(weights.shape, kind, source)
    if kind == Type.Q6_K:
        return pack_q6_k(weights, source)
    if kind in (Type.Q4_K, Type.Q5_K):
        return pack_q4_or_q5_k(weights, 4 if kind == Type.Q4_K else 5)
    return quantize(weights, kind)


# ---------------------------------------------------------------------------------------------------------------
# One file
# ---------------------------------------------------------------------------------------------------------------

NAMES = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}


def gguf_name(name):
    fixed = {"model.embed_tokens.weight": "token_embd.weight", "model.norm.weight": "output_norm.weight", "lm_head.weight": "output.weight"}
    if name in fixed:
        return fixed[name]
    _, _, layer, rest = name.split(".", 3)
    return f"blk.{layer}.{NAMES[rest[:-len('.weight')]]}.weight"


def permute(w, heads):
    """Hugging Face's rows (first half, second half) to llama.cpp's (adjacent pairs), per head."""
    return np.ascontiguousarray(w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2)).reshape(w.shape)


def unpermute(w, heads):
    return np.ascontiguousarray(w.reshape(heads, w.shape[0] // heads // 2, 2, -1).swapaxes(1, 2)).reshape(w.shape)


def heads_of(name, config):
    return {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}.get(name.split(".")[-2])


def write(path, config, tensors, kind_of, file_type, source, scaling):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("model")
    writer.add_name(path.stem)
    writer.add_file_type(file_type)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_rope_dimension_count(config["head_dim"])
    if config["head_dim"] * config["num_attention_heads"] != config["hidden_size"]:
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    writer.add_vocab_size(config["vocab_size"])
    if scaling and scaling["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(scaling["factor"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(VOCABULARY)
    writer.add_token_types([gguf.TokenType.CONTROL] * len(CONTROL) + [gguf.TokenType.NORMAL] * (len(VOCABULARY) - len(CONTROL)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(config["bos_token_id"])
    writer.add_eos_token_id(config["eos_token_id"])
    writer.add_pad_token_id(config["eos_token_id"])
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)
    if scaling and scaling["rope_type"] == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(config, scaling))
    for name, tensor in tensors.items():
        w = tensor.numpy()
        if w.ndim == 1:
            kind = norm_kind(gguf_name(name)) if path.stem == "numbers" else Type.F32
            is_float = kind in (Type.F32, Type.F64)
            writer.add_tensor(gguf_name(name), (w if is_float else np.where(w > 1, 2, 1)).astype(PLAIN[kind]))
            continue
        if heads_of(name, config):
            w = permute(w, heads_of(name, config))
        kind = kind_of(gguf_name(name))
        plain = kind in PLAIN
        writer.add_tensor(gguf_name(name), pack(w, kind, source), raw_dtype=None if plain else kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def llama3_divisors(config, scaling):
    """What llama.cpp keeps as rope_freqs.weight: every frequency is divided by its entry."""
    half = config["head_dim"] // 2
    wavelength = 2 * np.pi * config["rope_theta"] ** (np.arange(half) * 2 / config["head_dim"])
    low = scaling["original_max_position_embeddings"] / scaling["low_freq_factor"]
    high = scaling["original_max_position_embeddings"] / scaling["high_freq_factor"]
    smooth = (scaling["original_max_position_embeddings"] / wavelength - scaling["low_freq_factor"]) / (
        scaling["high_freq_factor"] - scaling["low_freq_factor"])
    between = 1 / ((1 - smooth) / scaling["factor"] + smooth)
    return np.where(wavelength < high, 1.0, np.where(wavelength > low, scaling["factor"], between)).astype(np.float32)


def values_of(tensor):
    if tensor.tensor_type in PLAIN:
        return tensor.data.astype(np.float32)
    if tensor.tensor_type == Type.Q8_K:  # f32 scale, 256 codes, sums; the package does not read it
        blocks = tensor.data.reshape(-1, 292)
        return blocks[:, :4].copy().view("<f4") * blocks[:, 4:260].view(np.int8).astype(np.float32)
    return dequantize(tensor.data, tensor.tensor_type).astype(np.float32)


def read_back(path, config, names):
    """The Hugging Face tensors that the file holds, and a summary of its tensors."""
    state, summary = {}, []
    stored = {t.name: t for t in gguf.GGUFReader(path).tensors}
    back = {gguf_name(name): name for name in names}
    for tensor in stored.values():
        shape = [int(n) for n in reversed(tensor.shape)]
        w = values_of(tensor).reshape(shape)
        flat = w.reshape(-1).astype(np.float64)
        summary.append({"name": tensor.name, "type": tensor.tensor_type.name, "shape": shape, "first": [float(x) for x in w.reshape(-1)[:4]],
                        "last": float(w.reshape(-1)[-1]), "sum": float(flat.sum()), "sum_of_squares": float((flat * flat).sum())})
        if tensor.name in back:
            name = back[tensor.name]
            if heads_of(name, config):
                w = unpermute(w, heads_of(name, config))
            state[name] = torch.from_numpy(w)
    return state, summary


SMALL = dict(hidden_size=64, head_dim=16, intermediate_size=64, num_hidden_layers=2)
WIDE = dict(hidden_size=256, head_dim=64, intermediate_size=256, num_hidden_layers=1, num_key_value_heads=1)
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
LINEAR = {"rope_type": "linear", "factor": 2.0}


def k_kind(name):
    """About what a Q4_K_M file holds, with a little Q5_K."""
    if name == "token_embd.weight" or "attn_v" in name or "ffn_down" in name:
        return Type.Q6_K
    return Type.Q5_K if "attn_output" in name or "attn_k" in name else Type.Q4_K


def low_bits(name):
    """Types of 2 and 3 bits."""
    return next(kind for part, kind in {"attn_q": Type.Q2_K, "attn_v": Type.TQ1_0, "attn_output": Type.TQ2_0, "ffn_gate": Type.Q2_K,
                                        "ffn_down": Type.TQ1_0, "": Type.Q3_K}.items() if part in name)


def four_bits(name):
    """Types of tables of 16 values, and Q8_K."""
    return next(kind for part, kind in {"attn_k": Type.IQ4_XS, "attn_output": Type.Q8_K, "ffn_gate": Type.IQ4_XS, "ffn_up": Type.MXFP4,
                                        "ffn_down": Type.IQ4_XS, "": Type.IQ4_NL}.items() if part in name)


def norm_kind(name):
    """Numbers that are not F32, in `numbers`; integers are 1 and 2."""
    return next(kind for part, kind in {"0.attn_norm": Type.I8, "0.ffn_norm": Type.I16, "1.attn_norm": Type.I32, "1.ffn_norm": Type.I64,
                                        "": Type.F64}.items() if part in name)


def always(kind):
    return lambda name: kind


# name: (shape, tied, type of a matrix, general.file_type, rope scaling)
FILES = {
    "f32": (SMALL, True, always(Type.F32), 0, None),
    "f16": (SMALL, False, always(Type.F16), 1, LINEAR),
    "bf16": (SMALL, True, always(Type.BF16), 32, LLAMA3),
    "q8_0": (SMALL, False, always(Type.Q8_0), 7, None),
    "q5_0": (SMALL, True, always(Type.Q5_0), 8, None),
    "q5_1": (SMALL, True, always(Type.Q5_1), 9, None),
    "q4_0": (SMALL, False, always(Type.Q4_0), 2, None),
    "q4_1": (SMALL, True, lambda name: Type.Q8_0 if name == "token_embd.weight" else Type.Q4_1, 3, None),
    "k_quants": (WIDE, True, k_kind, 15, None),
    "q6_k": (WIDE, True, always(Type.Q6_K), 18, None),
    "q5_k": (WIDE, True, always(Type.Q5_K), 16, None),
    "low_bits": (WIDE, True, low_bits, 10, None),
    "four_bits": (WIDE, True, four_bits, 25, None),
    "numbers": (SMALL, True, lambda name: Type.F64 if "attn_q" in name else Type.F16, 1, None),
}


def make(directory, name, seed):
    shape, tied, kind_of, file_type, scaling = FILES[name]
    source = Source(seed)
    config = llama_config(**shape, vocab_size=len(VOCABULARY), tie_word_embeddings=tied, rope_theta=10000.0, bos_token_id=1, eos_token_id=2)
    tensors = llama_weights(source, config)
    path = directory / f"{name}.gguf"
    write(path, config, tensors, kind_of, file_type, source, scaling)
    state, summary = read_back(path, config, tensors)
    for key, tensor in tensors.items():       # a packing error would show here
        if tensor.ndim == 1 or kind_of(gguf_name(key)) in RANDOM:
            continue
        error = (state[key] - tensor).norm() / tensor.norm()
        assert error < 0.12, (name, key, float(error))

    theta = {"rope_theta": config["rope_theta"]}
    settings = {**{k: v for k, v in config.items() if k != "rope_theta"}, "rope_parameters": {"rope_type": "default", **theta, **(scaling or {})}}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**settings, attn_implementation="eager"))
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected and set(missing) <= ({"lm_head.weight"} if tied else set()), (missing, unexpected)
    model.tie_weights()
    logits, golden = make_models.reference(model, source.tokens(TOKENS, config["vocab_size"]))
    encode = tokenizer()
    golden["made_with"]["gguf"] = "0.19.0"
    golden["config"] = settings
    golden["tensors"] = summary
    golden["texts"] = [{"text": t, "ids": encode.encode(t).ids, "decoded": encode.decode(encode.encode(t).ids, skip_special_tokens=False)} for t in TEXTS]
    np.save(directory / f"{name}.logits.npy", logits)
    make_models.write_json_lines(directory / f"{name}.golden.json", golden)
    print(f"{name}: {path.stat().st_size} bytes, logits std {golden['logits_std']}, decode difference {golden['decode_max_difference']}, "
          f"greedy gap {golden['greedy_smallest_gap']}")


def main():
    parser = argparse.ArgumentParser(description="Make the tiny GGUF files and their golden logits.")
    parser.add_argument("names", nargs="*", help="files to make (default: all): " + " ".join(FILES))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "models" / "gguf")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(FILES):
        if not arguments.names or name in arguments.names:
            make(arguments.out, name, 301 + i)


if __name__ == "__main__":
    main()
