#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write CodeGen's tokenizer files out of tokenizers/codegen/merges.bin (needs the standard library only).

merges.bin holds GPT-2's 50,000 merges as pairs of token ids (u16, little-endian; 200,000 bytes). Everything follows:
ids 0..255 are the single bytes in the order of GPT-2's printable alphabet, id 256 + k is what merge k joins, 50256 is
<|endoftext|>, and CodeGen adds 50257..50286 for runs of 31 to 2 spaces and 50287..50294 for runs of 9 to 2 tabs.

usage: codegen_tokenizer.py OUTPUT_DIRECTORY
  writes tokenizer.json, vocab.json, merges.txt, added_tokens.json, special_tokens_map.json and tokenizer_config.json
"""
import json
import struct
import sys
from pathlib import Path

END = "<|endoftext|>"


def byte_order():
    """The 256 bytes in the order of their token ids, and the character that stands for each."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return [(b, chr(b)) for b in plain] + [(b, chr(256 + i)) for i, b in enumerate(others)]


def load(path):
    """The list of 50,257 token strings (in the printable alphabet) and the list of merges as pairs of strings."""
    data = path.read_bytes()
    tokens, merges = [c for _, c in byte_order()], []
    for left, right in struct.iter_unpack("<HH", data):
        merges.append((tokens[left], tokens[right]))
        tokens.append(tokens[left] + tokens[right])
    return tokens + [END], merges


def added_tokens():
    runs = [(50257 + 31 - n, " " * n) for n in range(31, 1, -1)] + [(50287 + 9 - n, "\t" * n) for n in range(9, 1, -1)]
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    return [{"id": 50256, "content": END, **flags, "normalized": False, "special": True}] + [
        {"id": i, "content": c, **flags, "normalized": True, "special": False} for i, c in runs]


def tokenizer_json(tokens, merges):
    def byte_level(prefix, trim):
        return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": trim, "use_regex": True}
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added_tokens(), "normalizer": None,
        "pre_tokenizer": byte_level(False, True), "post_processor": byte_level(True, False), "decoder": byte_level(True, True),
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                  "fuse_unk": False, "byte_fallback": False, "vocab": {t: i for i, t in enumerate(tokens)},
                  "merges": [" ".join(m) for m in merges]},
    }


def main():
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    tokens, merges = load(Path(__file__).parent / "tokenizers" / "codegen" / "merges.bin")

    def write(name, value):
        (out / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    write("tokenizer.json", tokenizer_json(tokens, merges))
    write("vocab.json", {t: i for i, t in enumerate(tokens)})
    (out / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{a} {b}\n" for a, b in merges), encoding="utf-8")
    write("added_tokens.json", {t["content"]: t["id"] for t in added_tokens()[1:]})
    write("special_tokens_map.json", {"bos_token": END, "eos_token": END, "unk_token": END})
    write("tokenizer_config.json", {"add_prefix_space": False, "bos_token": END, "eos_token": END, "unk_token": END,
                                    "model_max_length": 2048, "tokenizer_class": "CodeGenTokenizer"})


if __name__ == "__main__":
    main()
