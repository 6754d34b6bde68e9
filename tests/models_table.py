#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MODELS.md, from the lists that the tests run over: every cell is backed by one of their golden models.
    usage: models_table.py           fails where MODELS.md is not what the tests cover
           models_table.py --write   writes it"""
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"

HEAD = """# Models

Made by `python3 tests/models_table.py --write` from what the tests run over: do not edit.

Every name in the table is a small random model in `tests/golden/models`, of the family's real shape in everything but size. Its
logits are compared with those of transformers, in one pass, in chunks and token by token, to 1e-4 of their range, and its greedy text
token by token; in integers (`--kernel dense_i8`) within the rounding of 8 bits. The bits of every family's logits are the same
whatever the batch, the chunks and the threads.

"""

TOKENIZERS = """
Rotary frequencies of `dynamic` and `longrope` follow the length that a sequence may reach (`--sequence-length`), as llama.cpp chooses those of longrope;
in transformers they follow the length of the text.

## Tokenizers

`tokenizer.json` of Hugging Face, `tekken.json` of Mistral, `tokenizer.model` of SentencePiece (natively, through the library), and those inside GGUF files
(`llama`, `gpt2`). Compared id by id with the reference on the same text:

| in `tests/golden/tokenizers` | kind |
|---|---|
"""

PLATFORMS = """
## Platforms

| platform | instruction sets | how it is tested |
|---|---|---|
| x86-64, Linux | SSE4.1, AVX2, AVX-512 with VNNI | every test; older processors emulated (`old_cpu`) |
| 64-bit ARM, Linux | NEON, dot products of ARMv8.2 | kernels, caches and operations, emulated (presets `neon`, `neon-dotprod`) |
| WebAssembly | 128-bit SIMD, relaxed SIMD; with and without threads | kernels, caches, files and the package, in Node and Chromium |

What is not supported is refused by its name: state-space and hybrid models, encoders, the vision and audio parts of others, heads for
speculation.
"""


def table():
    rows = ["| `model_type` | models | Hugging Face directory | GGUF | int8 | compressed |", "|---|---|---|---|---|---|"]
    for entry in json.loads((GOLDEN / "families.json").read_text()):
        names = {kind: ", ".join(f"`{name}`" for name in entry[kind]) for kind in ("directories", "gguf")}
        for kind, folder in (("directories", "{}/config.json"), ("gguf", "gguf/{}.gguf")):
            for name in entry[kind]:
                if not (GOLDEN / "models" / folder.format(name)).is_file():
                    sys.exit(f"families.json: {entry['family']} has no golden model {name}")
        rows.append(f"| `{entry['family']}` | {entry['models']} | {names['directories']} | {names['gguf'] or 'no'} | yes | "
                    f"{entry.get('compressed', 'yes')} |")
    return "\n".join(rows) + "\n"


def tokenizer_rows():
    rows = ""
    for folder in sorted(path for path in (GOLDEN / "tokenizers").iterdir() if path.is_dir()):
        file = folder / "tokenizer.json"
        if file.is_file():
            kind = json.loads(file.read_text())["model"].get("type", "BPE")
        elif (folder / "tokenizer.model").is_file():
            kind = "SentencePiece"
        else:
            kind = "BPE"
        rows += f"| {folder.name} | {kind} |\n"
    return rows


def main():
    text = HEAD + table() + TOKENIZERS + tokenizer_rows() + PLATFORMS
    path = ROOT / "MODELS.md"
    if "--write" in sys.argv[1:]:
        path.write_text(text, encoding="utf-8")
    elif not path.is_file() or path.read_text(encoding="utf-8") != text:
        sys.exit("MODELS.md is not what the tests cover: python3 tests/models_table.py --write")
    print("MODELS.md is what the tests cover")


if __name__ == "__main__":
    main()
