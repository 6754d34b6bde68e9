#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train the small tokenizers of tests/golden/tokenizers and write what the references make of corpus.bin with every tokenizer.

usage: make_tokenizers.py train              train and write the small tokenizers (their ids change when they do)
       make_tokenizers.py ids NAME FILE      golden ids of one tokenizer.json or .model, e.g. `ids smollm2 .../tokenizer.json`
       make_tokenizers.py ids                of all the trained ones
       make_tokenizers.py codegen FILE       pack CodeGen's merges out of a tokenizer.json, and its golden ids
  --out DIR     instead of tests/golden/tokenizers
  --all-ids     ids.txt with every text, not only the first 300

Texts are numbered from 0 in corpus.bin's order. Written beside each tokenizer:
  hashes.bin    u32 (little-endian) per text: FNV-1a (32 bits) over its ids, each as 4 little-endian bytes; no special tokens added
  ids.txt       the ids of the first 300 texts, a line each
  golden.json   decodings and facts (see README.md)

Made with Python 3.11, tokenizers 0.23.3, sentencepiece 0.2.3, mistral_common 1.13.1.
"""
import argparse
import base64
import io
import json
import struct
from pathlib import Path

import mistral_common
import sentencepiece
import tokenizers
from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import codegen_tokenizer
import make_corpus

HERE = Path(__file__).parent
LISTED = 300        # texts in ids.txt
DECODED = 500       # texts in golden.json's decodings
FIRST_TEXTS = 2000  # of .model and tekken.json
BRIEF = {"spm-bpe-map": (20, 60), "spm-unigram-bare": (20, 60), "tekken": (20, 60)}    # tokenizers with fewer of both

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA3.replace("{1,3}", "")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
          r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


# ---------------------------------------------------------------------------------------------------------------
# Training
# ---------------------------------------------------------------------------------------------------------------

def training_text():
    """Our own prose, and texts of the corpus's kinds from another seed."""
    d = make_corpus.Draw(0x7472_6169_6E)
    made = [make_corpus.text(d, n) for n in range(1, 6000)]
    prose = (HERE / "prose.txt").read_text(encoding="utf-8")
    return [prose] * 3 + made


def write_json(directory, name, value):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def byte_level_bpe(pattern, size, normalizer=None):
    made = Tokenizer(models.BPE())
    if normalizer:
        made.normalizer = normalizer
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                                  pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    made.train_from_iterator(training_text(), trainers.BpeTrainer(vocab_size=size, show_progress=False,
                             initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet())))
    return made


def train_llama3(directory):
    """Llama 3's form. Twelve whole words are in the vocabulary without merges that lead to them: only ignore_merges finds them."""
    made = json.loads(byte_level_bpe(LLAMA3, 1480).to_str())
    model = made["model"]
    alphabet = dict(codegen_tokenizer.byte_order())
    for word in [" lantern", " orchard", " JSON", "Monday", " naïve", " façade", "internationalization", "\r\n\r\n", " 世界", "é", "123", ")\n\n"]:
        token = "".join(alphabet[b] for b in word.encode())
        model["vocab"].setdefault(token, len(model["vocab"]))
    model["ignore_merges"] = True
    made = Tokenizer.from_str(json.dumps(made))
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]
    made.add_special_tokens([AddedToken(n, normalized=False, special=True) for n in names])
    begin = made.token_to_id(names[0])
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), processors.TemplateProcessing(
        single=f"{names[0]} $A", pair=f"{names[0]} $A {names[0]}:1 $B:1", special_tokens=[(names[0], begin)])])
    write_json(directory, "tokenizer.json", json.loads(made.to_str()))
    write_json(directory, "tokenizer_config.json", {"bos_token": names[0], "eos_token": "<|eot_id|>", "clean_up_tokenization_spaces": True,
               "model_max_length": 256, "tokenizer_class": "PreTrainedTokenizerFast"})


def train_qwen(directory):
    """Qwen's form: NFC, single digits, some added tokens that are not special; merges as strings."""
    made = byte_level_bpe(QWEN, 1400, normalizers.NFC())
    made.add_special_tokens([AddedToken(n, normalized=False, special=True) for n in ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]])
    made.add_tokens([AddedToken(n, normalized=False, special=False) for n in ["<tool_call>", "</tool_call>", "<think>", "</think>"]])
    made.post_processor = processors.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    made = json.loads(made.to_str())
    made["model"]["merges"] = [" ".join(m) for m in made["model"]["merges"]]
    write_json(directory, "tokenizer.json", made)


