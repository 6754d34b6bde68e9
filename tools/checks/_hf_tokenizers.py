# SPDX-License-Identifier: Apache-2.0
"""What Hugging Face's `tokenizers` makes of lines, for tools/checks/tokenizers.py; runs in the Python that has it.
    usage: _hf_tokenizers.py special FILE > [contents of the added tokens]
           _hf_tokenizers.py encode FILE < [lines] > {"ids": [...], "with_special": [...], "texts": [...]}
FILE is a tokenizer.json, or a GGUF vocabulary, of which the pipeline is made that we take for the family's."""
import json
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers


def words_of(pre):
    """Normalizer and pre-tokenizer of a family, by llama.cpp's name."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    if pre == "falcon":
        return None, pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), level, pre_tokenizers.Digits(individual_digits=False),
                                              pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    normalizer = normalizers.NFC() if pre in ("mpt", "command-r") else None
    return normalizer, pre_tokenizers.Sequence([digits, level]) if pre in ("starcoder", "refact", "command-r") else level


def of_gguf(path):
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    value = lambda key, default=None: fields[key].contents() if key in fields else default
    tokens, types = value("tokenizer.ggml.tokens"), value("tokenizer.ggml.token_type")
    vocabulary = {}
    for index, token in enumerate(tokens):
        vocabulary.setdefault(token, index)
    if value("tokenizer.ggml.model") == "llama":
        scores = value("tokenizer.ggml.scores")
        merges = []
        for token, index in vocabulary.items():  # as transformers converts SentencePiece vocabularies
            local = [(token[:cut], token[cut:], index) for cut in range(1, len(token)) if token[:cut] in vocabulary and token[cut:] in vocabulary]
            merges += [(scores[index], *each) for each in sorted(local, key=lambda each: (vocabulary[each[0]], vocabulary[each[1]]))]
        merges = [each[1:3] for each in sorted(merges, key=lambda each: -each[0])]
        made = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
        made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
        made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    else:
        made = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ", 1)) for merge in value("tokenizer.ggml.merges")]))
        normalizer, made.pre_tokenizer = words_of(value("tokenizer.ggml.pre"))
        if normalizer:
            made.normalizer = normalizer
        made.decoder = decoders.ByteLevel()
    strips = "phi3" in value("general.name", "").lower().replace("-", "")  # as its tokenizer.json and llama.cpp do
    for token, kind in zip(tokens, types):
        if kind in (3, 4) and token:
            rstrip = strips and token not in ("<s>", "<unk>", "<|endoftext|>")
            (made.add_special_tokens if kind == 3 else made.add_tokens)([AddedToken(token, normalized=False, special=kind == 3, rstrip=rstrip)])
    return made


def of_json(path):
    """With the special tokens that only tokenizer_config.json names, which transformers adds."""
    made, config = Tokenizer.from_file(path), Path(path).with_name("tokenizer_config.json")
    known = {token.content for token in made.get_added_tokens_decoder().values()}
    config = json.loads(config.read_text()) if config.exists() else {}
    for each in config.get("added_tokens_decoder", {}).values():
        if each["content"] not in known:
            made.add_tokens([AddedToken(**{key: value for key, value in each.items() if key != "__type"})])
            known.add(each["content"])
    roles = [config.get(f"{role}_token") for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
    for each in roles + config.get("additional_special_tokens", []):
        content = each["content"] if isinstance(each, dict) else each
        if content and content not in known and made.token_to_id(content) is not None:
            made.add_special_tokens([AddedToken(content, normalized=False, special=True)])
    return made


def main():
    made = (of_gguf if sys.argv[2].endswith(".gguf") else of_json)(sys.argv[2])
    made.no_truncation()
    made.no_padding()
    if sys.argv[1] == "special":
        json.dump([token.content for token in made.get_added_tokens_decoder().values()], sys.stdout)
        return
    lines = json.load(sys.stdin)
    encode = lambda special: [each.ids for each in made.encode_batch(lines, add_special_tokens=special)]
    ids = encode(False)
    json.dump({"ids": ids, "with_special": encode(True), "texts": [made.decode(each, skip_special_tokens=False) for each in ids]}, sys.stdout)


if __name__ == "__main__":
    main()
