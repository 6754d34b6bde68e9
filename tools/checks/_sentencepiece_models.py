# SPDX-License-Identifier: Apache-2.0
"""What the sentencepiece library makes of lines, as _hf_tokenizers.py; FILE is a tokenizer.model. The library finds no control
pieces in texts, so a line is cut at these first; a decoded text has none."""
import json
import re
import sys

from sentencepiece import SentencePieceProcessor


def main():
    made = SentencePieceProcessor(model_file=sys.argv[2])
    control = {made.id_to_piece(token): token for token in range(made.get_piece_size()) if made.is_control(token)}
    if sys.argv[1] == "special":
        json.dump(list(control)[:30], sys.stdout)
        return
    cut = re.compile("(" + "|".join(map(re.escape, sorted(control, key=len, reverse=True))) + ")")

    def encode(line):
        return [token for part in cut.split(line) if part
                for token in ([control[part]] if part in control else made.encode(part))]

    ids = [encode(line) for line in json.load(sys.stdin)]
    json.dump({"ids": ids, "with_special": [[made.bos_id(), *each] for each in ids], "texts": [made.decode(each) for each in ids]}, sys.stdout)


if __name__ == "__main__":
    main()