def train_tekken(directory):
    """Mistral's form: 24 special tokens, of which the file lists none; bytes by rank, 44 more of them than the vocabulary has."""
    byte_of = {letter: byte for byte, letter in codegen_tokenizer.byte_order()}
    vocabulary = json.loads(byte_level_bpe(TEKKEN, 500).to_str())["model"]["vocab"]
    merged = [bytes(map(byte_of.get, token)) for token in sorted(vocabulary, key=vocabulary.get) if len(token) > 1]
    entries = [{"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
               for rank, token in enumerate([bytes([byte]) for byte in range(256)] + merged)]
    write_json(directory, "tekken.json", {"config": {"pattern": TEKKEN, "num_vocab_tokens": len(entries), "default_vocab_size": 24 + len(entries) - 44,
               "default_num_special_tokens": 24, "version": "v3"}, "vocab": entries})


def sentencepiece_like(size, letters):
    """A BPE over "▁words" with byte fallback, trained word by word."""
    trained = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    trained.normalizer = normalizers.Replace("\n", " ")
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    fixed = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    trained.train_from_iterator(training_text(), trainers.BpeTrainer(vocab_size=size, show_progress=False, limit_alphabet=letters, special_tokens=fixed))
    made = json.loads(trained.to_str())
    made["added_tokens"] = [a for a in made["added_tokens"] if not a["content"].startswith("<0x")]
    made["model"].update(fuse_unk=True, byte_fallback=True, unk_token="<unk>")
    made["decoder"] = json.loads(decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                                    decoders.Strip(" ", 1, 0)]).__getstate__())
    return made


def begin_with_s(made):
    made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return json.loads(made.to_str())


def train_llama2(directory):
    """Llama 2's form: the normalizer prepends "▁", no pre-tokenizer (a text is one word), byte fallback."""
    made = sentencepiece_like(1500, 160)
    made["normalizer"] = json.loads(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]).__getstate__())
    made["pre_tokenizer"] = None
    write_json(directory, "tokenizer.json", begin_with_s(Tokenizer.from_str(json.dumps(made))))


def train_metaspace(directory):
    """The newer form: Metaspace without splitting, prepending at the first piece only; added tokens with every flag."""
    made = sentencepiece_like(1300, 120)
    made["normalizer"] = None
    made["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    made = Tokenizer.from_str(json.dumps(made))
    made.add_special_tokens([AddedToken("[INST]", normalized=False, special=True), AddedToken("[/INST]", normalized=False, special=True),
                             AddedToken("<mask>", lstrip=True, rstrip=False, normalized=False, special=True),
                             AddedToken("<pad>", rstrip=True, normalized=False, special=True)])
    made.add_tokens([AddedToken("<word>", single_word=True, normalized=False), AddedToken("<norm>", normalized=True),
                     AddedToken("the", single_word=True, normalized=True), AddedToken("<tool_call>", lstrip=True, rstrip=True, normalized=True)])
    write_json(directory, "tokenizer.json", begin_with_s(made))
    write_json(directory, "tokenizer_config.json", {"add_bos_token": True, "add_eos_token": False, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
               "clean_up_tokenization_spaces": False, "legacy": False, "model_max_length": 256, "tokenizer_class": "LlamaTokenizerFast"})


def sentencepiece_lines():
    """Mostly Latin: a vocabulary of 800 has no room for many scripts; the rest shall fall back to bytes."""
    d = make_corpus.Draw(0x7370_6D)
    made = [d.of([make_corpus.sentence, make_corpus.python, make_corpus.braces, make_corpus.number])(d) for _ in range(3000)]
    prose = (HERE / "prose.txt").read_text(encoding="utf-8")
    for text in [prose] * 3 + made + ["Привет, мир! Γειά σου, κόσμε. 你好，世界。 ½ ∑ → 😀"] * 20:
        yield from filter(None, text.splitlines())


def train_sentencepiece(directory, **options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentencepiece_lines(), model_writer=model, num_threads=1, minloglevel=2, max_sentence_length=100000,
        user_defined_symbols=["<sep>"], control_symbols=["<ctl>"], **{"vocab_size": 800, "byte_fallback": True, **options})
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "tokenizer.model").write_bytes(model.getvalue())


