#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write tokenizers/pre_tokenizers.json: the words into which the pre-tokenizer behind each name of `tokenizer.ggml.pre` cuts texts.

usage: make_pre_tokenizers.py

A pre-tokenizer is made as the models' tokenizer.json have it; "default", "falcon", "stablelm2" and "deepseek-coder" as
llama.cpp's llama-vocab.cpp has them (Falcon's tokenizer.json looks for digits among bytes). Made with Python 3.11, tokenizers 0.23.3.
"""
import json
from pathlib import Path

from tokenizers import Regex, normalizers, pre_tokenizers

from codegen_tokenizer import byte_order

TEXTS = ["Don't WE'LL it's 'S O\u2019Neil HELLOWorld'd", "x=12345;y+=6789.01 007 \u0664\u0665\u0666\u0667 \u00bd\u00b2\u2167",
         "  two   spaces \t\ttab\n\n  \r\n end  ", "if (a != b) { c->d(/* ~^`| */); }//\n\n/x", "na\u00efve e\u0301te\u0301 \u1e9e stra\u00dfe \ufb01ne",
         "\u4e16\u754c\u3067\u3059\u3002\uff0c\u3001 \ud55c\uad6d\uc5b4 \u0939\u093f\u0928\u094d\u0926\u0940\u0964 \u0639\u0631\u0628\u064a\u060c \u0e44\u0e17\u0e22",
         "\U0001f600\u2764\ufe0f \U0001f468\u200d\U0001f469 \u2026!? a\u00a0b\u3000c\u200bd", "$5+<6>=^7~|`(a.b,c)|d[e]_f @g #h %i &j *k", "CamelCaseABCDef XMLHttp2Request"]
GPT2_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace("{1,3}", "")
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
END = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def words(suffix):
    return rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{suffix}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{suffix}"


def split(*patterns):
    return [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in patterns]


LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False)
# (names, steps, normalizer)
CASES = [
    ("default", [*split(r"[\p{P}\$\+<=>\^~\|]+", GPT2_WORDS, r"\p{N}+", "[0-9][0-9][0-9]"), LEVEL], None),
    ("gpt-2 phi-2 jais", [GPT2], None),
    ("olmo mpt", [GPT2], normalizers.NFC()),
    ("smollm starcoder refact codeshell exaone minerva-7b", [pre_tokenizers.Digits(individual_digits=True), GPT2], None),
    ("command-r", [pre_tokenizers.Digits(individual_digits=True), GPT2], normalizers.NFC()),
    ("falcon", [*split(r"[\p{P}\$\+<=>\^~\|`]+", GPT2_WORDS, "[0-9][0-9][0-9]"), LEVEL], None),
    ("llama-bpe llama3 llama-v3 falcon3 dbrx smaug-bpe", [*split(LLAMA3), LEVEL], None),
    ("qwen2 deepseek-r1-qwen", [*split(QWEN2), LEVEL], normalizers.NFC()),
    ("stablelm2", [*split(QWEN2), LEVEL], None),
    ("tekken", [*split(words("") + r"|\p{N}" + END), LEVEL], None),
    ("gpt-4o llama4", [*split(words("(?i:'s|'t|'re|'ve|'m|'ll|'d)?") + r"|\p{N}{1,3}" + END), LEVEL], None),
    ("bloom", [*split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"), LEVEL], None),
    ("deepseek-coder", [*split(r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+", r"\p{N}"), LEVEL], None),
]


def main():
    byte_of = {character: byte for byte, character in byte_order()}

    def cut(steps, normalizer, text):
        text = normalizer.normalize_str(text) if normalizer else text
        pieces = pre_tokenizers.Sequence(steps).pre_tokenize_str(text)
        return [bytes(byte_of[each] for each in piece).decode() for piece, _ in pieces]

    made = {"texts": TEXTS, "cases": [{"names": names.split(), "words": [cut(steps, normalizer, text) for text in TEXTS]}
                                      for names, steps, normalizer in CASES]}
    path = Path(__file__).parent / "tokenizers" / "pre_tokenizers.json"
    path.write_text(json.dumps(made, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