def train_sentencepiece_bpe(directory):
    """As Llama 2 trained its own: identity normalization, no squeezing of spaces, digits apart."""
    train_sentencepiece(directory, model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False,
                        add_dummy_prefix=True, split_digits=True, allow_whitespace_only_pieces=True, character_coverage=0.9995)


def train_with_rules(directory, **options):
    """With a character map of its own."""
    rules = [(0xFF01 + i, [0x21 + i]) for i in range(94)] + [(0xFB01, [0x66, 0x69]), (0x2026, [0x2E] * 3), (0xA0, [0x20]), (0x3000, [0x20]),
             (0x9, [0x20]), (0xA, [0x20]), (0xD, [0x20]), (0xAD, []), (0x212B, [0xC5])]
    lines = [f"{source:X}\t{' '.join(f'{t:X}' for t in target)}" for source, target in rules]
    lines += ["65 301\tE9", "41 30A\tC5", "2764 FE0F\t2764"]
    table = Path("rules.tsv")  # the model keeps this name
    table.write_text("\n".join(lines) + "\n")
    train_sentencepiece(directory, normalization_rule_tsv=str(table), **options)
    table.unlink()


def train_sentencepiece_unigram(directory):
    """Unigram with a character map and spaces squeezed."""
    train_with_rules(directory, model_type="unigram", character_coverage=0.9995)


def train_sentencepiece_bpe_map(directory):
    """BPE with a character map, spaces squeezed and put behind words, and no byte fallback."""
    train_with_rules(directory, model_type="bpe", vocab_size=450, byte_fallback=False, treat_whitespace_as_suffix=True)


def train_sentencepiece_unigram_bare(directory):
    """Unigram on the text as it is, without a space in front and without byte fallback. It has few pieces that overlap: where
    two ways to cut have the same score, versions 0.1 and 0.2 of the library, which round sums differently, may choose differently."""
    train_sentencepiece(directory, model_type="unigram", vocab_size=400, byte_fallback=False, normalization_rule_name="identity",
                        remove_extra_whitespaces=False, add_dummy_prefix=False, split_digits=True)


TRAINED = {"llama3-style": train_llama3, "qwen-style": train_qwen, "llama2-style": train_llama2, "metaspace": train_metaspace,
           "spm-bpe": train_sentencepiece_bpe, "spm-unigram": train_sentencepiece_unigram, "spm-bpe-map": train_sentencepiece_bpe_map,
           "spm-unigram-bare": train_sentencepiece_unigram_bare, "tekken": train_tekken}


# ---------------------------------------------------------------------------------------------------------------
# Golden ids
# ---------------------------------------------------------------------------------------------------------------

def fnv1a(ids):
    h = 2166136261
    for byte in struct.pack(f"<{len(ids)}I", *ids):
        h = (h ^ byte) * 16777619 & 0xFFFFFFFF
    return h


class HuggingFace:
    def __init__(self, path):
        self.tokenizer = Tokenizer.from_file(str(path))
        self.facts = {"reference": f"tokenizers {tokenizers.__version__}", "vocabulary": self.tokenizer.get_vocab_size(with_added_tokens=True),
                      "added_by_default": self.tokenizer.encode("").ids}

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids, skip_special=False):
        return self.tokenizer.decode(ids, skip_special_tokens=skip_special)


class SentencePiece:
    def __init__(self, path):
        self.processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.facts = {"reference": f"sentencepiece {sentencepiece.__version__}", "vocabulary": self.processor.vocab_size()}

    def encode(self, text):
        return self.processor.encode(text)

    def decode(self, ids, skip_special=False):
        return self.processor.decode(ids)


class Tekken:
    def __init__(self, path):
        self.tokenizer = Tekkenizer.from_file(path)
        self.facts = {"reference": f"mistral_common {mistral_common.__version__}", "vocabulary": self.tokenizer.n_words}

    def encode(self, text):
        return self.tokenizer.encode(text, bos=False, eos=False)

    def decode(self, ids, skip_special=False):
        return self.tokenizer.decode(ids, SpecialTokenPolicy.IGNORE if skip_special else SpecialTokenPolicy.KEEP)


def write_ids(directory, path, texts, listed):
    """hashes.bin, ids.txt and golden.json."""
    reference = (SentencePiece if path.suffix == ".model" else Tekken if path.stem == "tekken" else HuggingFace)(path)
    if not isinstance(reference, HuggingFace):
        texts = texts[:FIRST_TEXTS]
    listed, decodings = BRIEF.get(directory.name, (listed, DECODED))
    ids = [reference.encode(t) for t in texts]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "hashes.bin").write_bytes(struct.pack(f"<{len(ids)}I", *map(fnv1a, ids)))
    (directory / "ids.txt").write_text("".join(" ".join(map(str, line)) + "\n" for line in ids[:listed]))

    decoded, skipped, cut = [], [], []
    for n, line in enumerate(ids[:decodings]):
        text = reference.decode(line)
        if text != texts[n]:
            decoded.append({"text": n, "decoded": text})
        bare = reference.decode(line, skip_special=True)
        if bare != text:
            skipped.append({"text": n, "decoded": bare})
        for count in range(1, len(line)):
            part = reference.decode(line[:count])
            if "\ufffd" in part and "\ufffd" not in text:
                cut.append({"text": n, "count": count, "decoded": part})
                break
    facts = {**reference.facts, "texts": len(texts), "ids": sum(map(len, ids)), "decoded_texts": min(decodings, len(texts)),
             "decoded_differently": decoded, "decoded_without_special_tokens": skipped, "decoded_part": cut[:60]}
    lines = []
    for key, value in facts.items():
        if value and isinstance(value, list) and isinstance(value[0], dict):
            value = "[\n" + ",\n".join("    " + json.dumps(v) for v in value) + "\n  ]"
        else:
            value = json.dumps(value)
        lines.append(f"  {json.dumps(key)}: {value}")
    (directory / "golden.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{directory.name}: {facts['ids']} ids, {len(decoded)} of {decodings} decode differently, {len(skipped)} without special tokens, {len(cut)} parts")


def pack_codegen(path, directory):
    """merges.bin, checked to give back the vocabulary and the added tokens of `path`."""
    model = json.loads(path.read_text(encoding="utf-8"))["model"]
    pairs = [m.split(" ") if isinstance(m, str) else m for m in model["merges"]]
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "merges.bin").write_bytes(b"".join(struct.pack("<HH", model["vocab"][a], model["vocab"][b]) for a, b in pairs))
    rebuilt = codegen_tokenizer.tokenizer_json(*codegen_tokenizer.load(directory / "merges.bin"))
    original = json.loads(path.read_text(encoding="utf-8"))
    assert rebuilt["model"]["vocab"] == model["vocab"]
    assert [m.split(" ") for m in rebuilt["model"]["merges"]] == [list(p) for p in pairs]
    for key in ("added_tokens", "normalizer", "pre_tokenizer", "decoder"):
        assert rebuilt[key] == original[key], key


def main():
    parser = argparse.ArgumentParser(description="Train small tokenizers; write golden ids.")
    parser.add_argument("command", choices=["train", "ids", "codegen"])
    parser.add_argument("name", nargs="?")
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "tokenizers")
    parser.add_argument("--all-ids", action="store_true")
    arguments = parser.parse_args()
    if arguments.command == "train":
        for name, train in TRAINED.items():
            if arguments.name in (None, name):
                train(arguments.out / name)
        return
    texts = make_corpus.corpus()
    listed = len(texts) if arguments.all_ids else LISTED
    if arguments.command == "codegen":
        pack_codegen(Path(arguments.name), arguments.out / "codegen")
        write_ids(arguments.out / "codegen", Path(arguments.name), texts, listed)
    elif arguments.file:
        write_ids(arguments.out / arguments.name, arguments.file, texts, listed)
    else:
        for name in TRAINED:
            if arguments.name in (None, name):
                kind = "tokenizer.model" if name.startswith("spm") else "tekken.json" if name == "tekken" else "tokenizer.json"
                write_ids(arguments.out / name, arguments.out / name / kind, texts, listed)


if __name__ == "__main__":
    main()
